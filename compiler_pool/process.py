"""A pool of killable workers: what may loop, blow up or die of its input runs here, never in a service itself."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Self

from compiler_pool.drain import DrainRate
from compiler_pool.errors import WorkerStartError
from compiler_pool.fair_queue import FairQueue
from compiler_pool.job import JobCrashed, JobFinished, JobOutcome, JobTimedOut, JsonLike, Partition, QueueFull
from compiler_pool.standing import Standing, Urgency
from compiler_pool.worker import START_SECONDS, WorkerProcess
from policy.limits import ProcessBudget

__all__ = ["JobCrashed", "JobFinished", "JobOutcome", "JobTimedOut", "QueueFull", "WorkerPool", "WorkerProcess"]

_log = logging.getLogger(__name__)

_RESTART_SECONDS = (0.1, 0.5, 2.0, 5.0)
"""Pauses between attempts to replace a worker that will not start; the last one repeats."""
_MIN_WALL_SECONDS = 0.001
"""Of a deadline that passed while its worker was handed over."""
_HOPELESS = 2.0
"""A wait that is expected to last so many times as long as the caller has is not begun. An estimate, hence not one."""


class WorkerPool:
    """N workers behind one bounded, fair line. A worker that dies is replaced in the background.

    `num_reserved` workers are out of any one partition's reach: with one, whatever a tenant sends, another tenant's
    job finds a worker that this tenant does not hold. A worker that a job has killed counts as held by the job's
    partition until its replacement is ready. `refuses_hopeless`: a job that would wait far longer than it can is not
    let into the line. Where jobs are shorter than the pauses of the service itself, that says nothing: let it be false.
    """

    def __init__(
        self,
        entry: str,
        config: Mapping[str, JsonLike],
        *,
        num_workers: int,
        max_queued: int,
        budget: ProcessBudget,
        num_reserved: int = 0,
        refuses_hopeless: bool = True,
        start_seconds: float = START_SECONDS,
        on_death: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._entry, self._config, self._budget = entry, dict(config), budget
        self._num_workers, self._start_seconds, self._on_death = num_workers, start_seconds, on_death
        self._max_held, self._refuses_hopeless = max(1, num_workers - num_reserved), refuses_hopeless
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._line: FairQueue[WorkerProcess | None] = FairQueue(max_queued=max_queued, turned_away=None)
        self._drain = DrainRate()
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
        num_reserved: int = 0,
        refuses_hopeless: bool = True,
        start_seconds: float = START_SECONDS,
        on_death: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Start all workers and wait for them; `on_death` hears the reason of each later loss.

        Raises WorkerStartError, leaving nothing behind.
        """
        pool = cls(
            entry, config, num_workers=num_workers, max_queued=max_queued, budget=budget, num_reserved=num_reserved,
            refuses_hopeless=refuses_hopeless, start_seconds=start_seconds, on_death=on_death,
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

    def num_waiting(self, urgency: Urgency) -> int:
        """Jobs of one class that wait for a worker."""
        return self._line.num_waiting(urgency)

    def retry_seconds(self, standing: Standing) -> float:
        """When a job of this standing, sent again, would about find a worker, at the pace at which the line moves."""
        return self._drain.retry_seconds(self._line.num_before(standing) + 1, at=time.monotonic())

    async def run(
        self,
        payload: bytes,
        *,
        budget: ProcessBudget,
        deadline_seconds: float,
        partition: str = "",
        standing: Standing | None = None,
    ) -> JobOutcome | QueueFull:
        """Wait for a worker and run the job on it; partitions wait in turn. `standing` says more than `partition`.

        The wait ends while there is still time for all of `budget.wall_seconds`, so that a full line never ends as a
        verdict on a job. A caller who has less than that from the start waits for half of it; a job that the deadline
        then cuts is `QueueFull` too.
        """
        started = time.monotonic()
        mine = standing or Standing(partition=Partition(partition), urgency=Urgency.TENANT)
        is_patient = deadline_seconds > budget.wall_seconds
        reserved = budget.wall_seconds if is_patient else deadline_seconds / 2
        worker = await self._take(started + deadline_seconds - reserved, mine)
        if worker is None:
            return self._queue_full(mine)
        began = time.monotonic()
        left = started + deadline_seconds - began
        self._busy.add(worker)
        cause = "cancelled"
        try:
            if not is_patient:
                budget = replace(budget, wall_seconds=max(left, _MIN_WALL_SECONDS))
            outcome = await worker.run(payload, budget=budget)
            match outcome:
                case JobFinished():
                    cause = "exited while idle"
                case JobTimedOut(limit_name="wall_seconds") if not is_patient:
                    cause = "deadline"
                    return replace(self._queue_full(mine), spent_seconds=outcome.limit_seconds)
                case JobTimedOut():
                    cause = outcome.limit_name
                case JobCrashed():
                    cause = outcome.reason
            return outcome
        finally:
            self._busy.discard(worker)
            self._give_back(worker, mine, began, cause)

    async def close(self) -> None:
        """Kill every worker; jobs in flight end as crashed, waiters as `QueueFull`."""
        self._is_closed = True
        self._line.dismiss()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in (*self._idle, *self._busy)))
        self._idle.clear()

    async def _take(self, deadline: float, standing: Standing) -> WorkerProcess | None:
        """A worker, or None where there is none in time."""
        # An idle worker and a job that may have it never wait for each other, so a newcomer overtakes nobody.
        while self._idle and not self._is_closed and self._line.num_held(standing.partition) < self._max_held:
            worker = self._idle.pop()
            if worker.is_alive:
                self._line.take(standing)
                return worker
            self._lose(worker, "exited while idle")
        if self._is_closed or self._is_hopeless(deadline, standing):
            return None
        place = self._line.join(standing)
        if place is None:
            return None
        self._drain.waiting(time.monotonic())
        began = time.monotonic()
        try:
            async with asyncio.timeout(max(deadline - began, 0.0)):
                return await place
        except (TimeoutError, asyncio.CancelledError) as error:
            if place.done() and not place.cancelled() and (late := place.result()) is not None:
                self._give_back(late, standing, time.monotonic(), "exited while idle")
            if isinstance(error, TimeoutError):
                return None
            raise
        finally:
            self._line.leave(standing, place)
            if not self._line:
                self._drain.emptied()

    def _is_hopeless(self, deadline: float, standing: Standing) -> bool:
        if not self._refuses_hopeless:
            return False
        now = time.monotonic()
        expected = self._drain.seconds_for(self._line.num_before(standing) + 1, at=now)
        return len(self._line) > 0 and expected is not None and expected > _HOPELESS * (deadline - now)

    def _queue_full(self, standing: Standing) -> QueueFull:
        return QueueFull(num_queued=len(self._line), retry_after_seconds=self.retry_seconds(standing))

    def _give_back(self, worker: WorkerProcess, standing: Standing, began: float, cause: str) -> None:
        """A job has ended. A worker that it took with it stays on its partition's account until it is replaced."""
        if worker.is_alive and not self._is_closed:
            self._line.done(standing, time.monotonic() - began)
            self._free(worker)
        else:
            self._lose(worker, cause, after=lambda: self._line.done(standing, time.monotonic() - began))

    def _free(self, worker: WorkerProcess) -> None:
        self._idle.append(worker)
        # Also when it is not the newest that somebody has waited for: a partition may have had as many as it can.
        while self._idle and self._line:
            if not self._idle[-1].is_alive:
                self._lose(self._idle.pop(), "exited while idle")
            elif self._line.offer(self._idle[-1], max_held=self._max_held):
                self._idle.pop()
                self._drain.served(time.monotonic(), num_left=len(self._line))
            else:
                return

    def _lose(self, worker: WorkerProcess, cause: str, *, after: Callable[[], None] = lambda: None) -> None:
        self.deaths[cause] += 1
        self._on_death(cause)
        if not self._is_closed:
            _log.warning("worker %d lost (%s): %s", worker.pid, cause, worker.stderr_tail[-300:])
            self._own(self._replace(after))

    async def _new_worker(self) -> WorkerProcess:
        return await WorkerProcess.start(
            self._entry, self._config, budget=self._budget, start_seconds=self._start_seconds
        )

    async def _replace(self, after: Callable[[], None]) -> None:
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
                after()
                self._free(worker)
                return

    async def _watch(self, worker: WorkerProcess) -> None:
        """Replace a worker that dies while it has nothing to do; one with a job is replaced when the job ends."""
        await worker.ended()
        if worker in self._idle:
            self._idle.remove(worker)
            self._lose(worker, "exited while idle")

    def _own(self, work: Coroutine[None, None, None]) -> None:
        """Run something in the background until it ends or the pool closes."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
