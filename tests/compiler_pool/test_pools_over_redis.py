"""Four pools, each a process of its own with real workers, over one real Redis."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from compiler_pool.protocol import Compiled, CompileOutcome, CompileRequest, Rejected
from tests.compiler_pool.running_pool import RunningPool, running_pool, until_ready
from tests.redis_server import RedisServer

NUM_COMPILES = "schemagate_compile_queue_seconds_count"
SLOW = '{"allOf":[' + ",".join(f'{{"pattern":"[a-f]{{3,60}}.*{at}.*x"}}' for at in range(40)) + "]}"
"""Takes all of a tenant's budget and more."""


@asynccontextmanager
async def pools(directory: Path, redis: RedisServer, number: int, **settings: str) -> AsyncIterator[list[RunningPool]]:
    """Pools that share one Redis; a busy machine may be slow to answer."""
    shared = {"SCHEMAGATE_REDIS_URL": redis.url, "SCHEMAGATE_POOL_REDIS_TIMEOUT_SECONDS": "5", **settings}
    async with AsyncExitStack() as stack:
        opening = (stack.enter_async_context(running_pool(directory, num_workers=1, **shared)) for _ in range(number))
        yield list(await asyncio.gather(*opening))


async def ask(those: list[RunningPool], request: CompileRequest) -> list[CompileOutcome]:
    answers = await asyncio.gather(*(each.client.compile(request) for each in those))
    return [answer for answer in answers if isinstance(answer, Compiled | Rejected)]


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to that")


async def num_compiles(those: list[RunningPool]) -> float:
    return sum([await each.metric(NUM_COMPILES) for each in those])


async def test_four_processes_that_are_asked_for_one_new_contract_compile_it_once(
    tmp_path: Path, redis: RedisServer
) -> None:
    # On a starved machine a lease of the usual two seconds may run out, and be taken over, as it should.
    async with pools(tmp_path, redis, 4, SCHEMAGATE_POOL_LEASE_SECONDS="30") as those:
        request = those[0].request()
        answers = await ask(those, request)
        assert len({answer.frame for answer in answers if isinstance(answer, Compiled)}) == 1
        assert [answer.cache for answer in answers if isinstance(answer, Compiled)].count("miss") == 1
        assert sum(answer.cost.cpu_ms > 0 for answer in answers if isinstance(answer, Compiled)) == 1
        assert await num_compiles(those) == 1

        refused = those[0].request('{"properties":{"a":{"uniqueItems":true,"minItems":"x"}}}')
        refusals = await ask(those, refused)
        assert [type(each) for each in refusals] == [Rejected] * 4
        assert await num_compiles(those) == 2

        many = [those[0].request(f'{{"const":{at}}}') for at in range(10)]
        for each in await asyncio.gather(*(ask(those, request) for request in many)):
            assert len(each) == 4
        assert await num_compiles(those) == 12
        found = [await each.metric('schemagate_compile_leases_total{result="found"}') for each in those]
        assert sum(found) > 0


async def test_a_pool_that_is_killed_while_it_compiles_for_others_is_followed(
    tmp_path: Path, redis: RedisServer
) -> None:
    async with pools(tmp_path, redis, 2, SCHEMAGATE_POOL_LEASE_SECONDS="0.5") as (dying, other):
        leading = asyncio.ensure_future(dying.client.compile(dying.request(SLOW, limits="governed")))
        await until(lambda: bool(redis.names("schemagate:compile:*")))
        waiting = asyncio.ensure_future(other.client.compile(other.request(SLOW, limits="governed")))
        await asyncio.sleep(0.2)
        assert await other.metric(NUM_COMPILES) == 0
        dying.process.kill()
        await asyncio.gather(leading, return_exceptions=True)
        assert (await waiting).outcome in {"compiled", "rejected", "timed_out", "crashed"}
        granted = await other.metric('schemagate_compile_leases_total{result="granted"}')
        assert granted == 1


