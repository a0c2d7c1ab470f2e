"""The tiers of one pool's cache, wired by its settings."""

from dataclasses import dataclass

from compiler_pool.cache import MemoryArtifactCache
from compiler_pool.cache_metrics import CacheMetrics
from compiler_pool.frame import KeyRing
from compiler_pool.redis_cache import RedisArtifactCache
from compiler_pool.redis_leases import RedisLeases
from compiler_pool.redis_link import RedisLink
from compiler_pool.reuse import ReuseAdmission
from compiler_pool.settings import PoolSettings
from compiler_pool.shared_flight import SharedFlight
from compiler_pool.tiered_cache import TieredArtifactCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """What a pool keeps in memory and shares with others. Without a Redis there is nothing to share with."""

    first: MemoryArtifactCache
    cache: TieredArtifactCache
    shared: SharedFlight | None
    link: RedisLink | None

    @property
    def is_second_down(self) -> bool:
        """Whether there is a second tier, and it does not answer."""
        return self.link is not None and self.link.is_down

    async def close(self) -> None:
        """Close the connections; what is kept stays."""
        if self.link is not None:
            await self.link.close()


def open_tiers(settings: PoolSettings, ring: KeyRing, metrics: CacheMetrics) -> Tiers:
    """Nothing is connected before it is asked for."""
    first = MemoryArtifactCache(max_bytes=settings.cache_bytes, refusal_seconds=settings.refusal_seconds)
    link = second = shared = None
    if settings.redis_url is not None:
        link = RedisLink(
            settings.redis_url.get_secret_value(), timeout_seconds=settings.redis_timeout_seconds, metrics=metrics
        )
        second = RedisArtifactCache(link, ring, max_entry_bytes=settings.redis_max_entry_bytes, metrics=metrics)
        leases = RedisLeases(link, second, lease_seconds=settings.lease_seconds)
        shared = SharedFlight(leases, metrics)
    cache = TieredArtifactCache(
        first,
        second,
        reuse=ReuseAdmission(renew_seconds=settings.redis_keep_seconds / 2),
        trial_seconds=settings.redis_trial_seconds,
        keep_seconds=settings.redis_keep_seconds,
        refusal_seconds=settings.refusal_seconds,
        metrics=metrics,
    )
    return Tiers(first=first, cache=cache, shared=shared, link=link)
