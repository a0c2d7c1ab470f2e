"""Usage is counted in bounded memory, written down in batches, and not lost to a database that is away."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import pytest
import structlog

from gateway import usage
from gateway.metrics import GatewayMetrics
from gateway.usage import UsageCounter
from registry.errors import StoreUnavailableError
from registry.identifiers import RevisionId
from registry.store.records import UsageCount

DAY = datetime(2026, 5, 1, 23, 59, tzinfo=UTC)
ONE, TWO = RevisionId("rev_1"), RevisionId("rev_2")


class Ledger:
    """Remembers, or is away."""

    def __init__(self) -> None:
        self.batches: list[list[UsageCount]] = []
        self.is_away = False

    async def add(self, counts: Sequence[UsageCount]) -> None:
        if self.is_away:
            raise StoreUnavailableError
        self.batches.append(list(counts))

    @property
    def totals(self) -> dict[tuple[RevisionId, date], int]:
        found: dict[tuple[RevisionId, date], int] = {}
        for count in (count for batch in self.batches for count in batch):
            found[count.revision_id, count.day] = found.get((count.revision_id, count.day), 0) + count.num_requests
        return found


async def test_requests_are_added_up_by_revision_and_day() -> None:
    ledger, at = Ledger(), [DAY]
    counter = UsageCounter(ledger, GatewayMetrics(), now=lambda: at[0])
    for revision in (ONE, ONE, TWO):
        counter.count(revision)
    at[0] += timedelta(minutes=2)
    counter.count(ONE)
    await counter.flush()
    await counter.flush()
    assert len(ledger.batches) == 1
    today, tomorrow = date(2026, 5, 1), date(2026, 5, 2)
    assert ledger.totals == {(ONE, today): 2, (TWO, today): 1, (ONE, tomorrow): 1}
    assert {count.last_used_at for count in ledger.batches[0]} == {DAY, DAY + timedelta(minutes=2)}


async def test_what_cannot_be_written_is_counted_on() -> None:
    ledger = Ledger()
    counter = UsageCounter(ledger, GatewayMetrics(), now=lambda: DAY)
    counter.count(ONE)
    ledger.is_away = True
    with structlog.testing.capture_logs() as lines:
        await counter.flush()
    assert [line["log_level"] for line in lines] == ["warning"]
    counter.count(ONE)
    ledger.is_away = False
    await counter.close()
    assert ledger.totals == {(ONE, DAY.date()): 2}


async def test_memory_is_bounded_and_what_is_not_counted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MAX_COUNTED", 3)
    ledger, metrics = Ledger(), GatewayMetrics()
    counter = UsageCounter(ledger, metrics, now=lambda: DAY)
    for number in range(5):
        counter.count(RevisionId(f"rev_{number}"))
    counter.count(RevisionId("rev_0"))
    await counter.flush()
    assert sum(ledger.totals.values()) == 4
    (dropped,) = metrics.usage_dropped.collect()
    assert dropped.samples[0].value == 2


async def test_a_large_count_is_written_in_several_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_MAX_BATCH", 2)
    ledger = Ledger()
    counter = UsageCounter(ledger, GatewayMetrics(), now=lambda: DAY)
    for number in range(5):
        counter.count(RevisionId(f"rev_{number}"))
    await counter.flush()
    assert [len(batch) for batch in ledger.batches] == [2, 2, 1]


async def test_a_shutdown_does_not_wait_for_a_database_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        async def add(self, counts: Sequence[UsageCount]) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(usage, "_LAST_FLUSH_SECONDS", 0.01)
    counter = UsageCounter(Silent(), GatewayMetrics(), now=lambda: DAY)
    counter.count(ONE)
    with structlog.testing.capture_logs() as lines:
        await counter.close()
    assert [line["log_level"] for line in lines] == ["warning"]