async def test_what_was_damaged_in_redis_is_discarded_and_compiled_again(tmp_path: Path, redis: RedisServer) -> None:
    async with pools(tmp_path, redis, 1, SCHEMAGATE_POOL_CACHE_BYTES="0") as (here,):
        (before,) = await ask([here], here.request())
        (name,) = redis.names("schemagate:artifact:*")
        record = redis.client.get(name)
        await ask([here], here.request('{"const":1}'))
        (other_name,) = set(redis.names("schemagate:artifact:*")) - {name}
        other = redis.client.get(other_name)
        assert isinstance(before, Compiled)
        assert isinstance(record, bytes)
        assert isinstance(other, bytes)
        (hit,) = await ask([here], here.request())
        assert isinstance(hit, Compiled)
        assert (hit.cache, hit.frame) == ("hit", before.frame)
        damaged = {
            "tampered": record.replace(b'"grammar"', b'"Grammar"'),
            "truncated": record[:-7],
            "oversized": record + bytes(4 << 20),
            "wrong_address": other,
            "malformed": b"\x80" * 64,
            "foreign_key": record.replace(b"\x02k1", b"\x02k9", 1),
        }
        for reason, data in damaged.items():
            num_before = await num_compiles([here])
            redis.client.set(name, data)
            (after,) = await ask([here], here.request())
            assert isinstance(after, Compiled)
            assert (after.artifact_key, after.cache) == (before.artifact_key, "miss")
            assert await num_compiles([here]) == num_before + 1
            assert await here.metric(f'schemagate_compile_cache_discards_total{{reason="{reason}"}}') == 1
            (again,) = await ask([here], here.request())
            assert isinstance(again, Compiled)
            assert again.cache == "hit"


async def test_a_restart_over_a_warm_redis_compiles_nothing(tmp_path: Path, redis: RedisServer) -> None:
    texts = [f'{{"const":{at}}}' for at in range(6)] + ['{"properties":{"a":{"uniqueItems":true,"minItems":"x"}}}']
    async with pools(tmp_path, redis, 1) as (first,):
        before = [(await ask([first], first.request(text)))[0] for text in texts]
        assert await num_compiles([first]) == len(texts)
    async with pools(tmp_path, redis, 1) as (second,):
        after = [(await ask([second], second.request(text)))[0] for text in texts]
        assert await num_compiles([second]) == 0
        hits = await second.metric('schemagate_compile_cache_total{result="hit",tier="l2"}')
        assert hits == len(texts)
    frames = [[each.frame for each in answers if isinstance(each, Compiled)] for answers in (before, after)]
    assert frames[0] == frames[1]
    assert len(frames[0]) == 6


async def test_time_outs_are_no_answer_for_anybody_else(tmp_path: Path, redis: RedisServer) -> None:
    async with pools(tmp_path, redis, 2) as those:
        for each in those:
            outcome = await each.client.compile(each.request(SLOW, limits="governed", seconds=0.1))
            assert outcome.outcome in {"timed_out", "busy"}
        assert redis.names() == []


async def test_without_redis_pools_go_on_and_say_so(tmp_path: Path, redis: RedisServer) -> None:
    async with pools(tmp_path, redis, 1, SCHEMAGATE_POOL_REDIS_TIMEOUT_SECONDS="0.1") as (here,):
        redis.pause()
        try:
            for at in range(4):
                assert await ask([here], here.request(f'{{"const":{at}}}'))
            ready = (await here.http.get(f"{here.url}/readyz")).json()
            assert ready == {"status": "degraded", "reasons": ["the second cache tier does not answer"]}
            assert await here.metric("schemagate_compile_cache_circuit_open") == 1
        finally:
            redis.resume()
        for number in range(10, 200):
            await ask([here], here.request(f'{{"const":{number}}}'))
            if await here.metric("schemagate_compile_cache_circuit_open") == 0:
                break
            await asyncio.sleep(0.2)
        await until_ready(here.url, here.http)
