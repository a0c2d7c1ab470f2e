"""One compile among processes: the lease, those who wait for it, and those who do not have to."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry

from compiler_pool.artifact import ArtifactAddress
from compiler_pool.cache import CachedRefusal, MemoryArtifactCache
from compiler_pool.cache_metrics import CacheMetrics
from compiler_pool.job import Partition
from compiler_pool.redis_cache import RedisArtifactCache, name_of
from compiler_pool.redis_leases import Found, Granted, Held, RedisLeases
from compiler_pool.redis_link import RedisLink
from compiler_pool.reuse import ReuseAdmission
from compiler_pool.shared_flight import Computed, Late, SharedFlight
from compiler_pool.standing import Standing, Urgency
from compiler_pool.tiered_cache import TieredArtifactCache
from tests.compiler_pool.addresses import RING, an_address, an_entry
from tests.redis_server import RedisServer, running_redis

ADDRESS = an_address()
ENTRY = an_entry(ADDRESS)


class Process:
    """What one pool process has of all this; several in one test stand for several processes."""

    def __init__(self, url: str, *, lease_seconds: float) -> None:
        self.registry = CollectorRegistry()
        metrics = CacheMetrics(self.registry)
        self.link = RedisLink(url, timeout_seconds=5, metrics=metrics)
        self.second = RedisArtifactCache(self.link, RING, max_entry_bytes=100_000, metrics=metrics)
        self.leases = RedisLeases(self.link, self.second, lease_seconds=lease_seconds)
        self.flight = SharedFlight(self.leases, metrics)
        self.cache = TieredArtifactCache(
            MemoryArtifactCache(max_bytes=1 << 20, refusal_seconds=60),
            self.second,
            reuse=ReuseAdmission(renew_seconds=3000),
            trial_seconds=60,
            keep_seconds=6000,
            refusal_seconds=60,
            metrics=metrics,
        )

    async def run(
        self,
        compute: Callable[[], Awaitable[str]],
        *,
        address: ArtifactAddress = ADDRESS,
        urgency: Urgency = Urgency.TENANT,
        seconds: float = 30,
    ) -> Computed[str] | Found | Late:
        standing = Standing(partition=Partition("t"), urgency=urgency)
        return await self.flight.run(address, standing, compute, deadline=time.monotonic() + seconds)

    async def make(self) -> str:
        """A compile that puts its result where others look."""
        await asyncio.sleep(0.1)
        await self.cache.put(ADDRESS, ENTRY)
        return "made"


@asynccontextmanager
async def processes(redis: RedisServer, number: int, *, lease_seconds: float = 5.0) -> AsyncIterator[list[Process]]:
    those = [Process(redis.url, lease_seconds=lease_seconds) for _ in range(number)]
    try:
        yield those
    finally:
        for each in those:
            await each.link.close()


async def until_leased(redis: RedisServer, *, by: str = "") -> None:
    for _ in range(1000):
        holders = [redis.client.get(name) for name in redis.names("schemagate:compile:*")]
        if any(isinstance(holder, bytes) and holder.startswith(by.encode()) for holder in holders):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("nobody took it")


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_one_computes_and_the_others_find_it(redis: RedisServer) -> None:
    async with processes(redis, 4) as those:
        results = await asyncio.gather(*(each.run(each.make) for each in those))
    assert results.count(Computed(outcome="made")) == 1
    assert results.count(Found(entry=ENTRY)) == 3
    assert redis.names("schemagate:compile:*") == []


async def test_a_failure_is_nobody_elses_and_the_next_one_tries(redis: RedisServer) -> None:
    async with processes(redis, 3) as those:

        async def fail() -> str:
            await asyncio.sleep(0.05)
            return "timed out"

        results = await asyncio.gather(*(each.run(fail) for each in those))
    assert results == [Computed(outcome="timed out")] * 3


async def test_who_is_killed_is_followed_when_the_lease_lapses(redis: RedisServer) -> None:
    async with processes(redis, 2, lease_seconds=0.3) as (dead, alive):
        assert isinstance(await dead.leases.take(ADDRESS, Urgency.TENANT), Granted)  # and never renews it
        assert await alive.run(alive.make) == Computed(outcome="made")


async def test_who_takes_longer_than_a_lease_keeps_it(redis: RedisServer) -> None:
    async with processes(redis, 2, lease_seconds=1.0) as (slow, other):

        async def make_slowly() -> str:
            await asyncio.sleep(2.5)
            return await slow.make()

        leading = asyncio.ensure_future(slow.run(make_slowly))
        await until_leased(redis)
        assert await other.run(other.make) == Found(entry=ENTRY)
        assert await leading == Computed(outcome="made")


async def test_who_leaves_lets_go_at_once(redis: RedisServer) -> None:
    async with processes(redis, 2, lease_seconds=60) as (leaving, other):
        led = asyncio.ensure_future(leaving.run(forever))
        await until_leased(redis)
        led.cancel()
        await asyncio.gather(led, return_exceptions=True)
        assert redis.names("schemagate:compile:*") == []
        assert await other.run(other.make) == Computed(outcome="made")


async def test_who_waits_has_a_deadline_of_their_own(redis: RedisServer) -> None:
    async with processes(redis, 2) as (slow, other):
        led = asyncio.ensure_future(slow.run(forever))
        await until_leased(redis)
        assert isinstance(await other.run(other.make, seconds=0.2), Late)
        led.cancel()
        await asyncio.gather(led, return_exceptions=True)


async def test_who_waits_passes_over_what_nobody_waits_for_and_its_end_takes_nothing_away(redis: RedisServer) -> None:
    async with processes(redis, 3) as (idle, urgent, third):
        gate = asyncio.Event()

        async def until_told() -> str:
            await gate.wait()
            return "at last"

        precompiling = asyncio.ensure_future(idle.run(until_told, urgency=Urgency.PRECOMPILE))
        await until_leased(redis)
        assert isinstance(await third.leases.take(ADDRESS, Urgency.PRECOMPILE), Held)
        compiling = asyncio.ensure_future(urgent.run(forever))
        await until_leased(redis, by="TENANT")
        gate.set()
        assert await precompiling == Computed(outcome="at last")
        assert isinstance(await third.leases.take(ADDRESS, Urgency.TENANT), Held)
        compiling.cancel()
        await asyncio.gather(compiling, return_exceptions=True)


async def test_an_entry_that_cannot_be_used_is_made_anew(redis: RedisServer) -> None:
    redis.client.set(name_of(ADDRESS), b"garbage")
    async with processes(redis, 1) as (here,):
        assert await here.run(here.make) == Computed(outcome="made")
        assert await here.second.get(ADDRESS) == ENTRY


async def test_without_an_answer_everybody_computes(redis: RedisServer) -> None:
    here = Process("unix:///nowhere/at-all", lease_seconds=5)
    try:
        assert await here.run(here.make) == Computed(outcome="made")
        assert await here.cache.get(ADDRESS) == ENTRY
    finally:
        await here.link.close()


async def test_what_was_asked_for_once_stays_shortly_and_longer_when_another_process_asks(redis: RedisServer) -> None:
    async with processes(redis, 2) as (one, other):
        assert await one.cache.get(ADDRESS) is None
        await one.cache.put(ADDRESS, ENTRY)
        short = redis.client.ttl(name_of(ADDRESS))
        assert await other.cache.get(ADDRESS) == ENTRY
        longer = redis.client.ttl(name_of(ADDRESS))
    assert short <= 60
    assert 60 < longer <= 6000


async def test_what_is_asked_for_again_here_is_shared_even_if_it_had_gone(redis: RedisServer) -> None:
    async with processes(redis, 1) as (here,):
        await here.cache.get(ADDRESS)
        await here.cache.put(ADDRESS, ENTRY)
        redis.client.flushall()
        assert await here.cache.get(ADDRESS) == ENTRY
        assert 60 < redis.client.ttl(name_of(ADDRESS)) <= 6000


async def test_governed_contracts_stay_from_the_first_time(redis: RedisServer) -> None:
    governed = an_address(limits="governed", partition="governed")
    async with processes(redis, 1) as (here,):
        await here.cache.put(governed, an_entry(governed))
    assert 6000 < redis.client.ttl(name_of(governed)) <= 24000


async def test_what_gateways_use_without_asking_earns_its_place(redis: RedisServer) -> None:
    async with processes(redis, 1) as (here,):
        await here.cache.get(ADDRESS)
        await here.cache.put(ADDRESS, ENTRY)
        assert redis.client.ttl(name_of(ADDRESS)) <= 60
        await here.cache.used(an_address("unknown").key, 1000)
        await here.cache.used(ADDRESS.key, 3)
        assert 60 < redis.client.ttl(name_of(ADDRESS)) <= 6000


async def test_a_refusal_does_not_live_longer_by_going_round(redis: RedisServer) -> None:
    refusal = CachedRefusal(answer=b"no" * 50, cpu_ms=50.0)
    async with processes(redis, 2) as (one, other):
        await one.cache.put(ADDRESS, refusal)
        redis.client.expire(name_of(ADDRESS), 30)
        for _ in range(3):
            assert await one.cache.get(ADDRESS) == refusal
            assert await other.cache.get(ADDRESS) == refusal
        assert redis.client.ttl(name_of(ADDRESS)) <= 30


async def test_a_lease_that_nobody_would_give_back_is_none(redis: RedisServer) -> None:
    async with processes(redis, 1) as (here,):
        taken = await here.leases.take(ADDRESS, Urgency.TENANT)
        assert isinstance(taken, Granted)
        (name,) = redis.names("schemagate:compile:*")
        for milliseconds in (None, 10_000_000):
            redis.client.set(name, "TENANT:x", px=milliseconds)
            assert isinstance(await here.leases.take(ADDRESS, Urgency.TENANT), Granted)
        redis.client.set(name, "TENANT:x", px=100_000)
        assert isinstance(await here.leases.take(ADDRESS, Urgency.TENANT), Held)
        redis.client.delete(name)
        redis.client.rpush(name, "a list")
        assert await here.run(here.make) == Computed(outcome="made")


@pytest.mark.usefixtures("redis_of_the_run")
async def test_a_redis_that_lets_nothing_be_written_or_deleted_holds_nobody_up() -> None:
    with running_redis() as server:
        server.client.set(name_of(ADDRESS), b"garbage")
        server.client.execute_command(  # type: ignore[no-untyped-call]
            "ACL", "SETUSER", "reader", "on", "nopass", "~*", "-@all", "+getrange", "+eval", "+get", "+pttl", "+info"
        )
        here = Process(server.url.replace("unix://", "unix://reader:x@"), lease_seconds=5)
        try:
            assert await here.run(here.make) == Computed(outcome="made")
            assert await here.cache.get(ADDRESS) == ENTRY
            read = here.registry.get_sample_value("schemagate_compile_cache_discards_total", {"reason": "malformed"})
            assert read == 1  # it could be read, and neither be deleted nor written over
            assert server.client.get(name_of(ADDRESS)) == b"garbage"
        finally:
            await here.link.close()
