"""Fills mask rows beside the forward pass: the grammar engine releases the interpreter lock while it works.

Who waits for whom. Masks of contracts that are quick are filled in groups, one call of the engine's for each, and a
group is there when its slowest row is. All else is filled row by row in a line of its prototype's, each timed:

- the first mask of a prototype, whose lexer is cold; and the masks of a contract that is suspected, because a group in
  which it took part took too long: on threads for trials;
- the masks of a contract that was found slow there, or dear on average, or that broke a lexer: on threads for slow
  ones, until it has proved itself (`mask_pace.py`).

So one slow row delays at most the rows of its own group (`_GROUP_ROWS`, or one prototype's if those are more), and the
masks of the same lexer. That costs them at most the time of the row, and happens to a contract again only after 16
masks that were timed one by one and quick, then 64, then 256, up to 4,096. Slow contracts wait for slow ones. Slow is
what is far above the masks of real schemas on cold lexers, a few milliseconds: apart from others a mask costs the
interpreter twice as much, and where many are, they are slow for that reason alone.
Processors are shared by all: trials, slow ones and groups have each as many threads as the setting says.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, TypeVar

from inference_node.arrival import Arrival, announce
from inference_node.grammar import Prototype
from inference_node.grammar_engine import ParallelFill, new_parallel_fill
from inference_node.group_fill import fill_rows
from inference_node.mask_rows import MaskRows
from inference_node.matcher import GrammarMatcher

_Result = TypeVar("_Result")

_NUM_SIDE_THREADS: Final = 2
"""Repairs and judgements may compile, for as long as the slowest accepted contract takes. Never on a mask thread."""

_NUM_GROUP_THREADS: Final = 4
"""While the engine fills one group on its own threads, what it said of another is looked at."""

_GROUP_ROWS: Final = 32
"""A call for fewer costs the engine more a row, and one for more makes more of them wait for a slow one."""

_TURN_SECONDS: Final = 0.001
"""A line gives its thread to the next after so long: some thirty ordinary masks, or one slow one."""

_GROUP_SECONDS: Final = 0.010
_GROUP_SECONDS_A_ROW: Final = 0.000_05
"""A group that takes longer has somebody slow in it. Twice what rows take on average over a collection of schemas, and
what one on a cold lexer takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """How many ids a row allows is counted where it is used: the sampler reads every word anyway."""

    seconds: float
    """From `start` until the rows were there."""
    num_rows: int
    """Rows that are valid: the first, and one for each draft that the grammar takes and its mask offers, up to one
    after which the text is whole and nothing can follow. The others hold zeros. None where the matcher does not stand,
    or is broken."""


@dataclass(slots=True, kw_only=True, eq=False)
class MaskFill:
    """One sequence's masks of one step. From `start` until it is done, rows and matcher belong to the filler."""

    matcher: GrammarMatcher
    rows: Sequence[int]
    """Of `MaskRows`: one, and one more for each draft."""
    drafts: Sequence[int] = ()
    done: Arrival[Filled] = field(default_factory=Arrival)
    """Set on a grammar thread. Raises what is nobody's grammar's fault."""
    started_at: float = 0.0


