"""A random walk through the masks of a grammar, seeded, with a hurry to close after a while."""

import random
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

from compiler_pool.tokenizer import BoundTokenizer

_CLOSERS: Final = (b'"', b"}", b"]", b'"}', b'"]', b"]}", b"}]", b"}}", b'":', b",", b"0", b"null")
_HASTE: Final = 0.9
"""Share of steps that close something, once a walk is in a hurry: where closing leads nowhere, others must come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The text ended where the grammar accepts."""

    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """The walk took all its steps and was still under way."""

    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """Nothing may come, and the text is not at an end; or the engine gave up."""

    text: bytes
    why: str


Walk: TypeAlias = Ended | Unfinished | Stuck


class Walker:
    """Walks on one tokenizer."""

    def __init__(self, tokenizer: BoundTokenizer) -> None:
        self._tokenizer = tokenizer
        known = (tokenizer.longest_first.get(closer) for closer in _CLOSERS)
        self._closers = np.array([token for token in known if token is not None], dtype=np.int64)
        self._ends = np.array(tokenizer.end_ids, dtype=np.int64)
        self._plain = np.zeros(tokenizer.vocabulary_size, dtype=bool)
        for index, data in enumerate(tokenizer.token_bytes):
            self._plain[index] = bool(data) and data.isascii() and data.decode().isprintable()

    def walk(self, prototype: LLMatcher, draw: random.Random, *, hurry_after: int = 60, at_most: int = 600) -> Walk:
        """One text, in tokens that the masks allow. `prototype` is at its start and stays there."""
        matcher, text = prototype.deep_copy(), b""
        for step in range(at_most):
            if matcher.is_accepting() and draw.random() < (0.8 if step > hurry_after else 0.25):
                return Ended(text=text)
            mask = matcher.compute_bitmask()
            if matcher.is_error():
                return Stuck(text=text, why="engine error: " + str(matcher.get_error())[:200])
            packed = np.unpackbits(np.frombuffer(mask, dtype=np.uint8), bitorder="little")
            bits = packed[: self._tokenizer.vocabulary_size].astype(bool)
            bits[self._ends] = False
            token = self._chosen(bits, draw, is_late=step > hurry_after)
            if token is None:
                return Ended(text=text) if matcher.is_accepting() else Stuck(text=text, why="nothing may come")
            if not matcher.consume_token(token) or matcher.is_error():
                return Stuck(text=text, why=f"token {token} is in the mask and refused: {matcher.get_error()[:200]}")
            text += self._tokenizer.token_bytes[token]
            if matcher.is_stopped():
                return Ended(text=text) if matcher.is_accepting() else Stuck(text=text, why="stopped, not accepting")
        return Unfinished(text=text)

    def _chosen(self, bits: NDArray[np.bool_], draw: random.Random, *, is_late: bool) -> int | None:
        if draw.random() < (_HASTE if is_late else 0.3):
            closing = self._closers[bits[self._closers]]
            if len(closing):
                return int(closing[0 if is_late else draw.randrange(len(closing))])
        allowed = np.flatnonzero(bits & self._plain)
        # Most of a vocabulary is text in other scripts; without a preference every string were of those.
        if not len(allowed) or draw.random() < 0.1:
            allowed = np.flatnonzero(bits)
        return int(allowed[draw.randrange(len(allowed))]) if len(allowed) else None
