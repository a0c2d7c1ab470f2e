"""What every source of a tokenizer comes down to, and the bounds that hold for all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from compiler_pool.errors import TokenizerError

MAX_TOKENS: Final = 1 << 20
"""Ids, padding included; the largest published vocabularies have 262,144. The engine dies at four times as many."""
MAX_TOKEN_BYTES: Final = 1000
"""Of one token; published ones stay below 300. The engine dies of tokens of more than 1,024."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDocument:
    """The engine reads the tokenizer from the text of a `tokenizer.json`."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRanks:
    """The engine merges bytes by rank inside what `pattern` (Rust's dialect, with look-around) splits off."""

    ranks: Mapping[bytes, int]
    special_tokens: Mapping[str, int]
    pattern: str


EngineSource = EngineDocument | EngineRanks


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """A tokenizer as one source tells it. `table[id]` is empty where the id stands for nothing.

    `names` are the tokens that have a name rather than a text; `named_ends` are the ids that the source itself says
    end a text, in its order; `width` is that of the model's logits, where something tells it. `keeps_text` says that
    nothing changes a text in NFC before it is split, the mark of spaces aside. `spoken` are named tokens whose name is
    to be seen in what a model says.
    """

    name: str
    path: str
    table: tuple[bytes, ...]
    names: Mapping[str, int]
    normaliser: str
    keeps_text: bool
    named_ends: tuple[int, ...]
    width: int | None
    engine: EngineSource
    spoken: frozenset[int] = frozenset()


def table_of(as_bytes: Mapping[int, bytes], *, path: str) -> tuple[bytes, ...]:
    """The table of tokens by id, gaps empty. Raises TokenizerError for ids or tokens out of bounds."""
    if not as_bytes:
        raise TokenizerError("the vocabulary is empty", path=path)
    least, most = min(as_bytes), max(as_bytes)
    if least < 0 or most >= MAX_TOKENS:
        raise TokenizerError(f"token ids run from {least} to {most}; allowed are 0 to {MAX_TOKENS - 1}", path=path)
    longest = max(as_bytes, key=lambda index: len(as_bytes[index]))
    if len(as_bytes[longest]) > MAX_TOKEN_BYTES:
        raise TokenizerError(
            f"token {longest} has {len(as_bytes[longest])} bytes; at most {MAX_TOKEN_BYTES} are taken", path=path
        )
    return tuple(as_bytes.get(index, b"") for index in range(most + 1))
