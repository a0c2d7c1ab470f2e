"""A tokenizer bound to the grammar engine, and its identity.

The token table is read twice, by us and by the engine; a tokenizer on which the two disagree is refused, because a
mask is only as right as the bytes that it thinks a token has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from llguidance import LLTokenizer

from compiler_pool.artifact import TokenizerDigest
from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.end_tokens import end_ids
from compiler_pool.tokenizers.identity import IdentityParts
from compiler_pool.tokenizers.longest_match import LongestMatch
from compiler_pool.tokenizers.source import TokenizerSource, read_source
from compiler_pool.tokenizers.vocabulary import MAX_TOKENS, EngineDocument, EngineRanks, EngineSource, Vocabulary

_TEXT_BYTES: Final = frozenset({*range(0xC0), *range(0xC2, 0xF5)})
"""All that occur in UTF-8."""

_MARKS: Final = ("\u2581", *(f"<0x{byte:02X}>" for byte in range(256)), *(f"<0x{byte:02x}>" for byte in range(256)))
"""How SentencePiece spells a space and bytes. Some models of it find them in text, too."""
_PROBES: Final = (
    *(chr(code) for code in range(0x20, 0x7F)), "\t", "\n", "\r\n", " a", "a ", "a  b", "\n\n a\t", '{"Name": [1, 23]}',
    "\u00e9", "\u4e2d\u6587", "\U0001f600", "\x00\x1f\x7f", "A\u00e9 y\ufb01\u00a0\uff21",
)  # fmt: skip
"""Composed texts that a tokenizer which changes letters, spaces or widths does not give back."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundTokenizer:
    """A tokenizer as the engine sees it. Equal digests mean equal masks for equal grammars.

    `vocabulary_size` is the width of the model's logits where a file tells it (ids past the table are padding and have
    no bytes). `special` are the ids that the engine never produces as text; `end_ids` are among them.
    """

    digest: TokenizerDigest
    name: str
    engine: LLTokenizer
    vocabulary_size: int
    token_bytes: Sequence[bytes]
    special: frozenset[int]
    end_ids: tuple[int, ...]
    identity: IdentityParts
    """What the digest is of, to tell two tokenizers apart by."""
    granted: Mapping[str, int]
    """The special tokens that a grammar may name; by default none, and never an end."""
    withheld: frozenset[int]
    """Ids that no mask of a grammar may allow: special ones that are neither granted nor an end, and padding."""
    missing_bytes: frozenset[int]
    """Bytes of UTF-8 that no single token spells: text that needs one may have no tokens."""
    misread: frozenset[str]
    """Texts that the engine's split takes for something else: special tokens' names, and where they mean a space or a
    byte, `▁` and `<0xNN>`."""
    is_faithful: bool
    """Whether the engine's split spells the text again, if that is in NFC and holds nothing misread and no missing
    byte. Where it does not, forced text would be offered as other text."""
    spoken: frozenset[int]
    """Special tokens, but no ends, whose name is part of what a model says, such as `<tool_call>`: its files flag them
    as no special ones. The engine takes them for such all the same, so no grammar offers them as text."""
    text_tokens: LongestMatch
    """Over what text may be made of; of several tokens with the same bytes, the lowest id."""

    @property
    def composes_text(self) -> bool:
        """Whether it puts text into NFC before it splits it. Only told of a faithful one."""
        return '"NFC"' in self.identity.normaliser

    @property
    def longest_first(self) -> Mapping[bytes, int]:
        """Text tokens by their bytes."""
        return self.text_tokens.ids

    def encode_exact(self, data: bytes) -> list[int]:
        """Token ids whose bytes concatenate to exactly `data`; special tokens are never used.

        The model's own split where that loses nothing (it may normalise to NFC or find a special token's name),
        otherwise the longest token at each place. Raises TokenizerError where no tokens spell it.
        """
        ids = _engine_split(self.engine, data)
        if not self.special.intersection(ids) and self.decode(ids) == data:
            return ids
        return self.text_tokens.split(data, path=self.name)

    def text_of(self, token_id: int) -> bytes:
        """What a token adds to an answer: nothing for special ones, but for those whose name is to be seen."""
        is_text = token_id not in self.special or token_id in self.spoken
        return self.token_bytes[token_id] if is_text else b""

    def decode(self, ids: Iterable[int]) -> bytes:
        """The bytes of some tokens."""
        return b"".join(self.token_bytes[index] for index in ids)


