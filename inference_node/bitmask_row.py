"""A row of a bitmask, and which token ids may ever be set in one."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from compiler_pool.tokenizer import BoundTokenizer

Bitmask = NDArray[np.int32]
"""Packed: bit `i % 32` of word `i // 32` is set where token `i` may follow."""


def check_row(row: Bitmask, tokenizer: BoundTokenizer) -> None:
    """A row is `ceil(vocabulary_size / 32)` contiguous words: the engine writes through a bare pointer.

    Raises:
        ValueError: a row of another shape or type.
    """
    words = -(-tokenizer.vocabulary_size // 32)
    if row.shape != (words,) or row.dtype != np.int32 or not row.flags["C_CONTIGUOUS"]:
        raise ValueError(f"a mask row is {words} contiguous int32 words, not {row.dtype}{list(row.shape)}")


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
