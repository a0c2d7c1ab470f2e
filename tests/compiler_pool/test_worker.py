"""One killable worker against jobs that misbehave the way native code can."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from compiler_pool.errors import WorkerStartError
from compiler_pool.job import JobCrashed, JobFinished, JobOutcome, JobTimedOut, JsonLike
from compiler_pool.worker import WorkerProcess
from policy.limits import ProcessBudget

ENTRY = "tests.compiler_pool.hostile_jobs:factory"
BUDGET = ProcessBudget(cpu_seconds=5.0, wall_seconds=20.0, address_space_bytes=256 << 20, stack_bytes=16 << 20)


async def _run(payload: bytes, budget: ProcessBudget = BUDGET) -> JobOutcome:
    worker = await WorkerProcess.start(ENTRY, {}, budget=budget)
    try:
        outcome = await worker.run(payload)
        assert worker.is_alive == isinstance(outcome, JobFinished)
        return outcome
    finally:
        await worker.close()
        assert not psutil.pid_exists(worker.pid)


async def test_a_job_is_answered_and_its_cost_is_told() -> None:
    outcome = await _run(b"echo:\x00\xff payload")
    assert isinstance(outcome, JobFinished)
    assert outcome.payload == b"\x00\xff payload"
    assert 0 <= outcome.cpu_seconds < BUDGET.cpu_seconds
    assert outcome.wall_seconds > 0


@pytest.mark.parametrize(("seconds", "job_niceness"), [(b"0.0", 0), (b"0.3", 5)])
async def test_only_a_job_that_is_not_soon_done_yields_the_processor_to_others(
    seconds: bytes, job_niceness: int
) -> None:
    worker = await WorkerProcess.start(ENTRY, {}, budget=BUDGET)
    try:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        for _ in range(2):
            outcome = await worker.run(b"niceness:" + seconds)
            assert isinstance(outcome, JobFinished)
            # The next job starts as quick as the first: only the thread that was long has become slow.
            assert outcome.payload == b"%d %d" % (own + job_niceness, own)
    finally:
        await worker.close()


async def test_a_loop_in_native_code_that_holds_the_interpreter_is_killed_on_cpu_time() -> None:
    outcome = await _run(b"spin", replace(BUDGET, cpu_seconds=0.2))
    assert outcome == JobTimedOut(limit_name="cpu_seconds", limit_seconds=0.2)


async def test_a_job_that_only_waits_is_killed_on_wall_time() -> None:
    outcome = await _run(b"sleep:60", replace(BUDGET, wall_seconds=0.2))
    assert outcome == JobTimedOut(limit_name="wall_seconds", limit_seconds=0.2)


@pytest.mark.parametrize("job", [b"hog", b"native hog"])
async def test_a_memory_hog_runs_into_the_address_space_limit(job: bytes) -> None:
    assert await _run(job) == JobCrashed(reason="memory")


async def test_a_stack_overflow_in_native_code_kills_the_worker_only() -> None:
    assert await _run(b"overflow") == JobCrashed(reason="signal SIGSEGV")


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (b"raise:ValueError", "ValueError"),
        (b"raise:SystemExit", "SystemExit"),
        (b"raise:KeyboardInterrupt", "KeyboardInterrupt"),
        (b"exit:0", "exit 0"),
        (b"exit:3", "exit 3"),
        (b"kill:6", "signal SIGABRT"),
        (b"huge", "MessageTooLargeError"),
    ],
)
async def test_every_other_way_to_fail_is_a_crash_with_its_reason(job: bytes, reason: str) -> None:
    assert await _run(job) == JobCrashed(reason=reason)


async def test_stray_prints_and_reads_do_not_touch_the_protocol() -> None:
    worker = await WorkerProcess.start(ENTRY, {}, budget=BUDGET)
    try:
        for _ in range(3):
            outcome = await worker.run(b"print")
            assert isinstance(outcome, JobFinished)
            assert outcome.payload == b"printed"
    finally:
        await worker.close()


async def test_limits_are_per_job_and_one_worker_serves_many() -> None:
    worker = await WorkerProcess.start(ENTRY, {}, budget=replace(BUDGET, cpu_seconds=0.3))
    try:
        pids = set()
        for _ in range(20):
            outcome = await worker.run(b"pid")
            assert isinstance(outcome, JobFinished)
            pids.add(outcome.payload)
        assert len(pids) == 1
        outcome = await worker.run(b"descriptors")
        assert isinstance(outcome, JobFinished)
        assert int(outcome.payload) <= 8
    finally:
        await worker.close()


@pytest.mark.parametrize(
    ("config", "words"),
    [({"fail": "raise"}, "LookupError"), ({"fail": "exit"}, "exit 3"), ({"fail": "hang"}, "not ready within")],
)
async def test_a_worker_that_does_not_start_says_why(config: dict[str, JsonLike], words: str) -> None:
    with pytest.raises(WorkerStartError, match=words):
        await WorkerProcess.start(ENTRY, config, budget=BUDGET, start_seconds=1.0)


async def test_an_entry_that_does_not_exist_says_so() -> None:
    with pytest.raises(WorkerStartError, match="ModuleNotFoundError"):
        await WorkerProcess.start("tests.compiler_pool.nothing:factory", {}, budget=BUDGET)


async def test_cancelling_a_run_kills_its_worker(tmp_path: Path) -> None:
    worker = await WorkerProcess.start(ENTRY, {}, budget=BUDGET)
    running = asyncio.ensure_future(worker.run(b"sleep:60"))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not worker.is_alive
    assert not psutil.pid_exists(worker.pid)
    await worker.close()


_PARENT = """
import asyncio, sys
from compiler_pool.worker import WorkerProcess
from policy.limits import ProcessBudget

async def main():
    budget = ProcessBudget(cpu_seconds=600.0, wall_seconds=600.0, address_space_bytes=1 << 28, stack_bytes=1 << 24)
    idle = await WorkerProcess.start("tests.compiler_pool.hostile_jobs:factory", {}, budget=budget)
    busy = await WorkerProcess.start("tests.compiler_pool.hostile_jobs:factory", {}, budget=budget)
    running = asyncio.ensure_future(busy.run(b"spin"))
    await asyncio.sleep(0.2)
    print(idle.pid, busy.pid, flush=True)
    await running

asyncio.run(main())
"""


def test_no_worker_outlives_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, cwd=Path.cwd()) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    gone, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=10)
    assert alive == [], gone
