"""Fills bitmask rows beside the forward pass: the grammar engine releases the interpreter lock while it works."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.grammar import GrammarMatcher, real_tokens_bitmask
from kernels.bitmask import bitmask_words

_Result = TypeVar("_Result")


class MaskFiller:
    """One mask row per place of the cache, and the threads that fill them.

    A row belongs to its sequence's fill from `start` until that future is done; then to the step loop, to read.
    """

    def __init__(self, tokenizer: BoundTokenizer, *, num_places: int, num_threads: int) -> None:
        self._rows = np.zeros((num_places, bitmask_words(tokenizer.vocabulary_size)), dtype=np.int32)
        self._real_tokens = real_tokens_bitmask(tokenizer)
        self._threads = ThreadPoolExecutor(num_threads, thread_name_prefix="grammar")

    def allow_text(self, place: int) -> bool:
        """For a sequence without a grammar: allow every id that stands for something. False: all do, mask nothing."""
        if self._real_tokens is None:
            return False
        self._rows[place] = self._real_tokens
        return True

    def start(self, matcher: GrammarMatcher, place: int) -> Future[float]:
        """Fill the place's row; the result is the seconds that it took."""
        return self._threads.submit(_fill, matcher, self._rows[place])

    def run(self, job: Callable[[], _Result]) -> Future[_Result]:
        """Other work of the grammar engine's that the step loop must not wait for."""
        return self._threads.submit(job)

    def rows(self, places: list[int]) -> torch.Tensor:
        """A copy of some places' rows, int32 [places, words]."""
        return torch.from_numpy(self._rows[places])

    def close(self) -> None:
        """Begin nothing new; a fill that runs is bounded by the grammar engine's own limits."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _fill(matcher: GrammarMatcher, row: np.ndarray[tuple[int], np.dtype[np.int32]]) -> float:
    started = time.perf_counter()
    matcher.fill_bitmask(row)
    return time.perf_counter() - started