def load_tokenizer(path: Path) -> BoundTokenizer:
    """Load a model directory, a `tokenizer.json`, a `.gguf` file or a `.tiktoken` file. Raises TokenizerError.

    End ids are what the files and the declaration name, and the well-known ones that the tokenizer has.
    """
    source = read_source(path)
    vocabulary = source.vocabulary
    size = _size(source)
    ends = end_ids(
        [*vocabulary.named_ends, *(_named(name, source) for name in source.declared.end_tokens)],
        vocabulary.names,
        vocabulary.table,
        path=vocabulary.path,
    )
    engine = _engine(vocabulary.engine, size, ends, vocabulary.path)
    token_bytes = vocabulary.table + (b"",) * (size - len(vocabulary.table))
    special = frozenset(index for index in range(size) if engine.is_special_token(index))
    _check_agreement(engine, token_bytes, special, vocabulary.path)
    for index in ends:
        # The node takes an end id for the end; as text it would be offered inside a sentence too.
        if index not in special:
            raise TokenizerError(f"end-of-sequence id {index} is the text {token_bytes[index]!r}", path=vocabulary.path)
    granted = _granted(source, special, ends)
    identity = IdentityParts(
        vocabulary_size=size,
        token_bytes=token_bytes,
        special=special,
        end_ids=ends,
        normaliser=vocabulary.normaliser,
        granted=tuple(granted.values()),
    )
    by_bytes: dict[bytes, int] = {}
    for index, data in enumerate(token_bytes):
        if data and index not in special:
            by_bytes.setdefault(data, index)
    missing = frozenset(byte for byte in _TEXT_BYTES if bytes([byte]) not in by_bytes)
    return BoundTokenizer(
        digest=identity.digest(),
        name=vocabulary.name,
        engine=engine,
        vocabulary_size=size,
        token_bytes=token_bytes,
        special=special,
        end_ids=ends,
        identity=identity,
        granted=granted,
        withheld=special.difference(ends, granted.values()),
        missing_bytes=missing,
        misread=_misread(vocabulary, engine, token_bytes, special),
        is_faithful=vocabulary.keeps_text
        and all(
            _spells(engine, token_bytes, special, probe) for probe in _PROBES if missing.isdisjoint(probe.encode())
        ),
        spoken=vocabulary.spoken.intersection(special).difference(ends),
        text_tokens=LongestMatch.over(by_bytes),
    )


def _size(source: TokenizerSource) -> int:
    vocabulary, declared = source.vocabulary, source.declared.vocabulary_size
    told = vocabulary.width if vocabulary.width is not None else declared
    size = len(vocabulary.table) if told is None else told
    if declared is not None and declared != size:
        raise TokenizerError(f"vocabulary_size is declared as {declared}, the model's is {size}", path=vocabulary.path)
    if size < len(vocabulary.table):
        raise TokenizerError(
            f"the model's vocab_size {size} leaves out some of {len(vocabulary.table)} tokens", path=vocabulary.path
        )
    if size > MAX_TOKENS:
        raise TokenizerError(f"a vocabulary of {size} ids; at most {MAX_TOKENS} are taken", path=vocabulary.path)
    return size


def _named(name: str, source: TokenizerSource) -> int:
    try:
        return source.vocabulary.names[name]
    except KeyError:
        raise TokenizerError(f"no special token is called {name[:80]!r}", path=source.vocabulary.path) from None


def _granted(source: TokenizerSource, special: frozenset[int], ends: Sequence[int]) -> dict[str, int]:
    granted = {name: _named(name, source) for name in source.declared.granted_special_tokens}
    for name, index in granted.items():
        if index in ends or index not in special:
            what = "ends a text" if index in ends else "is text"
            raise TokenizerError(f"{name[:80]!r} {what} and cannot be granted to grammars", path=source.vocabulary.path)
    return granted


def _engine(source: EngineSource, size: int, ends: Sequence[int], path: str) -> LLTokenizer:
    try:
        match source:
            case EngineDocument():
                return LLTokenizer(source.text, n_vocab=size, eos_token=list(ends))
            case EngineRanks():
                engine: LLTokenizer = LLTokenizer.from_tiktoken(  # type: ignore[attr-defined]  # its stub lacks it
                    encoder=dict(source.ranks),
                    special_tokens=dict(source.special_tokens),
                    pattern=source.pattern,
                    eos_token=list(ends),
                    n_vocab=size,
                )
                return engine
    except BaseException as error:
        if not _is_refusal(error):
            raise
        # The engine's message may quote the whole file.
        raise TokenizerError(f"the engine does not take it: {str(error)[:200]}", path=path) from None


def _engine_split(engine: LLTokenizer, data: bytes) -> list[int]:
    """The engine's split of `data`, which may spell something else; none where its code for splitting gave up."""
    try:
        return engine.tokenize_bytes(data, parse_special=False)
    except BaseException as error:
        if not _is_refusal(error):
            raise
        return []


def _is_refusal(error: BaseException) -> bool:
    """Panics of the engine's native code are no Exception to Python; nothing of ours is broken by them here."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _misread(
    vocabulary: Vocabulary, engine: LLTokenizer, token_bytes: Sequence[bytes], special: frozenset[int]
) -> frozenset[str]:
    names = frozenset(name for name, index in vocabulary.names.items() if index in special)
    return names.union(mark for mark in _MARKS if not _spells(engine, token_bytes, special, f"a{mark}b"))


def _spells(engine: LLTokenizer, token_bytes: Sequence[bytes], special: frozenset[int], text: str) -> bool:
    ids = _engine_split(engine, text.encode())
    return not special.intersection(ids) and b"".join(token_bytes[index] for index in ids) == text.encode()


def _check_agreement(engine: LLTokenizer, token_bytes: Sequence[bytes], special: frozenset[int], path: str) -> None:
    for index, data in enumerate(token_bytes):
        # The engine has a name of its own for padding. It keeps 0xFF for itself and hides tokens that begin with it.
        if data.startswith(b"\xff") or (not data and index in special):
            continue
        if engine.decode_bytes([index]) != data:
            raise TokenizerError(f"token {index} is {data[:80]!r} to us and something else to the engine", path=path)
