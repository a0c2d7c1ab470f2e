"""Comparisons as the gateway asks for them: killable, bounded, and never in the gateway's own process."""

import asyncio
from dataclasses import asdict
from typing import Self

from compiler_pool.job import MAX_MESSAGE_BYTES
from compiler_pool.process import JobCrashed, JobFinished, JobTimedOut, QueueFull, WorkerPool
from gateway.compatibility.job import pack_job, unpack_comparison
from policy.limits import ProcessBudget
from registry.compatibility.comparison import DEFAULT_BUDGET, Comparison, ContractText
from registry.compatibility.verdicts import ComparisonBudget, Unknown, UnknownReason

_MIB = 1024 * 1024

ADDRESS_SPACE_BYTES = 1024 * _MIB
"""For one comparison, above the idle process."""

STACK_BYTES = 256 * _MIB
"""`gateway.compatibility.worker.MAX_FRAMES` of the interpreter fit into it."""

WALL_PER_CPU_SECOND = 4.0
"""The limit is on CPU time, so that a busy machine changes no answer; the wall clock stands behind it."""

QUEUE_SECONDS = 10.0
"""Patience for a free process, before the comparison's own time begins."""

DEFAULT_SECONDS = 20.0
"""CPU time of one comparison. Its own budget ends sooner, for all but contracts that are large and much changed."""


class ComparisonService:
    """Compares contracts in processes of their own. A killed one is replaced; others notice nothing."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    @classmethod
    async def start(
        cls, *, num_workers: int = 1, max_queued: int = 64, budget: ComparisonBudget = DEFAULT_BUDGET
    ) -> Self:
        """Start the comparing processes; ready when they are."""
        pool = await WorkerPool.start(
            "gateway.compatibility.worker:build",
            asdict(budget),
            num_workers=num_workers,
            max_queued=max_queued,
            budget=_process_budget(seconds=DEFAULT_SECONDS),
        )
        return cls(pool)

    @property
    def num_ready(self) -> int:
        """Processes that are alive, idle or busy."""
        return self._pool.num_ready

    async def compare(
        self, old: tuple[str, str], new: tuple[str, str], *, seconds: float = DEFAULT_SECONDS, partition: str = ""
    ) -> Comparison:
        """Compare two contracts, each a kind and a canonical text, within `seconds` of CPU time.

        Partitions wait in turn, so that one tenant's burst delays its own comparisons first.

        Whatever happens to the process, the answer is a comparison: at worst two times `Unknown`.
        """
        payload = pack_job(ContractText(kind=old[0], text=old[1]), ContractText(kind=new[0], text=new[1]))
        if len(payload) > MAX_MESSAGE_BYTES - _MIB:
            return _unknown(UnknownReason.BUDGET, "the contracts are too long to be compared")
        budget = _process_budget(seconds=seconds)
        outcome = await self._pool.run(
            payload, budget=budget, deadline_seconds=QUEUE_SECONDS + budget.wall_seconds, partition=partition
        )
        match outcome:
            case JobFinished():
                return unpack_comparison(outcome.payload)
            case JobTimedOut():
                return _unknown(UnknownReason.TIME, f"not compared within {seconds:g} s")
            case JobCrashed():
                return _unknown(UnknownReason.CRASHED, f"the comparing process died ({outcome.reason})")
            case QueueFull():
                return _unknown(UnknownReason.BUSY, "no comparing process came free in time")

    async def close(self) -> None:
        """Stop the comparing processes."""
        await self._pool.close()


def compare_once(
    old: tuple[str, str],
    new: tuple[str, str],
    *,
    seconds: float = DEFAULT_SECONDS,
    budget: ComparisonBudget = DEFAULT_BUDGET,
) -> Comparison:
    """Compare two contracts in a process that is started for it: for a command line, where no event loop runs.

    Raises:
        WorkerStartError: the process could not be started.
    """

    async def once() -> Comparison:
        service = await ComparisonService.start(budget=budget)
        try:
            return await service.compare(old, new, seconds=seconds)
        finally:
            await service.close()

    return asyncio.run(once())


def _unknown(reason: UnknownReason, message: str) -> Comparison:
    unknown = Unknown(reason=reason, message=message)
    return Comparison(consumer_safe=unknown, producer_safe=unknown, changes=())


def _process_budget(*, seconds: float) -> ProcessBudget:
    return ProcessBudget(
        cpu_seconds=seconds,
        wall_seconds=seconds * WALL_PER_CPU_SECOND,
        address_space_bytes=ADDRESS_SPACE_BYTES,
        stack_bytes=STACK_BYTES,
    )
