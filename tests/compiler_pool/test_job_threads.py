"""Jobs that follow each other in one thread: the limits of each are its own, and hold as in a fresh one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from compiler_pool.job import KEEPS_THREAD, JobCrashed, JobFinished, JobOutcome, JobTimedOut
from compiler_pool.worker import WorkerProcess
from policy.limits import ProcessBudget

ENTRY = "tests.compiler_pool.hostile_jobs:factory"
BUDGET = ProcessBudget(cpu_seconds=5.0, wall_seconds=20.0, address_space_bytes=256 << 20, stack_bytes=16 << 20)


@asynccontextmanager
async def worker(*, keeps_thread: bool = True) -> AsyncIterator[WorkerProcess]:
    running = await WorkerProcess.start(ENTRY, {KEEPS_THREAD: keeps_thread}, budget=BUDGET)
    try:
        yield running
    finally:
        await running.close()


async def said(running: WorkerProcess, payload: bytes, budget: ProcessBudget = BUDGET) -> bytes:
    outcome = await running.run(payload, budget=budget)
    assert isinstance(outcome, JobFinished)
    return outcome.payload


async def test_quick_jobs_share_a_thread_where_the_configuration_says_so() -> None:
    async with worker() as keeping, worker(keeps_thread=False) as fresh:
        assert len({await said(keeping, b"thread") for _ in range(5)}) == 1
        assert len({await said(fresh, b"thread") for _ in range(5)}) == 5


async def test_another_stack_is_another_thread() -> None:
    async with worker() as keeping:
        first = await said(keeping, b"thread")
        assert await said(keeping, b"thread", replace(BUDGET, stack_bytes=32 << 20)) != first


async def test_after_a_long_job_the_next_one_is_as_quick_as_the_first() -> None:
    async with worker() as keeping:
        quick = await said(keeping, b"niceness:0.0")
        long = await said(keeping, b"niceness:0.3")
        assert long != quick
        assert await said(keeping, b"niceness:0.0") == quick


@pytest.mark.parametrize(
    ("job", "budget", "outcome"),
    [
        (b"spin", replace(BUDGET, cpu_seconds=0.2), JobTimedOut(limit_name="cpu_seconds", limit_seconds=0.2)),
        (b"sleep:60", replace(BUDGET, wall_seconds=0.2), JobTimedOut(limit_name="wall_seconds", limit_seconds=0.2)),
        (b"hog", BUDGET, JobCrashed(reason="memory")),
        (b"native hog", BUDGET, JobCrashed(reason="memory")),
        (b"overflow", BUDGET, JobCrashed(reason="signal SIGSEGV")),
        (b"raise:ValueError", BUDGET, JobCrashed(reason="ValueError")),
        (b"raise:SystemExit", BUDGET, JobCrashed(reason="SystemExit")),
        (b"exit:3", BUDGET, JobCrashed(reason="exit 3")),
        (b"huge", BUDGET, JobCrashed(reason="MessageTooLargeError")),
    ],
)
async def test_a_job_in_a_kept_thread_ends_as_one_in_a_fresh_one(
    job: bytes, budget: ProcessBudget, outcome: JobOutcome
) -> None:
    async with worker() as keeping:
        assert await said(keeping, b"echo:x") == b"x"
        assert await keeping.run(job, budget=budget) == outcome
        assert not keeping.is_alive
