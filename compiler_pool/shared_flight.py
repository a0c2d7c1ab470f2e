"""At most one compile of a contract among all processes that share a Redis, while it answers.

Who gets the lease compiles; the others look again until the result is there, the lease is free, or their own time is
up. A Redis that does not answer costs nobody a compile: then each process compiles for itself.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from compiler_pool.artifact import ArtifactAddress
from compiler_pool.cache_metrics import CacheMetrics
from compiler_pool.redis_leases import Found, Granted, Held, RedisLeases
from compiler_pool.redis_link import Unanswered
from compiler_pool.standing import Standing

Outcome = TypeVar("Outcome")

_FIRST_PAUSE_SECONDS: Final = 0.005
_MAX_PAUSE_SECONDS: Final = 0.05
"""Between two looks: twenty a second for each contract that a process waits for."""
_RENEWALS: Final = 3
"""A lease is renewed so many times in its life: one renewal may be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computed(Generic[Outcome]):
    """This process did it."""

    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """Another process was at it when the time was up."""


class SharedFlight:
    """One for a process; inside it, a single flight has already joined those who ask for the same."""

    def __init__(self, leases: RedisLeases, metrics: CacheMetrics) -> None:
        self._leases, self._metrics = leases, metrics

    async def run(
        self,
        address: ArtifactAddress,
        standing: Standing,
        compute: Callable[[], Awaitable[Outcome]],
        *,
        deadline: float,
    ) -> Computed[Outcome] | Found | Late:
        """Compute, or find what another process computed. `compute` puts its result where the others look.

        `deadline` is in `time.monotonic()`.
        """
        pause = _FIRST_PAUSE_SECONDS
        while True:
            match await self._leases.take(address, standing.urgency):
                case Found() as found:
                    self._metrics.leased("found")
                    return found
                case Granted() as granted:
                    self._metrics.leased("granted")
                    return Computed(outcome=await self._lead(granted, compute))
                case Unanswered():
                    self._metrics.leased("unanswered")
                    return Computed(outcome=await compute())
                case Held():
                    left = deadline - time.monotonic()
                    if left <= 0:
                        self._metrics.leased("late")
                        return Late()
                    await asyncio.sleep(min(pause, left))
                    pause = min(pause * 1.5, _MAX_PAUSE_SECONDS)

    async def _lead(self, granted: Granted, compute: Callable[[], Awaitable[Outcome]]) -> Outcome:
        is_over = asyncio.Event()
        renewing = asyncio.get_running_loop().create_task(self._renew(granted, is_over))
        try:
            return await compute()
        finally:
            is_over.set()
            await renewing  # at most as long as Redis may take for one command
            # After the result was put, or those who wait would find neither.
            await self._leases.release(granted)

    async def _renew(self, granted: Granted, is_over: asyncio.Event) -> None:
        while True:
            try:
                async with asyncio.timeout(self._leases.lease_seconds / _RENEWALS):
                    await is_over.wait()
                    return
            except TimeoutError:
                await self._leases.renew(granted)
