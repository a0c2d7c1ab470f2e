"""What gateways grant while the ledger that they share is gone, and what they tell it when it is back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from structlog.testing import capture_logs

from gateway.budgets.ledger import AccountName, EndedBefore, Granted, LimitedAccount, Postponed, Refused, Settled
from gateway.budgets.local_share import LocalShare
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from gateway.budgets.redis_ledger import RedisBudgetLedger
from gateway.budgets.redis_link import RedisLink
from gateway.budgets.shared_ledger import SharedBudgetLedger
from gateway.metrics import GatewayMetrics
from policy.budget import Amounts, Budget, Demand, Level, LevelLimits, WindowLimits
from policy.periods import CalendarMonth, Span
from registry.identifiers import TenantId
from tests.gateway.twins import until
from tests.redis_server import RedisServer

MINUTE = Span(seconds=60)
NAME = AccountName(tenant=TenantId("acme"), level=Level.TENANT)


def account(*windows: WindowLimits, concurrent: int | None = None) -> list[LimitedAccount]:
    return [LimitedAccount(name=NAME, limits=LevelLimits(max_concurrent_requests=concurrent, windows=windows))]


def asking(tokens: int = 0, nano_usd: int = 0) -> Demand:
    return Demand(amounts=Amounts(tokens=tokens, nano_usd=nano_usd))


@asynccontextmanager
async def ledger_over(
    url: str, *, replicas: int = 1, permille: int = 10, lease_seconds: float = 30, timeout_seconds: float = 0.2
) -> AsyncIterator[SharedBudgetLedger]:
    redis = RedisBudgetLedger(RedisLink(url, timeout_seconds=timeout_seconds), lease_seconds=lease_seconds)
    share = LocalShare(num_replicas=replicas, reserve_permille=permille)
    ledger = SharedBudgetLedger(redis, MemoryBudgetLedger(lease_seconds=lease_seconds), share, GatewayMetrics())
    try:
        yield ledger
    finally:
        await ledger.close()


async def count_granted(ledger: SharedBudgetLedger, accounts: list[LimitedAccount], demand: Demand, most: int) -> int:
    answers = [await ledger.reserve(accounts, demand, f"{id(ledger)}-{number}") for number in range(most)]
    return sum(isinstance(answer, Granted) for answer in answers)


async def test_replicas_without_their_store_grant_no_more_than_the_limit_together(redis: RedisServer) -> None:
    ten = account(WindowLimits(period=MINUTE, max_requests=10))
    redis.pause()
    try:
        granted = []
        for _ in range(4):
            async with ledger_over(redis.url, replicas=4, timeout_seconds=0.05) as ledger:
                granted.append(await count_granted(ledger, ten, Demand(), 12))
                assert ledger.degradation is not None
    finally:
        redis.resume()
    assert granted == [2, 2, 2, 2]


async def test_what_was_granted_before_counts_in_the_share(redis: RedisServer) -> None:
    ten = account(WindowLimits(period=MINUTE, max_requests=10))
    async with ledger_over(redis.url, replicas=2) as ledger:
        assert await count_granted(ledger, ten, Demand(), 4) == 4
        redis.pause()
        try:
            answers = [await ledger.reserve(ten, Demand(), f"later {number}") for number in range(3)]
        finally:
            redis.resume()
    assert [type(answer) for answer in answers] == [Granted, Refused, Refused]
    assert all(answer.is_local for answer in answers)
    assert answers[1].standings.accounts[0].account.limits.windows[0].max_requests == 5


async def test_money_and_long_windows_fall_to_a_small_reserve(redis: RedisServer) -> None:
    month = account(WindowLimits(period=CalendarMonth(), max_tokens=10_000, max_nano_usd=10_000))
    minute = account(WindowLimits(period=MINUTE, max_nano_usd=1_000))
    async with ledger_over(redis.url, replicas=2, permille=10) as ledger:
        assert isinstance(await ledger.reserve(month, asking(9_000, 5_000), "most of it"), Granted)
        redis.pause()
        try:
            tokens = await ledger.reserve(month, asking(tokens=51), "a")
            granted = await ledger.reserve(month, asking(tokens=50), "b")
            money = await ledger.reserve(month, asking(nano_usd=51), "c")
            of_minute = await ledger.reserve(minute, asking(nano_usd=6), "d")
        finally:
            redis.resume()
    assert isinstance(granted, Granted)
    refused = [answer for answer in (tokens, money, of_minute) if isinstance(answer, Refused)]
    assert [answer.exhausted.budget for answer in refused] == [Budget.TOKENS, Budget.MONEY, Budget.MONEY]
    assert [answer.exhausted.limit for answer in refused] == [50, 50, 5]


async def test_without_a_reserve_budgets_fail_closed(redis: RedisServer) -> None:
    month = account(WindowLimits(period=CalendarMonth(), max_nano_usd=10**9))
    redis.pause()
    try:
        async with ledger_over(redis.url, permille=0, timeout_seconds=0.05) as ledger:
            assert isinstance(await ledger.reserve(month, asking(nano_usd=1), "a"), Refused)
            assert isinstance(await ledger.reserve(month, Demand(), "free"), Granted)
    finally:
        redis.resume()


async def test_a_ledger_that_is_back_hears_what_was_granted_and_what_ended_meanwhile(redis: RedisServer) -> None:
    accounts = account(WindowLimits(period=CalendarMonth(), max_requests=10_000, max_tokens=100_000))
    async with ledger_over(redis.url, permille=100) as ledger:
        await ledger.reserve(accounts, asking(100), "before")
        redis.pause()
        try:
            assert isinstance(await ledger.settle(accounts, "before", Amounts(tokens=70)), Postponed)
            for number in range(4):
                await ledger.reserve(accounts, asking(10), f"here {number}")
                assert isinstance(await ledger.settle(accounts, f"here {number}", Amounts(tokens=7)), Postponed)
            await ledger.settle(accounts, "here 0", Amounts(tokens=7))
        finally:
            redis.resume()

        async def is_told() -> bool:
            await ledger.tend()
            windows = (await ledger.standings(accounts)).accounts[0].windows
            return ledger.degradation is None and [window.taken.tokens for window in windows] == [70 + 4 * 7]

        await until(is_told)
        standing = (await ledger.standings(accounts)).accounts[0]
    assert standing.num_running == 0
    assert standing.windows[0].num_requests == 5


async def test_a_redis_that_was_flushed_learns_the_script_anew_and_knows_nothing_of_what_it_lost(
    redis: RedisServer,
) -> None:
    accounts = account(WindowLimits(period=MINUTE, max_requests=10), concurrent=3)
    async with ledger_over(redis.url) as ledger:
        await ledger.reserve(accounts, Demand(), "a")
        redis.client.flushall()
        redis.client.script_flush()
        assert isinstance(await ledger.settle(accounts, "a", Amounts()), EndedBefore)
        answer = await ledger.reserve(accounts, Demand(), "b")
        assert (answer.is_local, answer.standings.accounts[0].num_running) == (False, 1)
        assert isinstance(await ledger.settle(accounts, "b", Amounts()), Settled)


async def test_names_that_somebody_deletes_make_no_room_for_more_than_the_limit(redis: RedisServer) -> None:
    accounts = account(WindowLimits(period=CalendarMonth(), max_tokens=10), concurrent=2)
    for gone in ("counters", "held", "deadlines"):
        redis.client.flushall()
        async with ledger_over(redis.url) as ledger:
            await ledger.reserve(accounts, asking(5), "a")
            redis.client.delete(f"schemagate:budget:{{acme}}:tenant::{gone}")
            await ledger.settle(accounts, "a", Amounts(tokens=5))
            granted = [await ledger.reserve(accounts, asking(5), f"{gone} {number}") for number in range(4)]
            standing = (await ledger.standings(accounts)).accounts[0]
        assert sum(isinstance(answer, Granted) for answer in granted) <= 2
        assert standing.num_running <= 2
        assert 0 <= standing.windows[0].taken.tokens <= 10


async def test_a_redis_that_may_forget_budgets_is_warned_of_once(redis: RedisServer) -> None:
    said = []
    for policy in ("volatile-ttl", "noeviction"):
        redis.client.config_set("maxmemory", "100mb")
        redis.client.config_set("maxmemory-policy", policy)
        try:
            async with ledger_over(redis.url) as ledger:
                with capture_logs() as lines:
                    await ledger.tend()
                    await ledger.tend()
        finally:
            redis.client.config_set("maxmemory", "0")
            redis.client.config_set("maxmemory-policy", "noeviction")
        said.append(len([line for line in lines if "evicts" in line["event"]]))
    assert said == [1, 0]


async def test_one_round_trip_before_the_work_and_one_after_it(redis: RedisServer) -> None:
    accounts = [
        *account(WindowLimits(period=MINUTE, max_requests=10)),
        LimitedAccount(
            name=AccountName(tenant=TenantId("acme"), level=Level.TENANT, subject="x"),
            limits=LevelLimits(windows=(WindowLimits(period=CalendarMonth(), max_tokens=5),)),
        ),
    ]
    async with ledger_over(redis.url) as ledger:
        await ledger.reserve(accounts, Demand(), "warm")
        await ledger.settle(accounts, "warm", Amounts())
        redis.client.config_resetstat()
        await ledger.reserve(accounts, asking(5), "a")
        await ledger.settle(accounts, "a", Amounts(tokens=5))
        stats = redis.client.info("commandstats")
    assert isinstance(stats, dict)
    assert stats["cmdstat_evalsha"]["calls"] == 2
    assert "cmdstat_eval" not in stats


async def test_nothing_is_left_in_redis_when_nothing_matters_any_more(redis: RedisServer) -> None:
    accounts = account(WindowLimits(period=Span(seconds=1), max_unique_digests=5))
    async with ledger_over(redis.url, lease_seconds=1) as ledger:
        await ledger.reserve(accounts, Demand(digest="sha256:x"), "never settled")
        assert len(redis.names("schemagate:budget:{acme}:tenant:*")) == 4
        await until(lambda: redis.names() == [])


async def test_all_names_of_a_tenant_lie_in_one_slot(redis: RedisServer) -> None:
    accounts = [
        LimitedAccount(name=AccountName(tenant=TenantId("a}b{c"), level=level, subject="x{y}"), limits=LevelLimits(
            max_concurrent_requests=1
        ))
        for level in Level
    ]  # fmt: skip
    async with ledger_over(redis.url) as ledger:
        await ledger.reserve(accounts, Demand(), "a")
    names = redis.names()
    assert len(names) == 9  # no digests
    assert {name.partition("{")[2].partition("}")[0] for name in names} == {"a%7Db%7Bc"}


async def test_many_at_one_time_get_exactly_what_there_is(redis: RedisServer) -> None:
    accounts = account(WindowLimits(period=CalendarMonth(), max_requests=100))
    async with ledger_over(redis.url, timeout_seconds=5) as one, ledger_over(redis.url, timeout_seconds=5) as two:
        answers = await asyncio.gather(
            *(
                ledger.reserve(accounts, Demand(), f"{ledger is one} {number}")
                for number in range(250)
                for ledger in (one, two)
            )
        )
    assert sum(isinstance(answer, Granted) for answer in answers) == 100
    assert not any(answer.is_local for answer in answers)
