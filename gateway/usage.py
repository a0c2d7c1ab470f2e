"""How often each revision was served, counted here and written down every few seconds, so that no request waits for it.

What a process counted in its last seconds is lost when it is killed; nothing else is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, date, datetime
from typing import Protocol

import structlog

from gateway.metrics import GatewayMetrics
from registry.errors import RegistryError
from registry.identifiers import RevisionId
from registry.store.records import UsageCount

_log = structlog.get_logger(__name__)

FLUSH_SECONDS = 5.0
MAX_COUNTED = 10_000
"""Revisions and days between two flushes; of more, requests are served and not counted, and a metric says so."""
_MAX_BATCH = 500
"""Rows of one transaction."""
_LAST_FLUSH_SECONDS = 2.0
"""How long a shutdown waits for the database."""


class UsageLedger(Protocol):
    """Where counts are added up (`registry.store.usage`)."""

    def add(self, counts: Sequence[UsageCount]) -> Awaitable[None]:
        """Add all of them, or none."""
        ...


class UsageCounter:
    """Counts in memory. Calling order: `count` at any time, `run` in one task, `close` at the end."""

    def __init__(
        self, ledger: UsageLedger, metrics: GatewayMetrics, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._ledger = ledger
        self._metrics = metrics
        self._now = now
        self._counts: dict[tuple[RevisionId, date], tuple[int, datetime]] = {}
        self._writing = asyncio.Lock()

    def count(self, revision_id: RevisionId) -> None:
        """One request has been given to a node under this revision."""
        at = self._now()
        key = (revision_id, at.date())
        known = self._counts.get(key)
        if known is None and len(self._counts) >= MAX_COUNTED:
            self._metrics.usage_dropped.inc()
            return
        self._counts[key] = (1 if known is None else known[0] + 1, at)

    async def flush(self) -> None:
        """Write down what was counted so far, after a flush under way; what cannot be written is counted on."""
        async with self._writing:
            while self._counts:
                batch = dict(list(self._counts.items())[:_MAX_BATCH])
                for key in batch:
                    del self._counts[key]
                try:
                    await self._ledger.add(
                        [
                            UsageCount(revision_id=revision_id, day=day, num_requests=number, last_used_at=at)
                            for (revision_id, day), (number, at) in batch.items()
                        ]
                    )
                except RegistryError as error:
                    self._take_back(batch)
                    _log.warning("usage could not be written down", why=str(error))
                    return
                except BaseException:
                    self._take_back(batch)
                    raise

    def _take_back(self, batch: dict[tuple[RevisionId, date], tuple[int, datetime]]) -> None:
        for key, (number, at) in batch.items():
            since, last = self._counts.get(key, (0, at))
            self._counts[key] = (since + number, max(last, at))

    async def run(self) -> None:
        """Flush again and again, until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            try:
                await self.flush()
            except Exception:
                _log.exception("usage could not be written down")

    async def close(self) -> None:
        """Flush once more, for a moment."""
        try:
            async with asyncio.timeout(_LAST_FLUSH_SECONDS):
                await self.flush()
        except TimeoutError:
            _log.warning("usage of the last seconds is lost: the database does not answer")
