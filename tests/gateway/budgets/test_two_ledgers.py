"""The ledger in this process and the one in Redis give the same answers, whatever is asked of them in what order."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gateway.budgets.ledger import AccountName, Accounts, LimitedAccount
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from gateway.budgets.redis_ledger import RedisBudgetLedger
from gateway.budgets.redis_link import RedisLink
from policy.budget import Amounts, Demand, Level, LevelLimits, WindowLimits
from policy.periods import CalendarMonth, Span
from registry.identifiers import TenantId
from tests.redis_server import RedisServer

LEASE_SECONDS = 30.0
START_MS = round(datetime(2028, 2, 28, 23, 59, tzinfo=UTC).timestamp() * 1000)
"""A leap year's February is about to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operation. Numbers pick among what there is."""

    what: str
    number: int = 0
    amounts: Amounts = Amounts()
    digest: str | None = None
    is_stream: bool = False
    limits: tuple[LevelLimits, ...] = ()


_SMALL = st.one_of(st.none(), st.integers(0, 6))
_AMOUNTS = st.builds(
    Amounts, tokens=st.integers(0, 4), nano_usd=st.integers(0, 4), compile_cpu_us=st.integers(0, 4_000)
)
_WINDOWS = st.lists(
    st.builds(
        WindowLimits,
        period=st.sampled_from([Span(seconds=20), Span(seconds=60), Span(seconds=86_400), CalendarMonth()]),
        max_requests=_SMALL,
        max_tokens=_SMALL,
        max_nano_usd=_SMALL,
        max_compile_cpu_ms=_SMALL,
        max_unique_digests=_SMALL,
    ),
    max_size=3,
    unique_by=lambda window: window.period.spelling,
).map(tuple)
_LIMITS = st.builds(LevelLimits, max_concurrent_requests=_SMALL, max_concurrent_streams=_SMALL, windows=_WINDOWS)
_STEPS = st.lists(
    st.one_of(
        st.builds(
            Step,
            what=st.just("reserve"),
            number=st.integers(0, 3),
            amounts=_AMOUNTS,
            digest=st.sampled_from([None, "a", "b", "c"]),
            is_stream=st.booleans(),
        ),
        st.builds(Step, what=st.just("settle"), number=st.integers(0, 20), amounts=_AMOUNTS),
        st.builds(Step, what=st.sampled_from(["renew", "look", "charge"]), number=st.integers(0, 20), amounts=_AMOUNTS),
        st.builds(Step, what=st.just("wait"), number=st.sampled_from([1, 5_000, 20_000, 31_000, 86_400_000])),
        st.builds(Step, what=st.just("limits"), limits=st.tuples(_LIMITS, _LIMITS, _LIMITS)),
    ),
    min_size=1,
    max_size=40,
)
_KEYS = ("one", "two")


def accounts_of(number: int, limits: tuple[LevelLimits, ...]) -> Accounts:
    """A key's, its team's if it is of one, and its tenant's."""
    tenant = TenantId("acme {1}")
    names = [
        AccountName(tenant=tenant, level=Level.KEY, subject=_KEYS[number % 2]),
        *([AccountName(tenant=tenant, level=Level.TEAM, subject="red:x")] if number % 3 else []),
        AccountName(tenant=tenant, level=Level.TENANT),
    ]
    by_level = dict(zip(Level, limits, strict=True))
    return tuple(LimitedAccount(name=name, limits=by_level[name.level]) for name in names)


@given(_STEPS, st.tuples(_LIMITS, _LIMITS, _LIMITS))
@example(
    [
        Step(what="reserve"),
        Step(what="reserve"),
        Step(what="wait", number=31_000),
        Step(what="look"),
        Step(what="look"),
    ],
    (LevelLimits(), LevelLimits(), LevelLimits()),
)
@example(
    [
        Step(what="reserve", amounts=Amounts(nano_usd=2**53 - 10)),
        Step(what="settle", amounts=Amounts(nano_usd=2**53 - 3)),
        Step(what="reserve", amounts=Amounts(nano_usd=2)),
        Step(what="reserve", amounts=Amounts(nano_usd=3)),
    ],
    (
        LevelLimits(),
        LevelLimits(),
        LevelLimits(windows=(WindowLimits(period=CalendarMonth(), max_nano_usd=2**53 - 1),)),
    ),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_ledgers_give_the_same_answers(
    redis: RedisServer, steps: list[Step], limits: tuple[LevelLimits, ...]
) -> None:
    redis.client.flushall()
    asyncio.run(_compare(redis.url, steps, limits))


async def _compare(url: str, steps: list[Step], limits: tuple[LevelLimits, ...]) -> None:
    now = START_MS
    lost: list[list[int]] = [[], []]
    here = MemoryBudgetLedger(lease_seconds=LEASE_SECONDS, now_ms=lambda: now, on_lost=lost[0].append)
    there = RedisBudgetLedger(
        RedisLink(url, timeout_seconds=5), lease_seconds=LEASE_SECONDS, now_ms=lambda: now, on_lost=lost[1].append
    )
    leases: list[tuple[Accounts, str]] = []
    try:
        for place, step in enumerate(steps):
            accounts = accounts_of(step.number, limits)
            held = leases[step.number % len(leases)] if leases else (accounts, "never made")
            match step.what:
                case "reserve":
                    demand = Demand(amounts=step.amounts, digest=step.digest, is_stream=step.is_stream)
                    leases.append((accounts, str(place)))
                    first = await here.reserve(accounts, demand, str(place))
                    assert await there.reserve(accounts, demand, str(place)) == first
                case "settle":
                    settled = await here.settle(*held, step.amounts)
                    assert await there.settle(*held, step.amounts) == settled
                case "charge":
                    await here.charge(accounts, step.amounts)
                    assert await there.charge(accounts, step.amounts) is None
                case "renew":
                    await here.renew(*held)
                    assert await there.renew(*held) is None
                case "wait":
                    now += step.number
                    await here.tend()
                case "limits":
                    limits = step.limits
                case _:
                    assert await there.standings(accounts) == await here.standings(accounts)
        accounts = accounts_of(1, limits)
        assert await there.standings(accounts) == await here.standings(accounts)
        assert lost[0] == lost[1]
    finally:
        await there.close()
