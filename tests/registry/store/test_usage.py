"""Counts add up, whoever flushes them and however often."""

import asyncio
from datetime import date, timedelta

from registry.identifiers import RevisionId
from registry.store.bounds import MAX_USAGE_DAYS
from registry.store.records import DayUsage, UsageCount
from registry.store.usage import UsageStore
from tests.registry.store.world import ACME, INVOICE, NOON, OTHER, later, opened

DAY = date(2026, 3, 1)


def count(revision_id: RevisionId, requests: int, *, day: int = 0, at: float = 0) -> UsageCount:
    return UsageCount(
        revision_id=revision_id, day=DAY + timedelta(days=day), num_requests=requests, last_used_at=later(at)
    )


async def test_requests_are_added_up_by_revision_and_day(database_url: str) -> None:
    async with opened(database_url) as world:
        store = UsageStore(world.database)
        first, second, _unused = [(await world.register(content)).revision.revision_id for content in (1, 2, 3)]
        await store.add([count(first, 2, at=5), count(second, 1), count(first, 3, at=9), count(first, 4, day=1, at=7)])
        await store.add([count(first, 10, at=1)])
        await store.add([])
        newest, oldest = await store.usage(ACME, INVOICE)
        assert (newest.number, newest.num_requests, newest.last_used_at) == (2, 1, NOON)
        assert (oldest.revision_id, oldest.number, oldest.num_requests) == (first, 1, 19)
        assert oldest.last_used_at == later(9)
        assert oldest.days == (
            DayUsage(day=DAY + timedelta(days=1), num_requests=4),
            DayUsage(day=DAY, num_requests=15),
        )
        assert await store.usage(OTHER, INVOICE) == ()


async def test_days_long_past_count_in_the_total_only(database_url: str) -> None:
    async with opened(database_url) as world:
        store = UsageStore(world.database)
        revision_id = (await world.register(1)).revision.revision_id
        await store.add([count(revision_id, 1, day=day) for day in range(MAX_USAGE_DAYS + 5)])
        (usage,) = await store.usage(ACME, INVOICE)
        assert usage.num_requests == MAX_USAGE_DAYS + 5
        assert len(usage.days) == MAX_USAGE_DAYS
        assert usage.days[0].day == DAY + timedelta(days=MAX_USAGE_DAYS + 4)


async def test_flushes_at_once_lose_nothing(database_url: str) -> None:
    async with opened(database_url) as world:
        store = UsageStore(world.database)
        ids = [(await world.register(content)).revision.revision_id for content in range(1, 6)]
        await asyncio.gather(
            *(store.add([count(each, 1) for each in (ids if turn % 2 else ids[::-1])]) for turn in range(20))
        )
        assert [usage.num_requests for usage in await store.usage(ACME, INVOICE)] == [20] * 5
