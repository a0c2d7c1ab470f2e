"""The vocabulary of a GGUF file (`tokenizer.ggml.*`), told as a `tokenizer.json` so that one reading serves both.

Two kinds are read: `gpt2`, byte-level BPE, and `llama`, SentencePiece with a score per piece.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.end_tokens import ids_in
from compiler_pool.tokenizers.gguf_header import GgufHeader, read_gguf_header
from compiler_pool.tokenizers.score_merges import merges_by_score
from compiler_pool.tokenizers.splitting import IGNORES_MERGES, SPLITTINGS
from compiler_pool.tokenizers.token_table import read_token_table
from compiler_pool.tokenizers.vocabulary import EngineDocument, Vocabulary

_NORMAL: Final = 1
_UNKNOWN: Final = 2
_CONTROL: Final = 3
_USER_DEFINED: Final = 4
_UNUSED: Final = 5
_BYTE: Final = 6

_ENDS: Final = ("eos", "eot", "eom")
_SPACE_MARK: Final = "\u2581"
_MARK_SPACES: Final = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE_MARK}
_PREPEND_SPACE: Final = {"type": "Prepend", "prepend": _SPACE_MARK}


def read_gguf(path: Path) -> Vocabulary:
    """The vocabulary of the file at `path`. Raises TokenizerError.

    Tokens marked as unused stand for nothing at the end of the table, where they are padding; between others they are
    special. A file tells no normaliser beyond the marking of spaces: where the model's `tokenizer.json` has another,
    the digests differ in it.
    """
    header = read_gguf_header(path)
    fields = _Fields(header.fields, str(path))
    kind = fields.text("tokenizer.ggml.model")
    if kind == "gpt2":
        document = _byte_level(fields)
    elif kind == "llama":
        document = _scored(fields)
    else:
        raise TokenizerError(f"tokenizer.ggml.model is {kind[:80]!r}; gpt2 and llama are read", path=str(path))
    table = read_token_table(document, path=str(path))
    return Vocabulary(
        name=path.stem,
        path=str(path),
        table=table.token_bytes,
        names=table.ids_by_name,
        normaliser=table.normaliser,
        keeps_text=table.keeps_text,
        named_ends=tuple(
            index
            for end in _ENDS
            for index in ids_in(header.fields.get(f"tokenizer.ggml.{end}_token_id"), path=str(path))
        ),
        width=_width(header, fields, len(fields.texts("tokenizer.ggml.tokens"))),
        engine=EngineDocument(text=json.dumps(document, ensure_ascii=False)),
    )


class _Fields:
    """A header's fields by type. Each raises TokenizerError where the field is missing or of another type."""

    def __init__(self, fields: Mapping[str, Any], path: str) -> None:
        self._fields, self.path = fields, path

    def text(self, name: str) -> str:
        value: str = self._typed(name, str, self._fields.get(name))
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value: bool = self._typed(name, bool, self._fields.get(name, default))
        return value

    def texts(self, name: str) -> list[str]:
        return self._listed(name, str)

    def integers(self, name: str) -> list[int]:
        return self._listed(name, int)

    def numbers(self, name: str) -> list[float]:
        return self._listed(name, float)

    def _listed(self, name: str, kind: type) -> list[Any]:
        value: list[Any] = self._typed(name, list, self._fields.get(name))
        if value:
            self._typed(name, kind, value[0])  # a list of GGUF has items of one type
        return value

    def _typed(self, name: str, kind: type, value: Any) -> Any:
        if type(value) is not kind:
            raise TokenizerError(f"field {name} is missing or of another type than {kind.__name__}", path=self.path)
        return value


def _byte_level(fields: _Fields) -> dict[str, Any]:
    splitting = fields.text("tokenizer.ggml.pre")
    if splitting not in SPLITTINGS:
        raise TokenizerError(
            f"tokenizer.ggml.pre is {splitting[:80]!r}; read are {', '.join(SPLITTINGS)}", path=fields.path
        )
    pieces, added = _tokens(fields, {_NORMAL})
    return {
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": SPLITTINGS[splitting]},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
        "model": {
            "type": "BPE",
            "ignore_merges": splitting in IGNORES_MERGES,
            "vocab": _all_ids(pieces, added),
            "merges": fields.texts("tokenizer.ggml.merges"),
        },
    }


