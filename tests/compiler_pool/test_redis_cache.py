"""The second tier over a real Redis: what it keeps, what it never believes, and what it costs when it is gone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry

from compiler_pool.cache import CachedRefusal
from compiler_pool.cache_metrics import CacheMetrics
from compiler_pool.cache_record import RecordFault, seal_record
from compiler_pool.errors import RedisUrlError
from compiler_pool.frame import KeyRing
from compiler_pool.redis_cache import Put, RedisArtifactCache, name_of
from compiler_pool.redis_link import Answer, RedisLink, Unanswered
from compiler_pool.second_tier import Operation, Silence
from tests.compiler_pool.addresses import RING, an_address, an_entry
from tests.redis_server import RedisServer, running_redis

ADDRESS = an_address()
ENTRY = an_entry(ADDRESS)
MAX_BYTES = 10_000


class Tier:
    """A second tier and what it counted."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        self.registry = CollectorRegistry()
        metrics = CacheMetrics(self.registry)
        self.link = RedisLink(url, timeout_seconds=timeout_seconds, metrics=metrics)
        self.cache = RedisArtifactCache(self.link, RING, max_entry_bytes=MAX_BYTES, metrics=metrics)

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"schemagate_compile_cache_{name}", labels) or 0.0


@asynccontextmanager
async def tier(url: str, *, timeout_seconds: float = 5.0) -> AsyncIterator[Tier]:
    here = Tier(url, timeout_seconds=timeout_seconds)
    try:
        yield here
    finally:
        await here.link.close()


async def until(ask: Callable[[], Awaitable[object]], *, gives: object) -> None:
    """Ask again and again, at most half a minute long."""
    for _ in range(300):
        if await ask() == gives:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"never {gives}")


async def test_what_one_process_puts_another_finds_under_the_partitions_name(redis: RedisServer) -> None:
    governed = an_address(partition="governed")
    async with tier(redis.url) as one, tier(redis.url) as other:
        assert await one.cache.put(ADDRESS, ENTRY, seconds=60) is Put.WRITTEN
        assert await other.cache.get(ADDRESS) == ENTRY
        assert await other.cache.get(governed) is None
        assert await one.cache.put(governed, an_entry(governed), seconds=60) is Put.WRITTEN
        assert (other.count("total", tier="l2", result="hit"), other.count("total", tier="l2", result="miss")) == (1, 1)
        assert other.count("seconds_count", operation="get") == 2
    names = [f"schemagate:artifact:governed:{{{governed.key}}}", f"schemagate:artifact:t:{{{ADDRESS.key}}}"]
    assert redis.names() == names


async def test_everything_expires_and_a_stay_can_be_made_longer(redis: RedisServer) -> None:
    async with tier(redis.url) as here:
        await here.cache.put(ADDRESS, ENTRY, seconds=60)
        short = redis.client.ttl(name_of(ADDRESS))
        await here.cache.keep(ADDRESS, seconds=1000)
        assert short <= 60
        assert 60 < redis.client.ttl(name_of(ADDRESS)) <= 1000


OTHER = an_address("other")
BAD = {
    RecordFault.TAMPERED: seal_record(ADDRESS, ENTRY, RING)[:-1] + b"\0",
    RecordFault.TRUNCATED: seal_record(ADDRESS, ENTRY, RING)[:-40],
    RecordFault.FOREIGN_KEY: seal_record(ADDRESS, ENTRY, KeyRing.from_text("k9:" + "cd" * 32)),
    RecordFault.OVERSIZED: b"x" * (MAX_BYTES + 1),
    RecordFault.WRONG_ADDRESS: seal_record(OTHER, an_entry(OTHER), RING),
    RecordFault.MALFORMED: b'{"outcome":"rejected"}',
}


@pytest.mark.parametrize("fault", list(RecordFault))
async def test_what_is_not_ours_whole_and_here_is_discarded_counted_and_gone(
    redis: RedisServer, fault: RecordFault
) -> None:
    redis.client.set(name_of(ADDRESS), BAD[fault])
    async with tier(redis.url) as here:
        assert await here.cache.get(ADDRESS) is None
        assert here.count("discards_total", reason=fault) == 1
        assert redis.names() == []
        await here.cache.put(ADDRESS, ENTRY, seconds=60)
        assert await here.cache.get(ADDRESS) == ENTRY


