"""Fills bitmask rows beside the forward pass: the grammar engine releases the interpreter lock while it works."""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, TypeVar

import numpy as np
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.bitmask_row import Bitmask, real_tokens_bitmask
from inference_node.grammar import Prototype
from inference_node.matcher import GrammarMatcher
from kernels.bitmask import bitmask_words

_Result = TypeVar("_Result")

_NUM_SIDE_THREADS: Final = 2
"""Repairs and judgements may compile, for as long as the slowest accepted contract takes. Never on a mask thread."""


_TURN_SECONDS: Final = 0.001
"""A line gives its thread to the next after so long: some thirty ordinary masks, or one slow one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fill:
    matcher: GrammarMatcher
    row: Bitmask
    seconds: Future[float] = field(default_factory=Future)


class MaskFiller:
    """One mask row per place of the cache, and the threads that fill them.

    A row belongs to its sequence's fill from `start` until that future is done; then to the step loop, to read.

    Fills of one prototype take turns in a line of their own, and lines take turns at the threads: two threads never
    wait for one lexer, and a contract whose masks are slow gets no more turns than others, for each prototype it has.
    """

    def __init__(self, tokenizer: BoundTokenizer, *, num_places: int, num_threads: int) -> None:
        self._rows = np.zeros((num_places, bitmask_words(tokenizer.vocabulary_size)), dtype=np.int32)
        self._real_tokens = real_tokens_bitmask(tokenizer)
        self._threads = ThreadPoolExecutor(num_threads, thread_name_prefix="grammar")
        self._side_threads = ThreadPoolExecutor(_NUM_SIDE_THREADS, thread_name_prefix="grammar-side")
        self._lines: dict[Prototype, deque[_Fill]] = {}
        self._lock = Lock()

    def allow_text(self, place: int) -> bool:
        """For a sequence without a grammar: allow every id that stands for something. False: all do, mask nothing."""
        if self._real_tokens is None:
            return False
        self._rows[place] = self._real_tokens
        return True

    def start(self, matcher: GrammarMatcher, place: int) -> Future[float]:
        """Fill the place's row; the result is the seconds that it took."""
        fill = _Fill(matcher=matcher, row=self._rows[place])
        with self._lock:
            line = self._lines.setdefault(matcher.prototype, deque())
            line.append(fill)
            if len(line) == 1:
                self._threads.submit(self._take_turn, matcher.prototype)
        return fill.seconds

    def is_quiet(self, matcher: GrammarMatcher) -> bool:
        """Whether no fill of its prototype is under way, so that taking a token need not wait for the lexer."""
        with self._lock:
            return matcher.prototype not in self._lines

    def run(self, job: Callable[[], _Result]) -> Future[_Result]:
        """Other work of the grammar engine's that the step loop must not wait for: repairs and judgements."""
        return self._side_threads.submit(job)

    def rows(self, places: list[int]) -> torch.Tensor:
        """A copy of some places' rows, int32 [places, words]."""
        return torch.from_numpy(self._rows[places])

    def close(self) -> None:
        """Begin nothing new; a fill that runs is bounded by the grammar engine's own limits."""
        with self._lock:
            self._lines.clear()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._side_threads.shutdown(wait=False, cancel_futures=True)

    def _take_turn(self, prototype: Prototype) -> None:
        ends_at = time.perf_counter() + _TURN_SECONDS
        goes_on = True
        while goes_on:
            with self._lock:
                line = self._lines.get(prototype)
            if line is None:  # closed
                return
            fill = line[0]
            seconds, error = 0.0, None
            try:
                seconds = _fill(fill)
            except Exception as caught:  # whoever waits for the row gets it
                error = caught
            # The line moves on before the future is done: who is woken by it finds the prototype quiet, or busy anew.
            goes_on = self._has_next(prototype, line, is_turn_over=time.perf_counter() >= ends_at)
            if error is None:
                fill.seconds.set_result(seconds)
            else:
                fill.seconds.set_exception(error)

    def _has_next(self, prototype: Prototype, line: deque[_Fill], *, is_turn_over: bool) -> bool:
        """Take the fill that is done out of its line. Whether this thread goes on with the one behind it."""
        with self._lock:
            line.popleft()
            if self._lines.get(prototype) is not line:  # closed
                return False
            if not line:
                del self._lines[prototype]
                return False
            if is_turn_over:
                self._threads.submit(self._take_turn, prototype)
            return not is_turn_over


def _fill(fill: _Fill) -> float:
    started = time.perf_counter()
    fill.matcher.fill_bitmask(fill.row)
    return time.perf_counter() - started
