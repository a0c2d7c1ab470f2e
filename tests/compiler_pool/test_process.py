"""A pool of workers: replacement, the bounded line, deadlines, cancellation, closing."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import psutil
import pytest

from compiler_pool.errors import WorkerStartError
from compiler_pool.job import JobCrashed, JobFinished, JobTimedOut, QueueFull
from compiler_pool.process import WorkerPool
from policy.limits import ProcessBudget

ENTRY = "tests.compiler_pool.hostile_jobs:factory"
BUDGET = ProcessBudget(cpu_seconds=5.0, wall_seconds=20.0, address_space_bytes=256 << 20, stack_bytes=16 << 20)


async def _pool(
    num_workers: int,
    max_queued: int = 8,
    on_death: Callable[[str], None] = lambda _: None,
    num_reserved: int = 0,
) -> WorkerPool:
    return await WorkerPool.start(
        ENTRY, {}, num_workers=num_workers, max_queued=max_queued, budget=BUDGET, on_death=on_death,
        num_reserved=num_reserved,
    )  # fmt: skip


async def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def test_a_lost_worker_costs_one_job_and_is_replaced() -> None:
    heard: list[str] = []
    pool = await _pool(1, on_death=heard.append)
    try:
        assert await pool.run(b"kill:11", budget=BUDGET, deadline_seconds=20) == JobCrashed(reason="signal SIGSEGV")
        outcome = await pool.run(b"echo:still here", budget=BUDGET, deadline_seconds=20)
        assert isinstance(outcome, JobFinished)
        assert outcome.payload == b"still here"
        assert pool.num_ready == 1
        assert heard == ["signal SIGSEGV"]
        assert pool.deaths == {"signal SIGSEGV": 1}
    finally:
        await pool.close()


async def test_a_worker_that_dies_idle_is_replaced_before_it_is_wanted() -> None:
    pool = await _pool(1)
    try:
        outcome = await pool.run(b"pid", budget=BUDGET, deadline_seconds=20)
        assert isinstance(outcome, JobFinished)
        psutil.Process(int(outcome.payload)).kill()
        await _until(lambda: pool.deaths == {"exited while idle": 1} and pool.num_ready == 1)
        outcome = await pool.run(b"echo:x", budget=BUDGET, deadline_seconds=20)
        assert isinstance(outcome, JobFinished)
    finally:
        await pool.close()


async def test_jobs_beside_a_hostile_one_finish_as_usual() -> None:
    pool = await _pool(2)
    try:
        hostile = asyncio.ensure_future(pool.run(b"spin", budget=BUDGET, deadline_seconds=20))
        others = [await pool.run(b"echo:%d" % at, budget=BUDGET, deadline_seconds=20) for at in range(20)]
        assert [job.payload for job in others if isinstance(job, JobFinished)] == [b"%d" % at for at in range(20)]
        hostile.cancel()
        await asyncio.gather(hostile, return_exceptions=True)
        await _until(lambda: pool.num_ready == 2)
        assert pool.deaths == {"cancelled": 1}
    finally:
        await pool.close()


async def test_the_line_is_bounded_and_a_deadline_ends_the_wait() -> None:
    pool = await _pool(1, max_queued=1)
    try:
        running = asyncio.ensure_future(pool.run(b"sleep:60", budget=BUDGET, deadline_seconds=60))
        await asyncio.sleep(0)
        waiting = asyncio.ensure_future(pool.run(b"echo:x", budget=BUDGET, deadline_seconds=0.2))
        await _until(lambda: pool.num_queued == 1)
        assert isinstance(await pool.run(b"echo:y", budget=BUDGET, deadline_seconds=60), QueueFull)
        assert isinstance(await waiting, QueueFull)
        assert pool.num_queued == 0
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    finally:
        await pool.close()


async def test_a_waiter_that_leaves_gives_its_turn_away() -> None:
    pool = await _pool(1)
    try:
        running = asyncio.ensure_future(pool.run(b"sleep:0.3", budget=BUDGET, deadline_seconds=60))
        await asyncio.sleep(0)
        leaving = asyncio.ensure_future(pool.run(b"echo:leaving", budget=BUDGET, deadline_seconds=60))
        staying = asyncio.ensure_future(pool.run(b"echo:staying", budget=BUDGET, deadline_seconds=60))
        await _until(lambda: pool.num_queued == 2)
        leaving.cancel()
        outcome = await staying
        assert isinstance(outcome, JobFinished)
        assert outcome.payload == b"staying"
        assert isinstance(await running, JobFinished)
        assert pool.num_ready == 1
    finally:
        await pool.close()


async def test_closing_leaves_no_process_and_no_waiter_behind() -> None:
    others = {child.pid for child in psutil.Process().children()}
    pool = await _pool(2)
    pids = {child.pid for child in psutil.Process().children()} - others
    assert len(pids) == 2
    jobs = [asyncio.ensure_future(pool.run(b"sleep:60", budget=BUDGET, deadline_seconds=60)) for _ in range(4)]
    await _until(lambda: pool.num_queued == 2)
    await pool.close()
    outcomes = await asyncio.gather(*jobs)
    assert sum(isinstance(outcome, QueueFull) for outcome in outcomes) == 2
    assert sum(isinstance(outcome, JobCrashed) for outcome in outcomes) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert isinstance(await pool.run(b"echo:x", budget=BUDGET, deadline_seconds=1), QueueFull)


async def test_a_pool_that_cannot_start_leaves_nothing_behind() -> None:
    before = {child.pid for child in psutil.Process().children()}
    with pytest.raises(WorkerStartError):
        await WorkerPool.start(ENTRY, {"fail": "raise"}, num_workers=2, max_queued=1, budget=BUDGET)
    assert {child.pid for child in psutil.Process().children()} == before


async def test_a_job_that_waited_too_long_for_its_own_budget_is_not_started_and_costs_no_worker() -> None:
    budget = replace(BUDGET, wall_seconds=19.0)
    pool = await _pool(1)
    try:
        running = asyncio.ensure_future(pool.run(b"sleep:0.5", budget=BUDGET, deadline_seconds=60))
        await asyncio.sleep(0)
        outcome = await pool.run(b"echo:late", budget=budget, deadline_seconds=19.2)
        assert isinstance(outcome, QueueFull)
        assert outcome.spent_seconds == 0
        assert isinstance(await running, JobFinished)
        assert pool.deaths == {}
        assert pool.num_ready == 1
    finally:
        await pool.close()


async def test_a_job_that_waited_has_all_of_its_budget_still() -> None:
    pool = await _pool(1)
    budget = replace(BUDGET, wall_seconds=0.4)
    try:
        running = asyncio.ensure_future(pool.run(b"sleep:0.3", budget=BUDGET, deadline_seconds=60))
        await asyncio.sleep(0)
        outcome = await pool.run(b"sleep:60", budget=budget, deadline_seconds=20)
        assert outcome == JobTimedOut(limit_name="wall_seconds", limit_seconds=0.4)
        assert isinstance(await running, JobFinished)
    finally:
        await pool.close()


async def test_a_deadline_under_the_budget_is_served_and_its_cut_is_no_verdict_on_the_job() -> None:
    pool = await _pool(1)
    try:
        assert isinstance(await pool.run(b"echo:x", budget=BUDGET, deadline_seconds=10), JobFinished)
        cut = await pool.run(b"sleep:60", budget=BUDGET, deadline_seconds=0.2)
        assert isinstance(cut, QueueFull)
        assert 0 < cut.spent_seconds <= 0.2
        assert pool.deaths == {"deadline": 1}
    finally:
        await pool.close()


async def test_a_deadline_under_the_budget_waits_for_half_of_it_and_keeps_the_worker() -> None:
    pool = await _pool(1)
    try:
        running = asyncio.ensure_future(pool.run(b"sleep:0.9", budget=BUDGET, deadline_seconds=60))
        await asyncio.sleep(0)
        outcome = await pool.run(b"sleep:0.15", budget=BUDGET, deadline_seconds=1.0)
        assert isinstance(outcome, QueueFull)
        assert isinstance(await running, JobFinished)
        assert pool.deaths == {}
    finally:
        await pool.close()


async def test_a_partition_never_holds_the_reserved_worker_not_even_while_those_it_killed_are_replaced() -> None:
    pool = await _pool(2, num_reserved=1)
    try:
        spinning = [
            asyncio.ensure_future(pool.run(b"spin", budget=BUDGET, deadline_seconds=60, partition="hostile"))
            for _ in range(2)
        ]
        await _until(lambda: pool.num_queued == 1)  # the second one waits, although a worker is idle
        assert isinstance(await pool.run(b"echo:x", budget=BUDGET, deadline_seconds=30, partition="other"), JobFinished)
        spinning[0].cancel()
        await asyncio.gather(spinning[0], return_exceptions=True)
        assert pool.deaths == {"cancelled": 1}
        assert pool.num_queued == 1  # its dead worker is still its own
        assert isinstance(await pool.run(b"echo:x", budget=BUDGET, deadline_seconds=30, partition="other"), JobFinished)
        await _until(lambda: pool.num_queued == 0)
        assert pool.num_ready == 2
        spinning[1].cancel()
        await asyncio.gather(spinning[1], return_exceptions=True)
    finally:
        await pool.close()


async def test_a_single_worker_serves_everybody_whatever_is_reserved() -> None:
    pool = await _pool(1, num_reserved=1)
    try:
        for partition in "ab":
            outcome = await pool.run(b"echo:x", budget=BUDGET, deadline_seconds=20, partition=partition)
            assert isinstance(outcome, JobFinished)
    finally:
        await pool.close()


async def test_the_time_to_come_back_is_the_pace_of_the_line() -> None:
    pool = await _pool(1, max_queued=20)
    try:
        jobs = [asyncio.ensure_future(pool.run(b"sleep:0.1", budget=BUDGET, deadline_seconds=60)) for _ in range(21)]
        await _until(lambda: pool.num_queued == 12)
        full = [asyncio.ensure_future(pool.run(b"sleep:0.1", budget=BUDGET, deadline_seconds=60)) for _ in range(9)]
        outcomes = await asyncio.gather(*jobs, *full)
        busy = [outcome for outcome in outcomes if isinstance(outcome, QueueFull)]
        assert len(busy) == 1
        assert 1.0 < busy[0].retry_after_seconds < 20.0  # twenty jobs before it, a tenth of a second each at least
    finally:
        await pool.close()


async def test_a_wait_that_cannot_end_in_time_is_not_begun() -> None:
    pool = await _pool(1, max_queued=50)
    budget = replace(BUDGET, wall_seconds=0.5)
    try:
        jobs = [asyncio.ensure_future(pool.run(b"sleep:0.1", budget=BUDGET, deadline_seconds=60)) for _ in range(30)]
        await _until(lambda: pool.num_queued == 20)
        hopeless = asyncio.ensure_future(pool.run(b"echo:x", budget=budget, deadline_seconds=1.0))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert hopeless.done()  # at once, and not after the half second for which it could have waited
        assert isinstance(hopeless.result(), QueueFull)
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
    finally:
        await pool.close()
