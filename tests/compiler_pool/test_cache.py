"""The artifact cache and single flight."""

import asyncio

import pytest

from compiler_pool.artifact import ArtifactKey
from compiler_pool.cache import CachedFrame, CachedRefusal, MemoryArtifactCache, SingleFlight

A, B, C = ArtifactKey("a"), ArtifactKey("b"), ArtifactKey("c")


def _frame(size: int) -> CachedFrame:
    return CachedFrame(frame=b"f" * (size - 2), cost=b"{}")


async def test_the_least_recently_used_entry_goes_first() -> None:
    cache = MemoryArtifactCache(max_bytes=100, refusal_seconds=60)
    await cache.put(A, _frame(40))
    await cache.put(B, _frame(40))
    assert await cache.get(A) == _frame(40)
    await cache.put(C, _frame(40))
    assert await cache.get(B) is None
    assert await cache.get(A) is not None
    assert cache.num_bytes == 80


async def test_an_entry_can_be_replaced_and_one_that_is_too_large_is_not_kept() -> None:
    cache = MemoryArtifactCache(max_bytes=100, refusal_seconds=60)
    await cache.put(A, _frame(40))
    await cache.put(A, _frame(60))
    assert cache.num_bytes == 60
    await cache.put(A, _frame(101))
    assert await cache.get(A) is None
    assert cache.num_bytes == 0


async def test_a_refusal_expires_and_an_artifact_does_not() -> None:
    now = 0.0
    cache = MemoryArtifactCache(max_bytes=100, refusal_seconds=60, clock=lambda: now)
    await cache.put(A, CachedRefusal(answer=b"no"))
    await cache.put(B, _frame(10))
    now = 59.0
    assert await cache.get(A) == CachedRefusal(answer=b"no")
    now = 60.0
    assert await cache.get(A) is None
    now = 1e9
    assert await cache.get(B) is not None


async def test_one_computation_answers_everybody_who_asked_meanwhile() -> None:
    flights: SingleFlight[int] = SingleFlight()
    gate = asyncio.Event()
    num_runs = 0

    async def compute() -> int:
        nonlocal num_runs
        num_runs += 1
        await gate.wait()
        return 7

    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(flights.run(A, compute)) for _ in range(5)]
        await asyncio.sleep(0)
        gate.set()
    assert [task.result() for task in asked] == [(7, False)] + [(7, True)] * 4
    assert num_runs == 1
    assert await flights.run(A, compute) == (7, False)
    assert num_runs == 2


async def test_a_computation_outlives_the_one_who_started_it_but_not_the_last_who_waits() -> None:
    flights: SingleFlight[int] = SingleFlight()
    ended: list[str] = []
    gate = asyncio.Event()

    async def compute() -> int:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return 7

    first = asyncio.ensure_future(flights.run(A, compute))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(flights.run(A, compute))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert ended == []
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    await asyncio.sleep(0)
    assert ended == ["cancelled"]


async def test_a_failure_reaches_everybody_and_is_not_kept() -> None:
    flights: SingleFlight[int] = SingleFlight()

    async def fail() -> int:
        await asyncio.sleep(0)
        raise ValueError("no")

    results = await asyncio.gather(flights.run(A, fail), flights.run(A, fail), return_exceptions=True)
    assert [type(result) for result in results] == [ValueError, ValueError]
    with pytest.raises(ValueError, match="no"):
        await flights.run(A, fail)
