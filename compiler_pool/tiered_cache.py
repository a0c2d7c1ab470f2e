"""Two tiers as one cache: this process's memory, then what all pools share."""

from compiler_pool.artifact import ArtifactAddress, ArtifactKey
from compiler_pool.cache import CachedFrame, CachedRefusal, CacheEntry, MemoryArtifactCache
from compiler_pool.cache_metrics import CacheMetrics
from compiler_pool.redis_cache import Put, RedisArtifactCache
from compiler_pool.reuse import ReuseAdmission, Stay

_GOVERNED_TIMES = 4
"""A governed contract stays so much longer: a full Redis evicts what is nearest to its end, and these come last."""


class TieredArtifactCache:
    """See `compiler_pool.cache.ArtifactCache`. A `second` that is missing, slow or gone costs only what it held."""

    def __init__(
        self,
        first: MemoryArtifactCache,
        second: RedisArtifactCache | None,
        *,
        reuse: ReuseAdmission,
        trial_seconds: float,
        keep_seconds: float,
        refusal_seconds: float,
        metrics: CacheMetrics,
    ) -> None:
        self._first, self._second, self._reuse, self._metrics = first, second, reuse, metrics
        self._seconds = {Stay.TRIAL: trial_seconds, Stay.KEPT: keep_seconds}
        self._refusal_seconds = refusal_seconds

    async def get(self, address: ArtifactAddress) -> CacheEntry | None:
        """The entry from the nearest tier that has it, which from then on is the first."""
        self._reuse.asked(address.key)
        entry = await self._first.get(address)
        self._metrics.looked("l1", is_hit=entry is not None)
        if isinstance(entry, CachedFrame):
            await self._share(address, entry)
        if entry is not None:
            return entry
        entry = None if self._second is None else await self._second.get(address)
        if entry is not None:
            await self.found(address, entry)
        return entry

    async def put(self, address: ArtifactAddress, entry: CacheEntry) -> None:
        """Keep what was made here, in the second tier for as long as it is worth."""
        await self._first.put(address, entry)
        self._reuse.given(address.key, None)
        await self._share(address, entry)

    async def found(self, address: ArtifactAddress, entry: CacheEntry) -> None:
        """Keep what another process has made and put into the second tier."""
        await self._first.put(address, entry)
        self._reuse.asked(address.key)  # for whoever made it
        # A refusal lives as long as whoever made it has said, wherever it goes.
        if self._second is None or not isinstance(entry, CachedFrame):
            return
        is_due = self._reuse.due(address, entry) is Stay.KEPT
        if is_due and await self._second.keep(address, seconds=self._stay_seconds(address, entry, Stay.KEPT)):
            self._reuse.given(address.key, Stay.KEPT)
            self._metrics.stayed(Stay.KEPT)

    async def used(self, key: ArtifactKey, num_times: int) -> None:
        """Somebody who keeps the artifact has used it so often, without asking here."""
        self._reuse.asked(key, num_times=num_times)
        held = self._first.frame(key)
        if held is not None:
            await self._share(*held)

    async def _share(self, address: ArtifactAddress, entry: CacheEntry) -> None:
        if self._second is None or (stay := self._reuse.due(address, entry)) is None:
            return
        put = await self._second.put(address, entry, seconds=self._stay_seconds(address, entry, stay))
        if put is not Put.UNANSWERED:
            self._metrics.stayed(stay if put is Put.WRITTEN else put)
            # An entry that is too large counts as given: a hit must not frame it again in vain.
            self._reuse.given(address.key, Stay.KEPT if put is Put.OVERSIZED else stay)

    def _stay_seconds(self, address: ArtifactAddress, entry: CacheEntry, stay: Stay) -> float:
        seconds = self._seconds[stay] * (_GOVERNED_TIMES if address.limits == "governed" else 1)
        return min(seconds, self._refusal_seconds) if isinstance(entry, CachedRefusal) else seconds