async def test_a_refusal_that_somebody_else_wrote_refuses_nothing(redis: RedisServer) -> None:
    forged = KeyRing.from_text("k1:" + "cd" * 32)
    refusal = CachedRefusal(answer=b'{"outcome":"rejected"}', cpu_ms=1.0)
    redis.client.set(name_of(ADDRESS), seal_record(ADDRESS, refusal, forged))
    async with tier(redis.url) as here:
        assert await here.cache.get(ADDRESS) is None
        assert here.count("discards_total", reason="tampered") == 1


async def test_a_thing_of_another_type_is_discarded_and_says_nothing_of_the_server(redis: RedisServer) -> None:
    async with tier(redis.url) as here:
        for _ in range(5):
            redis.client.rpush(name_of(ADDRESS), "a list")
            assert await here.cache.get(ADDRESS) is None
        assert redis.names() == []
        assert not here.cache.is_down
        assert here.count("discards_total", reason="malformed") == 5


async def test_what_is_too_large_is_not_written(redis: RedisServer) -> None:
    async with tier(redis.url) as here:
        large = an_entry(ADDRESS, num_characters=MAX_BYTES)
        assert await here.cache.put(ADDRESS, large, seconds=60) is Put.OVERSIZED
    assert redis.names() == []


async def test_a_redis_that_answers_nothing_counts_as_gone_after_a_few_tries_and_comes_back(redis: RedisServer) -> None:
    async with tier(redis.url, timeout_seconds=0.1) as here:
        redis.pause()
        try:
            for _ in range(5):
                assert await here.cache.get(ADDRESS) is None
            assert here.cache.is_down
            assert here.count("errors_total", operation="get", reason="timeout") == 3
            assert here.count("errors_total", operation="get", reason="open") == 2
            assert here.count("circuit_open") == 1
        finally:
            redis.resume()
        await until(lambda: here.cache.put(ADDRESS, ENTRY, seconds=60), gives=Put.WRITTEN)
        assert await here.cache.get(ADDRESS) == ENTRY
        assert (here.cache.is_down, here.count("circuit_open")) == (False, 0)


@pytest.mark.parametrize("url", ["unix:///nowhere/at-all", f"redis://{'a' * 70}.invalid:1"])
async def test_a_redis_that_is_not_there_costs_nothing_but_itself(url: str) -> None:
    async with tier(url) as here:
        assert await here.cache.get(ADDRESS) is None
        assert await here.cache.put(ADDRESS, ENTRY, seconds=60) is Put.UNANSWERED
        assert not await here.cache.keep(ADDRESS, seconds=60)
        assert here.cache.is_down
        assert here.count("errors_total", operation="get", reason="connection") == 1


async def test_who_leaves_in_the_middle_of_a_command_leaves_the_connection_in_order(redis: RedisServer) -> None:
    redis.client.set("a", b"answer of a")
    async with tier(redis.url) as here:
        for num_turns in range(30):  # before, while and after it connects, sends and reads
            leaving = asyncio.ensure_future(here.link.ask(Operation.GET, "GET", "a"))
            for _ in range(num_turns):
                await asyncio.sleep(0)
            has_ended = leaving.done()
            leaving.cancel()
            (left,) = await asyncio.gather(leaving, return_exceptions=True)
            assert has_ended or isinstance(left, asyncio.CancelledError)
            assert await here.link.ask(Operation.GET, "ECHO", "mine") == Answer(value=b"mine")


@pytest.mark.usefixtures("redis_of_the_run")
async def test_a_redis_that_is_full_refuses_and_is_left_alone() -> None:
    with running_redis("--maxmemory", "1mb", "--maxmemory-policy", "noeviction") as full:
        async with tier(full.url) as here:
            refused = [await here.link.ask(Operation.PUT, "SET", str(at), b"x" * 100_000) for at in range(20)]
            assert Unanswered(why=Silence.REFUSED) in refused
            assert await here.cache.put(ADDRESS, ENTRY, seconds=60) is Put.UNANSWERED


@pytest.mark.parametrize(
    "url",
    [
        "redis://secret@host:notaport",
        "redis://host/0?nonsense=secret",
        "redis://host:99999999/0?socket_timeout=secret",
        "redis://[::1/0",
        "secret",
    ],
)
async def test_a_url_that_is_none_is_said_so_at_the_start_and_not_repeated(url: str) -> None:
    with pytest.raises(RedisUrlError) as raised:
        RedisLink(url, timeout_seconds=1, metrics=CacheMetrics(CollectorRegistry()))
    assert "secret" not in str(raised.value)
