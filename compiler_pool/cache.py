"""Compiled artifacts and deterministic refusals, kept by artifact key.

A cache holds only what may be lost and what would come out the same again: resource exhaustion and crashes are never
remembered. Keys include the tenant's partition, so entries of one tenant are out of another's reach by construction.
"""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Protocol

from compiler_pool.artifact import ArtifactAddress, ArtifactKey
from compiler_pool.bounded_cache import BoundedCache

SHARED_PARTITION: Final = "governed"
"""Of the artifacts that all tenants share. No tenant's partition is called so: those are 64 hexadecimal digits."""
_SHARED_WEIGHT: Final = 8.0
"""Everybody's contracts: they give way to a tenant's only once they take eight times its room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedFrame:
    """A framed artifact, and what it cost to make, as the service's own JSON."""

    frame: bytes
    cost: bytes
    cpu_ms: float
    """What remaking it would cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedRefusal:
    """A refusal that is deterministic, as the service's own JSON."""

    answer: bytes
    cpu_ms: float


CacheEntry = CachedFrame | CachedRefusal


def num_bytes_of(entry: CacheEntry) -> int:
    """What the entry takes, its key not counted."""
    return len(entry.frame) + len(entry.cost) if isinstance(entry, CachedFrame) else len(entry.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    address: ArtifactAddress
    entry: CacheEntry
    expires: float


class ArtifactCache(Protocol):
    """Entries by address. `get` answers None for what was never put, has expired or was evicted; neither raises."""

    async def get(self, address: ArtifactAddress) -> CacheEntry | None:
        """The entry under `address`, if there is one."""
        ...

    async def put(self, address: ArtifactAddress, entry: CacheEntry) -> None:
        """Keep `entry` under `address`, as long as there is room."""
        ...


class MemoryArtifactCache:
    """The first tier. Refusals also expire, so that a fixed engine is asked again."""

    def __init__(self, *, max_bytes: int, refusal_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._refusal_seconds, self._clock = refusal_seconds, clock
        self._entries: BoundedCache[ArtifactKey, _Held] = BoundedCache(max_bytes=max_bytes, weight=weight_of)

    @property
    def num_bytes(self) -> int:
        """What is held, keys not counted."""
        return self._entries.num_bytes

    async def get(self, address: ArtifactAddress) -> CacheEntry | None:
        """See `ArtifactCache`."""
        held = self._entries.get(address.key)
        if held is None:
            return None
        if self._clock() >= held.expires:
            self._entries.drop(address.key)
            return None
        return held.entry

    def frame(self, key: ArtifactKey) -> tuple[ArtifactAddress, CachedFrame] | None:
        """The artifact of that key and its address. Being asked so makes it no more recently used."""
        held = self._entries.peek(key)
        return None if held is None or not isinstance(held.entry, CachedFrame) else (held.address, held.entry)

    async def put(self, address: ArtifactAddress, entry: CacheEntry) -> None:
        """See `ArtifactCache`. An entry larger than the whole cache is not kept."""
        expires = self._clock() + self._refusal_seconds if isinstance(entry, CachedRefusal) else float("inf")
        held = _Held(address=address, entry=entry, expires=expires)
        self._entries.put(address.key, held, num_bytes=num_bytes_of(entry), owner=address.tenant_partition)


def weight_of(partition: Hashable) -> float:
    """How many times the room of a tenant a partition may take before it gives way to one."""
    return _SHARED_WEIGHT if partition == SHARED_PARTITION else 1.0
