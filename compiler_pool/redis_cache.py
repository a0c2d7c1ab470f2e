"""The second tier of the artifact cache: records in a Redis that every pool of an installation shares.

Names carry the tenant's partition, so an operator can see and drop one tenant's entries; every name has an expiry, so
`volatile-ttl` evicts what is on a short stay first. Nothing read from there is believed before it is authenticated.
"""

from enum import StrEnum

import structlog

from compiler_pool.artifact import ArtifactAddress
from compiler_pool.cache import CacheEntry
from compiler_pool.cache_metrics import CacheMetrics
from compiler_pool.cache_record import RecordFault, Unusable, open_record, seal_record
from compiler_pool.frame import KeyRing
from compiler_pool.redis_link import RedisLink, Unanswered
from compiler_pool.second_tier import Operation, Silence

_log = structlog.get_logger(__name__)

_MIN_SECONDS = 1


class Put(StrEnum):
    """What became of an entry that was to be kept."""

    WRITTEN = "written"
    OVERSIZED = "oversized"
    """It never will be, here."""
    UNANSWERED = "unanswered"
    """Perhaps another time."""


class RedisArtifactCache:
    """Entries by address. What is not there, not ours, or not answered for is None; nothing raises."""

    def __init__(self, link: RedisLink, ring: KeyRing, *, max_entry_bytes: int, metrics: CacheMetrics) -> None:
        self._link, self._ring, self._metrics = link, ring, metrics
        self.max_entry_bytes = max_entry_bytes

    @property
    def is_down(self) -> bool:
        """Whether Redis has not answered lately."""
        return self._link.is_down

    async def get(self, address: ArtifactAddress) -> CacheEntry | None:
        """The entry, if there is one that can be used."""
        # One byte more than may be: enough to see that there is more, whatever lies there.
        answer = await self._link.ask(Operation.GET, "GETRANGE", name_of(address), 0, self.max_entry_bytes)
        if isinstance(answer, Unanswered):
            if answer.why is Silence.WRONG_TYPE:
                await self._discard(address, RecordFault.MALFORMED)
            return None
        return await self.opened(address, answer.value)

    async def opened(self, address: ArtifactAddress, data: bytes) -> CacheEntry | None:
        """The entry in the bytes that lay under `address`; bytes that are none are deleted. No bytes: no entry."""
        if not data:
            self._metrics.looked("l2", is_hit=False)
            return None
        entry = open_record(data, address, self._ring, max_bytes=self.max_entry_bytes)
        self._metrics.looked("l2", is_hit=not isinstance(entry, Unusable))
        if isinstance(entry, Unusable):
            await self._discard(address, entry.fault)
            return None
        return entry

    async def put(self, address: ArtifactAddress, entry: CacheEntry, *, seconds: float) -> Put:
        """Keep the entry for `seconds`."""
        record = seal_record(address, entry, self._ring)
        if len(record) > self.max_entry_bytes:
            return Put.OVERSIZED
        command = ("SET", name_of(address), record, "EX", max(round(seconds), _MIN_SECONDS))
        answer = await self._link.ask(Operation.PUT, *command)
        return Put.UNANSWERED if isinstance(answer, Unanswered) else Put.WRITTEN

    async def keep(self, address: ArtifactAddress, *, seconds: float) -> bool:
        """Let what is there stay for `seconds` from now."""
        command = ("EXPIRE", name_of(address), max(round(seconds), _MIN_SECONDS))
        return not isinstance(await self._link.ask(Operation.KEEP, *command), Unanswered)

    async def _discard(self, address: ArtifactAddress, fault: RecordFault) -> None:
        self._metrics.discarded(fault)
        _log.warning("a cache entry is not used", fault=fault.value, artifact_key=address.key)
        await self._link.ask(Operation.DROP, "DEL", name_of(address))


def name_of(address: ArtifactAddress) -> str:
    """Where an entry lies. The braces keep it in one slot of a cluster with the lease of the same key."""
    return f"schemagate:artifact:{address.tenant_partition}:{{{address.key}}}"
