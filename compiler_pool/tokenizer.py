"""A tokenizer bound to the grammar engine, and its identity.

The token table is read twice, by us and by the engine; a tokenizer on which the two disagree is refused, because a
mask is only as right as the bytes that it thinks a token has.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from llguidance import LLTokenizer

from compiler_pool.artifact import TokenizerDigest
from compiler_pool.errors import TokenizerError
from compiler_pool.token_table import read_token_table

WELL_KNOWN_ENDS = (
    "<|im_end|>", "<|return|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<end_of_turn>",
    "</s>", "<eos>",
)  # fmt: skip
"""Names that end a turn or a text, taken as end ids where no configuration file names any (a bare tokenizer.json)."""

_DIGEST_VERSION = b"schemagate tokenizer 1"
_MAX_EXACT_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundTokenizer:
    """A tokenizer as the engine sees it. Equal digests mean equal masks for equal grammars.

    `vocabulary_size` is the width of the model's logits where a `config.json` tells it (ids past the table are padding
    and have no bytes). `special` are the ids that the engine never produces as text; `end_ids` are among them.
    """

    digest: TokenizerDigest
    name: str
    engine: LLTokenizer
    vocabulary_size: int
    token_bytes: Sequence[bytes]
    special: frozenset[int]
    end_ids: tuple[int, ...]
    longest_first: Mapping[bytes, int]
    """Text tokens by their bytes; of several with the same bytes, the lowest id."""

    def encode_exact(self, data: bytes) -> list[int]:
        """Token ids whose bytes concatenate to exactly `data`; special tokens are never used.

        The model's own split where that loses nothing (it may normalise to NFC or find a special token's name),
        otherwise the longest token at each place. Raises TokenizerError where a byte has no token.
        """
        ids: list[int] = self.engine.tokenize_bytes(data, parse_special=False)
        if not self.special.intersection(ids) and self.decode(ids) == data:
            return ids
        return self._longest_match(data)

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes of some tokens."""
        return b"".join(self.token_bytes[index] for index in ids)

    def _longest_match(self, data: bytes) -> list[int]:
        ids = []
        at = 0
        while at < len(data):
            for end in range(min(len(data), at + _MAX_EXACT_BYTES), at, -1):
                index = self.longest_first.get(data[at:end])
                if index is not None:
                    ids.append(index)
                    at = end
                    break
            else:
                raise TokenizerError(f"no token for byte 0x{data[at]:02x}", path=self.name)
        return ids


def load_tokenizer(path: Path) -> BoundTokenizer:
    """Load a model directory as on Hugging Face, or a bare `tokenizer.json`.

    End ids are the union of `generation_config.json`, `config.json` and `tokenizer_config.json`; where none names one,
    those of `WELL_KNOWN_ENDS` that the tokenizer has. Raises TokenizerError.
    """
    directory, file = (path, path / "tokenizer.json") if path.is_dir() else (None, path)
    name = path.resolve().name if directory else path.stem
    text = _read(file)
    document = _parse(text, file)
    try:
        table = read_token_table(document, path=str(path))
    except (KeyError, TypeError, ValueError) as error:
        raise TokenizerError(f"tokenizer.json is malformed: {error!r}", path=str(path)) from error
    config = _optional(directory, "config.json")
    ends = _end_ids(directory, config, table.ids_by_name, path)
    size = _vocabulary_size(config, len(table.token_bytes), path)
    try:
        engine = LLTokenizer(text, n_vocab=size, eos_token=list(ends))
    except ValueError as error:
        raise TokenizerError(f"the engine does not take it: {error}", path=str(path)) from error
    token_bytes = table.token_bytes + (b"",) * (size - len(table.token_bytes))
    special = frozenset(index for index in range(size) if engine.is_special_token(index))
    _check_agreement(engine, token_bytes, special, path)
    by_bytes: dict[bytes, int] = {}
    for index, data in enumerate(token_bytes):
        if data and index not in special:
            by_bytes.setdefault(data, index)
    return BoundTokenizer(
        digest=_digest(token_bytes, special, ends, size, table.normaliser),
        name=name,
        engine=engine,
        vocabulary_size=size,
        token_bytes=token_bytes,
        special=special,
        end_ids=ends,
        longest_first=by_bytes,
    )


def _digest(
    token_bytes: Sequence[bytes], special: frozenset[int], ends: Sequence[int], size: int, normaliser: str
) -> TokenizerDigest:
    """SHA-256 over fields that each carry their length, so that no two tables can run together."""
    digest = sha256(_DIGEST_VERSION)
    digest.update(size.to_bytes(8, "big"))
    for index, data in enumerate(token_bytes):
        digest.update(bytes([index in special]) + len(data).to_bytes(4, "big") + data)
    for index in sorted(ends):
        digest.update(index.to_bytes(8, "big"))
    digest.update(normaliser.encode())
    return TokenizerDigest(f"sha256:{digest.hexdigest()}")


def _check_agreement(engine: LLTokenizer, token_bytes: Sequence[bytes], special: frozenset[int], path: Path) -> None:
    for index, data in enumerate(token_bytes):
        # The engine keeps 0xFF for itself and hides tokens that begin with it; UTF-8 has no such byte.
        if index in special or data.startswith(b"\xff"):
            continue
        if engine.decode_bytes([index]) != data:
            raise TokenizerError(f"token {index} is {data!r} to us and something else to the engine", path=str(path))


def _end_ids(directory: Path | None, config: dict[str, Any], names: Mapping[str, int], path: Path) -> tuple[int, ...]:
    ends: list[int] = []
    for source in (_optional(directory, "generation_config.json"), config, config.get("text_config") or {}):
        value = source.get("eos_token_id")
        ends += [value] if isinstance(value, int) else value or []
    token = _optional(directory, "tokenizer_config.json").get("eos_token")
    token = token.get("content") if isinstance(token, dict) else token
    if token is not None and token in names:
        ends.append(names[token])
    if not ends:
        ends = [names[name] for name in WELL_KNOWN_ENDS if name in names]
    if not ends:
        raise TokenizerError("no end-of-sequence token is named or known", path=str(path))
    return tuple(dict.fromkeys(ends))


def _vocabulary_size(config: dict[str, Any], table_size: int, path: Path) -> int:
    value = config.get("vocab_size") or (config.get("text_config") or {}).get("vocab_size")
    if value is None:
        return table_size
    if not isinstance(value, int) or value < table_size:
        raise TokenizerError(f"config.json's vocab_size {value} leaves out some of {table_size} tokens", path=str(path))
    return value


def _optional(directory: Path | None, name: str) -> dict[str, Any]:
    if directory is None or not (directory / name).is_file():
        return {}
    return _parse(_read(directory / name), directory / name)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TokenizerError(f"{file.name} cannot be read: {error}", path=str(file)) from error


def _parse(text: str, file: Path) -> dict[str, Any]:
    try:
        document = json.loads(text)  # noqa: TID251 - the operator's own model files
    except ValueError as error:
        raise TokenizerError(f"{file.name} is not JSON: {error}", path=str(file)) from error
    if not isinstance(document, dict):
        raise TokenizerError(f"{file.name} is not a JSON object", path=str(file))
    return document