class MaskFiller:
    """Fills of one prototype take turns in a line of their own: no two threads wait for one lexer."""

    def __init__(self, rows: MaskRows, *, num_threads: int, parallel: ParallelFill | None = None) -> None:
        self._rows = rows
        self._parallel = parallel or new_parallel_fill(num_threads)
        self._group_threads = ThreadPoolExecutor(_NUM_GROUP_THREADS, thread_name_prefix="grammar")
        self._trial_threads = ThreadPoolExecutor(num_threads, thread_name_prefix="grammar-trial")
        self._slow_threads = ThreadPoolExecutor(num_threads, thread_name_prefix="grammar-slow")
        self._side_threads = ThreadPoolExecutor(_NUM_SIDE_THREADS, thread_name_prefix="grammar-side")
        self._lines: dict[Prototype, deque[MaskFill]] = {}
        """Of every prototype that some thread has in hand, or will have: what waits for it."""
        self._lock = Lock()
        self._wake: Callable[[], None] = _nobody

    def call_when_filled(self, wake: Callable[[], None]) -> None:
        """Have something called on a grammar thread each time that some fills are done: once for all of a group."""
        self._wake = wake

    def start(self, fills: Sequence[MaskFill]) -> None:
        """Begin the masks of a step. Returns at once."""
        now = time.perf_counter()
        with self._lock:
            idle: list[Prototype] = []
            for fill in fills:
                fill.started_at = now
                prototype = fill.matcher.prototype
                line = self._lines.get(prototype)
                if line is None:
                    self._lines[prototype] = deque([fill])
                    idle.append(prototype)
                else:
                    line.append(fill)
            self._hand_out(idle)

    def is_quiet(self, matcher: GrammarMatcher) -> bool:
        """Whether no fill of its prototype is under way, so that taking a token need not wait for the lexer."""
        with self._lock:
            return matcher.prototype not in self._lines

    def run(self, job: Callable[[], _Result]) -> Future[_Result]:
        """Other work of the grammar engine's that the step loop must not wait for: repairs and judgements."""
        return self._side_threads.submit(job)

    def close(self) -> None:
        """Begin nothing new; a fill that runs is bounded by the grammar engine's own limits."""
        with self._lock:
            waiting = [fill for line in self._lines.values() for fill in line]
            self._lines.clear()
        for threads in (self._group_threads, self._trial_threads, self._slow_threads, self._side_threads):
            threads.shutdown(wait=False, cancel_futures=True)
        for fill in waiting:
            fill.done.cancel()
        announce()

    def _hand_out(self, prototypes: Sequence[Prototype]) -> None:
        """Give lines that nobody has in hand to threads. Under the lock."""
        group: list[Prototype] = []
        num_rows = 0
        for prototype in prototypes:
            if prototype.num_masks == 0 or not prototype.pace.joins:
                threads = self._slow_threads if prototype.pace.is_slow else self._trial_threads
                threads.submit(self._take_turn, prototype)
                continue
            if group and num_rows + len(self._lines[prototype]) > _GROUP_ROWS:
                self._group_threads.submit(self._fill_group, group)
                group, num_rows = [], 0
            group.append(prototype)
            num_rows += len(self._lines[prototype])
        if group:
            self._group_threads.submit(self._fill_group, group)

    def _fill_group(self, prototypes: Sequence[Prototype]) -> None:
        with self._lock:
            fills = [fill for prototype in prototypes for fill in self._lines.get(prototype, ())]
            for prototype in prototypes:
                self._lines.get(prototype, deque()).clear()
        outcomes: Sequence[int | BaseException]
        started = time.perf_counter()
        try:
            outcomes = fill_rows(fills, self._rows, self._parallel)
        except BaseException:
            # Somebody's fault that is not the engine's: each by itself, and it is only theirs.
            outcomes = [self._fill_alone(fill) for fill in fills]
        took = time.perf_counter() - started
        paces = {id(prototype.pace): prototype.pace for prototype in prototypes}
        if len(paces) > 1 and took > _GROUP_SECONDS + _GROUP_SECONDS_A_ROW * len(fills):
            for pace in paces.values():
                pace.suspect()
        self._put_down(prototypes)
        self._settle(fills, outcomes)

    def _take_turn(self, prototype: Prototype) -> None:
        ends_at = time.perf_counter() + _TURN_SECONDS
        goes_on = True
        while goes_on:
            with self._lock:
                line = self._lines.get(prototype)
                if not line:  # closed
                    return
                fill = line.popleft()
            outcome = self._fill_alone(fill)
            with self._lock:
                goes_on = bool(line) and not prototype.pace.joins and time.perf_counter() < ends_at
            # A line is put down before the future is done: who is woken by it finds the prototype quiet, or busy anew.
            if not goes_on:
                self._put_down([prototype])
            self._settle([fill], [outcome])

    def _fill_alone(self, fill: MaskFill) -> int | BaseException:
        prototype, started = fill.matcher.prototype, time.thread_time()
        is_first = prototype.num_masks == 0
        try:
            if fill.drafts:
                (num_rows,) = fill_rows([fill], self._rows, self._parallel)
            else:
                fill.matcher.fill_bitmask(self._rows.row(fill.rows[0]))
                num_rows = int(fill.matcher.has_next_token)
        except BaseException as error:  # whoever waits for the rows gets it
            return error
        if not is_first:
            prototype.pace.timed((time.thread_time() - started) / max(1, num_rows))
        return num_rows

    def _put_down(self, prototypes: Sequence[Prototype]) -> None:
        """These were in this thread's hands: they are quiet now, or taken up again for what has come meanwhile."""
        with self._lock:
            for prototype in prototypes:
                if prototype in self._lines and not self._lines[prototype]:
                    del self._lines[prototype]
            self._hand_out([prototype for prototype in prototypes if prototype in self._lines])

    def _settle(self, fills: Sequence[MaskFill], outcomes: Sequence[int | BaseException]) -> None:
        now = time.perf_counter()
        shared: dict[tuple[float, int], Filled] = {}
        for fill, outcome in zip(fills, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                fill.done.fail(outcome)
                continue
            key = (fill.started_at, outcome)
            filled = shared.get(key)
            if filled is None:
                filled = shared[key] = Filled(seconds=now - fill.started_at, num_rows=outcome)
            fill.done.deliver(filled)
        announce()
        self._wake()


def _nobody() -> None:
    """Nobody waits to be woken."""
