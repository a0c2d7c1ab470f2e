"""Compiled artifacts and deterministic refusals, kept by artifact key.

A cache holds only what may be lost and what would come out the same again: resource exhaustion and crashes are never
remembered. Keys include the tenant's partition, so entries of one tenant are out of another's reach by construction.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from compiler_pool.artifact import ArtifactAddress, ArtifactKey

Answer = TypeVar("Answer")


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


class ArtifactCache(Protocol):
    """Entries by address. `get` answers None for what was never put, has expired or was evicted; neither raises."""

    async def get(self, address: ArtifactAddress) -> CacheEntry | None:
        """The entry under `address`, if there is one."""
        ...

    async def put(self, address: ArtifactAddress, entry: CacheEntry) -> None:
        """Keep `entry` under `address`, as long as there is room."""
        ...


class MemoryArtifactCache:
    """Least recently used goes first; refusals also expire, so that a fixed engine is asked again."""

    def __init__(self, *, max_bytes: int, refusal_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes, self._refusal_seconds, self._clock = max_bytes, refusal_seconds, clock
        self._entries: OrderedDict[ArtifactKey, tuple[ArtifactAddress, CacheEntry, float]] = OrderedDict()
        self._num_bytes = 0

    @property
    def num_bytes(self) -> int:
        """What is held, keys not counted."""
        return self._num_bytes

    async def get(self, address: ArtifactAddress) -> CacheEntry | None:
        """See `ArtifactCache`."""
        key = address.key
        held = self._entries.get(key)
        if held is None:
            return None
        _, entry, expires = held
        if self._clock() >= expires:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry

    def frame(self, key: ArtifactKey) -> tuple[ArtifactAddress, CachedFrame] | None:
        """The artifact of that key and its address. Being asked so makes it no more recently used."""
        held = self._entries.get(key)
        return (held[0], held[1]) if held is not None and isinstance(held[1], CachedFrame) else None

    async def put(self, address: ArtifactAddress, entry: CacheEntry) -> None:
        """See `ArtifactCache`. An entry larger than the whole cache is not kept."""
        key = address.key
        self._drop(key)
        size = num_bytes_of(entry)
        if size > self._max_bytes:
            return
        expires = self._clock() + self._refusal_seconds if isinstance(entry, CachedRefusal) else float("inf")
        self._entries[key] = (address, entry, expires)
        self._num_bytes += size
        while self._num_bytes > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: ArtifactKey) -> None:
        held = self._entries.pop(key, None)
        if held is not None:
            self._num_bytes -= num_bytes_of(held[1])


class SingleFlight(Generic[Answer]):
    """At most one computation per key at a time; who asks meanwhile gets the same answer.

    The computation belongs to all who wait: it is cancelled when the last of them has gone, and not before.
    """

    def __init__(self) -> None:
        self._flights: dict[ArtifactKey, _Flight[Answer]] = {}

    async def run(
        self,
        key: ArtifactKey,
        compute: Callable[[], Awaitable[Answer]],
        *,
        claim: Callable[[Answer | None], None] = lambda _: None,
    ) -> tuple[Answer, bool]:
        """The answer for `key`, and whether this call joined a computation that somebody else had started.

        Of all who wait for one computation exactly one has its `claim` called: the first who gets the answer, with it;
        or, when nobody gets it, the last to go, with None unless an answer had come in that moment. Who started it
        comes first while it waits.
        """
        flight = self._flights.get(key)
        has_joined = flight is not None
        if flight is None:
            flight = _Flight(task=asyncio.ensure_future(_awaited(compute)))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda _: self._land(key, flight))
        flight.num_waiting += 1
        has_answer = False
        try:
            answer = await asyncio.shield(flight.task)
            has_answer = True
            return answer, has_joined
        finally:
            flight.num_waiting -= 1
            if not flight.is_claimed and (has_answer or flight.num_waiting == 0):
                flight.is_claimed = True
                claim(_answer(flight.task))
            if flight.num_waiting == 0 and not flight.task.done():
                # Nobody may join a flight that is about to end: the next one starts its own.
                self._land(key, flight)
                flight.task.cancel()

    def _land(self, key: ArtifactKey, flight: "_Flight[Answer]") -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


@dataclass(slots=True, kw_only=True)
class _Flight(Generic[Answer]):
    task: "asyncio.Future[Answer]"
    num_waiting: int = 0
    is_claimed: bool = False


def _answer(task: "asyncio.Future[Answer]") -> Answer | None:
    has_answer = task.done() and not task.cancelled() and task.exception() is None
    return task.result() if has_answer else None


async def _awaited(compute: Callable[[], Awaitable[Answer]]) -> Answer:
    return await compute()
