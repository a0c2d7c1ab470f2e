"""The artifact cache and single flight."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler_pool.artifact import ArtifactKey
from compiler_pool.cache import SHARED_PARTITION, CachedFrame, CachedRefusal, MemoryArtifactCache
from compiler_pool.single_flight import SingleFlight
from tests.compiler_pool.addresses import an_address

A, B, C = an_address("a"), an_address("b"), an_address("c")
KEY = ArtifactKey("k")


def _frame(size: int) -> CachedFrame:
    return CachedFrame(frame=b"f" * (size - 2), cost=b"{}", cpu_ms=1.0)


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
    await cache.put(A, CachedRefusal(answer=b"no", cpu_ms=1.0))
    await cache.put(B, _frame(10))
    now = 59.0
    assert await cache.get(A) == CachedRefusal(answer=b"no", cpu_ms=1.0)
    now = 60.0
    assert await cache.get(A) is None
    now = 1e9
    assert await cache.get(B) is not None


async def test_a_flood_pushes_out_its_own_and_everybodys_contracts_last() -> None:
    cache = MemoryArtifactCache(max_bytes=1000, refusal_seconds=60)
    quiet = [an_address(str(number), partition="quiet") for number in range(1)]
    shared = [an_address(str(number), partition=SHARED_PARTITION) for number in range(6)]
    for address in (*quiet, *shared):
        await cache.put(address, _frame(90))
    for number in range(100):
        await cache.put(an_address(str(number), partition="flood"), _frame(50))
    assert [await cache.get(address) for address in (*quiet, *shared)] == [_frame(90)] * 7


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
        asked = [group.create_task(flights.run(KEY, compute)) for _ in range(5)]
        await asyncio.sleep(0)
        gate.set()
    assert [task.result() for task in asked] == [(7, False)] + [(7, True)] * 4
    assert num_runs == 1
    assert await flights.run(KEY, compute) == (7, False)
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

    first = asyncio.ensure_future(flights.run(KEY, compute))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(flights.run(KEY, compute))
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

    results = await asyncio.gather(flights.run(KEY, fail), flights.run(KEY, fail), return_exceptions=True)
    assert [type(result) for result in results] == [ValueError, ValueError]
    with pytest.raises(ValueError, match="no"):
        await flights.run(KEY, fail)


class _Waiter:
    """Somebody who waits, and what they had to claim."""

    def __init__(self, flights: SingleFlight[int], gate: asyncio.Event) -> None:
        self.claims: list[int | None] = []
        self._gate = gate
        self.asked = asyncio.ensure_future(flights.run(KEY, self._compute, claim=self.claims.append))

    async def _compute(self) -> int:
        await self._gate.wait()
        return 7

    async def leave(self) -> None:
        self.asked.cancel()
        await asyncio.gather(self.asked, return_exceptions=True)


async def _three(flights: SingleFlight[int], gate: asyncio.Event) -> list[_Waiter]:
    waiters = []
    for _ in range(3):
        waiters.append(_Waiter(flights, gate))
        await asyncio.sleep(0)
    return waiters


async def test_an_answer_is_claimed_once_by_who_started_it_while_it_is_there() -> None:
    gate = asyncio.Event()
    waiters = await _three(SingleFlight(), gate)
    gate.set()
    await asyncio.gather(*(waiter.asked for waiter in waiters))
    assert [waiter.claims for waiter in waiters] == [[7], [], []]


async def test_an_answer_is_claimed_by_one_who_joined_where_the_first_has_left() -> None:
    gate = asyncio.Event()
    waiters = await _three(SingleFlight(), gate)
    await waiters[0].leave()
    gate.set()
    assert await asyncio.gather(*(waiter.asked for waiter in waiters[1:])) == [(7, True)] * 2
    assert [waiter.claims for waiter in waiters] == [[], [7], []]


async def test_the_last_to_leave_claims_what_has_no_answer() -> None:
    waiters = await _three(SingleFlight(), asyncio.Event())
    for at in (1, 0, 2):
        await waiters[at].leave()
    assert [waiter.claims for waiter in waiters] == [[], [], [None]]


@given(st.permutations(range(3)), st.integers(0, 3), st.integers(0, 4))
def test_whoever_leaves_and_whenever_exactly_one_claims(order: list[int], num_leaving: int, num_turns: int) -> None:
    async def run() -> list[int | None]:
        gate = asyncio.Event()
        waiters = await _three(SingleFlight(), gate)
        gate.set()
        for _ in range(num_turns):  # the answer comes before, between or after the leaving
            await asyncio.sleep(0)
        for at in order[:num_leaving]:
            waiters[at].asked.cancel()
        await asyncio.gather(*(waiter.asked for waiter in waiters), return_exceptions=True)
        return [claim for waiter in waiters for claim in waiter.claims]

    assert len(asyncio.run(run())) == 1
