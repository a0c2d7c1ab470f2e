"""A row of a bitmask, and which token ids may ever be set in one."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler_pool.tokenizer import BoundTokenizer

Bitmask = NDArray[np.int32]
"""Packed: bit `i % 32` of word `i // 32` is set where token `i` may follow."""


class Offer(NamedTuple):
    """What a row offers."""

    anything: bool
    ends: bool
    """Whether an end is among it."""
    is_one: bool
    """Whether it is one token alone."""


def new_row(tokenizer: BoundTokenizer) -> Bitmask:
    """A row in which nothing is set."""
    return np.zeros(-(-tokenizer.vocabulary_size // 32), dtype=np.int32)


def check_row(row: Bitmask, tokenizer: BoundTokenizer) -> None:
    """A row is `ceil(vocabulary_size / 32)` contiguous words: the engine writes through a bare pointer.

    Raises:
        ValueError: a row of another shape or type.
    """
    words = -(-tokenizer.vocabulary_size // 32)
    if row.shape != (words,) or row.dtype != np.int32 or not row.flags["C_CONTIGUOUS"]:
        raise ValueError(f"a mask row is {words} contiguous int32 words, not {row.dtype}{list(row.shape)}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfferRule:
    """The last look before masks are believed: nothing withheld is offered, and whether ends are."""

    words: NDArray[np.intp]
    """Those in which something is withheld: a few, so a look at them costs less than one at whole rows."""
    offered: Bitmask
    """What may be set in these words."""
    end_places: tuple[tuple[int, int], ...]
    """Word and bit of each end."""
    end_words: NDArray[np.intp]
    end_shifts: Bitmask

    def apply(self, row: Bitmask) -> Offer:
        """Withhold, in a row, what no grammar may offer. What is left."""
        if len(self.words):
            row[self.words] &= self.offered
        bits = int(np.bitwise_or.reduce(row)) & 0xFFFFFFFF
        return Offer(
            bits != 0,
            any(int(row[word]) >> bit & 1 for word, bit in self.end_places),
            bits & (bits - 1) == 0 and np.count_nonzero(row) == 1,
        )

    def apply_to_rows(self, rows: NDArray[np.int32], chosen: NDArray[np.intp]) -> list[Offer]:
        """The same for several of `rows` [rows, words], in the order of `chosen`. Others may be written meanwhile."""
        at = chosen[:, None]
        if len(self.words):
            rows[at, self.words] &= self.offered
        ends = rows[at, self.end_words] >> self.end_shifts & 1
        first, last = int(chosen[0]), int(chosen[-1])
        is_run = last - first == len(chosen) - 1 and bool((chosen[1:] > chosen[:-1]).all())
        together = rows[first : last + 1] if is_run else rows[chosen]
        bits = np.bitwise_or.reduce(together, axis=1)
        has_end = np.bitwise_or.reduce(ends, axis=1) != 0
        # The one word that is not nothing is then the union of them all.
        is_one = (np.count_nonzero(together, axis=1) == 1) & (bits & (bits - 1) == 0)
        return list(map(Offer, (bits != 0).tolist(), has_end.tolist(), is_one.tolist()))


@lru_cache(maxsize=8)
def offer_rule(tokenizer: BoundTokenizer) -> OfferRule:
    """A tokenizer's."""
    offered = offered_tokens_bitmask(tokenizer)
    words = np.flatnonzero(offered != -1)
    ends = np.array(tokenizer.end_ids, dtype=np.int32)
    return OfferRule(
        words=words,
        offered=offered[words],
        end_places=tuple(divmod(token_id, 32) for token_id in tokenizer.end_ids),
        end_words=(ends // 32).astype(np.intp),
        end_shifts=ends % 32,
    )


@lru_cache(maxsize=8)
def real_tokens_bitmask(tokenizer: BoundTokenizer) -> Bitmask | None:
    """The ids that stand for something; None where all do. Logits are often wider than the tokenizer."""
    stands = [bool(data) for data in tokenizer.token_bytes]
    return None if all(stands) else _packed(stands)


@lru_cache(maxsize=8)
def offered_tokens_bitmask(tokenizer: BoundTokenizer) -> Bitmask:
    """The ids that a grammar may offer: text, ends, and special tokens that were granted. Never padding."""
    return _packed([index not in tokenizer.withheld for index in range(tokenizer.vocabulary_size)])


def _packed(allowed: list[bool]) -> Bitmask:
    padded = np.zeros(-(-len(allowed) // 32) * 32, dtype=np.bool_)
    padded[: len(allowed)] = allowed
    return np.packbits(padded, bitorder="little").view(np.int32)
