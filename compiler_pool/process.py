"""A pool of killable workers: what may loop, blow up or die of its input runs here, never in a service itself."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Self

from compiler_pool.errors import WorkerStartError
from compiler_pool.fair_queue import FairQueue
from compiler_pool.job import JobCrashed, JobFinished, JobOutcome, JobTimedOut, JsonLike, Partition, QueueFull
from compiler_pool.worker import START_SECONDS, WorkerProcess
from policy.limits import ProcessBudget

__all__ = ["JobCrashed", "JobFinished", "JobOutcome", "JobTimedOut", "QueueFull", "WorkerPool", "WorkerProcess"]

_log = logging.getLogger(__name__)

_RESTART_SECONDS = (0.1, 0.5, 2.0, 5.0)
"""Pauses between attempts to replace a worker that will not start; the last one repeats."""
_MIN_WALL_SECONDS = 0.001
"""Of a deadline that passed while its worker was handed over."""


class WorkerPool:
    """N workers behind one bounded, fair line. A worker that dies is replaced in the background."""

    def __init__(
        self,
        entry: str,
        config: Mapping[str, JsonLike],
        *,
        num_workers: int,
        max_queued: int,
        budget: ProcessBudget,
        start_seconds: float = START_SECONDS,
        on_death: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._entry, self._config, self._budget = entry, dict(config), budget
        self._num_workers, self._start_seconds, self._on_death = num_workers, start_seconds, on_death
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._line: FairQueue[WorkerProcess | None] = FairQueue(max_queued=max_queued)
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self.deaths: Counter[str] = Counter()
        """Workers lost since the start, by reason."""

    @classmethod
    async def start(
        cls,
        entry: str,
        config: Mapping[str, JsonLike],
        *,
        num_workers: int,
        max_queued: int,
        budget: ProcessBudget,
        start_seconds: float = START_SECONDS,
        on_death: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Start all workers and wait for them; `on_death` hears the reason of each later loss.

        Raises WorkerStartError, leaving nothing behind.
        """
        pool = cls(
            entry, config, num_workers=num_workers, max_queued=max_queued, budget=budget,
            start_seconds=start_seconds, on_death=on_death,
        )  # fmt: skip
        starts = [pool._new_worker() for _ in range(num_workers)]
        results = await asyncio.gather(*starts, return_exceptions=True)
        for result in results:
            if isinstance(result, WorkerProcess):
                pool._idle.append(result)
                pool._own(pool._watch(result))
        for result in results:
            if isinstance(result, BaseException):
                await pool.close()
                raise result
        return pool

    @property
    def num_ready(self) -> int:
        """Workers that are alive, idle or busy."""
        return len(self._busy) + sum(worker.is_alive for worker in self._idle)

    @property
    def num_workers(self) -> int:
        """Workers there should be."""
        return self._num_workers

    @property
    def num_queued(self) -> int:
        """Jobs waiting for a worker."""
        return len(self._line)

    async def run(
        self, payload: bytes, *, budget: ProcessBudget, deadline_seconds: float, partition: str = ""
    ) -> JobOutcome | QueueFull:
        """Wait for a worker and run the job on it; partitions wait in turn.

        The wait ends while there is still time for all of `budget.wall_seconds`, so that a full line never ends as a
        verdict on a job. A caller who has less than that from the start waits for half of it; a job that the deadline
        then cuts is `QueueFull` too.
        """
        started = time.monotonic()
        is_patient = deadline_seconds > budget.wall_seconds
        reserved = budget.wall_seconds if is_patient else deadline_seconds / 2
        worker = await self._take(started + deadline_seconds - reserved, Partition(partition))
        if isinstance(worker, QueueFull):
            return worker
        left = budget.wall_seconds if is_patient else started + deadline_seconds - time.monotonic()
        self._busy.add(worker)
        cause = "cancelled"
        try:
            outcome = await worker.run(payload, budget=replace(budget, wall_seconds=max(left, _MIN_WALL_SECONDS)))
            match outcome:
                case JobFinished():
                    cause = "exited while idle"
                case JobTimedOut(limit_name="wall_seconds") if not is_patient:
                    cause = "deadline"
                    return replace(self._queue_full(), spent_seconds=outcome.limit_seconds)
                case JobTimedOut():
                    cause = outcome.limit_name
                case JobCrashed():
                    cause = outcome.reason
            return outcome
        finally:
            self._busy.discard(worker)
            self._give_back(worker, cause)

    async def close(self) -> None:
        """Kill every worker; jobs in flight end as crashed, waiters as `QueueFull`."""
        self._is_closed = True
        while self._line.offer(None):
            pass
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in (*self._idle, *self._busy)))
        self._idle.clear()

    async def _take(self, deadline: float, partition: Partition) -> WorkerProcess | QueueFull:
        # An idle worker and a waiting job never exist together, so a newcomer overtakes nobody.
        while self._idle and not self._is_closed:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            self._give_back(worker, "exited while idle")
        if self._line.is_full or self._is_closed:
            return self._queue_full()
        place = self._line.join(partition)
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                return await place or self._queue_full()
        except (TimeoutError, asyncio.CancelledError) as error:
            if place.done() and not place.cancelled() and (late := place.result()) is not None:
                self._give_back(late, "exited while idle")
            if isinstance(error, TimeoutError):
                return self._queue_full()
            raise
        finally:
            self._line.leave(partition, place)

    def _queue_full(self) -> QueueFull:
        return QueueFull(num_queued=len(self._line), retry_after_seconds=1.0)

    def _give_back(self, worker: WorkerProcess, cause: str) -> None:
        if worker.is_alive and not self._is_closed:
            if not self._line.offer(worker):
                self._idle.append(worker)
            return
        self.deaths[cause] += 1
        self._on_death(cause)
        if not self._is_closed:
            _log.warning("worker %d lost (%s): %s", worker.pid, cause, worker.stderr_tail[-300:])
            self._own(self._replace())

    async def _new_worker(self) -> WorkerProcess:
        return await WorkerProcess.start(
            self._entry, self._config, budget=self._budget, start_seconds=self._start_seconds
        )

    async def _replace(self) -> None:
        attempt = 0
        while True:
            try:
                worker = await self._new_worker()
            except (WorkerStartError, OSError) as error:
                _log.error("a worker could not be replaced: %s", error)
                await asyncio.sleep(_RESTART_SECONDS[min(attempt, len(_RESTART_SECONDS) - 1)])
                attempt += 1
            else:
                self._own(self._watch(worker))
                if not self._line.offer(worker):
                    self._idle.append(worker)
                return

    async def _watch(self, worker: WorkerProcess) -> None:
        """Replace a worker that dies while it has nothing to do; one with a job is replaced when the job ends."""
        await worker.ended()
        if worker in self._idle:
            self._idle.remove(worker)
            self._give_back(worker, "exited while idle")

    def _own(self, work: Coroutine[None, None, None]) -> None:
        """Run something in the background until it ends or the pool closes."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
