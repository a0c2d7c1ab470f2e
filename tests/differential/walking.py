"""A random walk through the masks of a grammar, seeded, with a hurry to close after a while."""

import random
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

from compiler_pool.tokenizer import BoundTokenizer

_INSIDE: Final = (b'"',)
_OUTSIDE: Final = (b"}", b"]", b":", b"0", b'""', b'"', b"null", b"true", b"1", b"{}", b"[]", b"{", b"[", b",")
"""What closes soonest first, in a string and outside of one."""
_EASE: Final = 0.3
_HASTE: Final = 0.8
"""Share of steps that close something: of a walk at ease, and of one in a hurry. Where closing leads nowhere, others
must come."""
_NUM_TRIED: Final = 12
"""Tokens of which a walk in a hurry takes one that leads to where it has not been."""


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
        self._inside, self._outside = self._known(_INSIDE), self._known(_OUTSIDE)
        self._ends = np.array(tokenizer.end_ids, dtype=np.int64)
        self._plain = np.zeros(tokenizer.vocabulary_size, dtype=bool)
        for index, data in enumerate(tokenizer.token_bytes):
            self._plain[index] = bool(data) and data.isascii() and data.decode().isprintable()

    def _known(self, texts: tuple[bytes, ...]) -> NDArray[np.int64]:
        found = (self._tokenizer.longest_first.get(text) for text in texts)
        return np.array([token for token in found if token is not None], dtype=np.int64)

    def walk(self, prototype: LLMatcher, draw: random.Random, *, hurry_after: int = 60, at_most: int = 600) -> Walk:
        """One text, in tokens that the masks allow. `prototype` is at its start and stays there."""
        matcher, text, been = prototype.deep_copy(), b"", set[bytes]()
        for step in range(at_most):
            is_late = step > hurry_after
            if matcher.is_accepting() and draw.random() < (_HASTE if is_late else 0.25):
                return Ended(text=text)
            mask = matcher.compute_bitmask()
            if matcher.is_error():
                return Stuck(text=text, why="engine error: " + str(matcher.get_error())[:200])
            been.add(mask)
            packed = np.unpackbits(np.frombuffer(mask, dtype=np.uint8), bitorder="little")
            bits = packed[: self._tokenizer.vocabulary_size].astype(bool)
            bits[self._ends] = False
            token = self._closing(bits, text, draw, is_late=is_late)
            if token is None:
                token = self._new(matcher, bits, draw, been) if is_late else self._any(bits, draw)
            if token is None:
                return Ended(text=text) if matcher.is_accepting() else Stuck(text=text, why="nothing may come")
            if not matcher.consume_token(token) or matcher.is_error():
                return Stuck(text=text, why=f"token {token} is in the mask and refused: {matcher.get_error()[:200]}")
            text += self._tokenizer.token_bytes[token]
            if matcher.is_stopped():
                return Ended(text=text) if matcher.is_accepting() else Stuck(text=text, why="stopped, not accepting")
        return Unfinished(text=text)

    def _closing(self, bits: NDArray[np.bool_], text: bytes, draw: random.Random, *, is_late: bool) -> int | None:
        if draw.random() >= (_HASTE if is_late else _EASE):
            return None
        closers = self._inside if _is_in_string(text) else self._outside
        allowed = closers[bits[closers]]
        if not len(allowed):
            return None
        is_soonest = is_late and draw.random() < _HASTE
        return int(allowed[0 if is_soonest else draw.randrange(len(allowed))])

    def _any(self, bits: NDArray[np.bool_], draw: random.Random) -> int | None:
        allowed = np.flatnonzero(bits & self._plain)
        # Most of a vocabulary is text in other scripts; without a preference every string were of those.
        if not len(allowed) or draw.random() < 0.1:
            allowed = np.flatnonzero(bits)
        return int(allowed[draw.randrange(len(allowed))]) if len(allowed) else None

    def _new(self, matcher: LLMatcher, bits: NDArray[np.bool_], draw: random.Random, been: set[bytes]) -> int | None:
        """A token behind which the text may end, or the mask is one that was not met before; else any."""
        token = None
        for _ in range(_NUM_TRIED):
            token = self._any(bits, draw)
            if token is None:
                return None
            ahead = matcher.deep_copy()
            if ahead.consume_token(token) and (ahead.is_accepting() or ahead.compute_bitmask() not in been):
                break
        return token


def _is_in_string(text: bytes) -> bool:
    """Whether the text of a JSON value so far ends inside a string."""
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return bare.count(b'"') % 2 == 1
