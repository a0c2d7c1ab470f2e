"""Asking a neighbour who it is, again and again, without ever giving up."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

_log = structlog.get_logger(__name__)


class Poller:
    """Runs `refresh` every `seconds`, and at once when woken. `refresh` turns the failures it knows into state."""

    def __init__(self, refresh: Callable[[], Awaitable[None]], *, seconds: float) -> None:
        self._refresh = refresh
        self._seconds = seconds
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Ask now: something that was seen says that the last answer is out of date."""
        self._woken.set()

    async def look(self) -> None:
        """Ask once. What `refresh` did not foresee is logged, and asked again next time."""
        try:
            await self._refresh()
        except Exception:
            _log.exception("asking a neighbour failed")

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._woken.clear()
            await self.look()
            try:
                async with asyncio.timeout(self._seconds):
                    await self._woken.wait()
            except TimeoutError:
                continue