def _scored(fields: _Fields) -> dict[str, Any]:
    pieces, added = _tokens(fields, {_NORMAL, _BYTE})
    scores = fields.numbers("tokenizer.ggml.scores")
    num_tokens = len(fields.texts("tokenizer.ggml.tokens"))
    if len(scores) != num_tokens:
        raise TokenizerError(f"{len(scores)} scores for {num_tokens} tokens", path=fields.path)
    has_prefix = fields.flag("tokenizer.ggml.add_space_prefix", default=True)
    normaliser = {"type": "Sequence", "normalizers": [_PREPEND_SPACE, _MARK_SPACES]} if has_prefix else _MARK_SPACES
    types = fields.integers("tokenizer.ggml.token_type")
    unknown = fields.texts("tokenizer.ggml.tokens")[types.index(_UNKNOWN)] if _UNKNOWN in types else None
    joinable = {
        piece: index for piece, index in pieces.items() if types[index] == _NORMAL
    }  # text never joins to a byte
    return {
        "added_tokens": added,
        "normalizer": normaliser,
        "pre_tokenizer": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": _SPACE_MARK}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
        "model": {
            "type": "BPE",
            "byte_fallback": True,
            "fuse_unk": True,
            "unk_token": unknown,
            "vocab": _all_ids(pieces, added),
            "merges": merges_by_score(joinable, scores, path=fields.path),
        },
    }


def _all_ids(pieces: dict[str, int], added: list[dict[str, Any]]) -> dict[str, int]:
    """The vocabulary with added tokens, which otherwise would be given the ids after it."""
    return pieces | {token["content"]: token["id"] for token in added}


def _tokens(fields: _Fields, plain: set[int]) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Pieces of text by id, and the added tokens; `plain` are the types that are pieces."""
    texts, types = fields.texts("tokenizer.ggml.tokens"), list(fields.integers("tokenizer.ggml.token_type"))
    if len(types) != len(texts):
        raise TokenizerError(f"{len(types)} token types for {len(texts)} tokens", path=fields.path)
    pieces: dict[str, int] = {}
    added: list[dict[str, Any]] = []
    while types and types[-1] == _UNUSED:
        types.pop()
    for index, (text, kind) in enumerate(zip(texts, types, strict=False)):
        if kind in plain:
            if text in pieces:
                raise TokenizerError(f"token {text[:80]!r} has two ids", path=fields.path)
            pieces[text] = index
        elif kind in {_CONTROL, _UNKNOWN, _USER_DEFINED, _UNUSED}:
            added.append(_added(index, text, is_special=kind != _USER_DEFINED))
        else:
            raise TokenizerError(f"token {index} has the type {kind}, unknown for its model", path=fields.path)
    return pieces, added


def _added(index: int, text: str, *, is_special: bool) -> dict[str, Any]:
    return {
        "id": index, "content": text, "special": is_special, "single_word": False, "lstrip": False, "rstrip": False,
        "normalized": False,
    }  # fmt: skip


def _width(header: GgufHeader, fields: _Fields, num_tokens: int) -> int:
    """Of the logits: the output matrix's, else the embedding's that it is tied to, else what the metadata says."""
    for name in ("output.weight", "token_embd.weight"):
        shape = header.shapes.get(name)
        if shape is not None:
            if len(shape) != 2:
                raise TokenizerError(f"tensor {name} has {len(shape)} dimensions, not 2", path=fields.path)
            return shape[1]
    architecture = header.fields.get("general.architecture")
    width = header.fields.get(f"{architecture}.vocab_size", num_tokens)
    if type(width) is not int:
        raise TokenizerError(f"field {architecture}.vocab_size is no integer", path=fields.path)
    return width
