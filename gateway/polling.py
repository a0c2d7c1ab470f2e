"""Asking a neighbour who it is, again and again, without ever giving up."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

_log = structlog.get_logger(__name__)


class Poller:
    """Runs `refresh` every `seconds`. `refresh` turns the failures it knows into state."""

    def __init__(self, refresh: Callable[[], Awaitable[None]], *, seconds: float) -> None:
        self._refresh = refresh
        self._seconds = seconds

    async def look(self) -> None:
        """Ask once. What `refresh` did not foresee is logged, and asked again next time."""
        try:
            await self._refresh()
        except Exception:
            _log.exception("asking a neighbour failed")

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(self._seconds)
            await self.look()
