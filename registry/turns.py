"""So many at once of what costs processor time; where more wait, tenants take turns."""

from asyncio import CancelledError, Future, get_running_loop
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from registry.identifiers import TenantId

MAX_AT_ONCE: Final = 2
"""Parsing, looking through and reading texts of whatever kind: more would only take turns with the event loop, and keep
in memory meanwhile what it has made."""


class Turns:
    """One tenant's burst delays its own others first: whoever comes meanwhile waits for at most one of its turns.

    Of one event loop. Within a tenant, first come first served.
    """

    def __init__(self, most: int = MAX_AT_ONCE) -> None:
        self._num_free = most
        self._waiting: OrderedDict[TenantId, deque[Future[None]]] = OrderedDict()
        """Lines that are not empty, in the order of their turns."""

    @asynccontextmanager
    async def of(self, tenant: TenantId) -> AsyncIterator[None]:
        """A turn of the tenant's, for the length of the block."""
        await self._take(tenant)
        try:
            yield
        finally:
            self._give()

    async def _take(self, tenant: TenantId) -> None:
        if self._num_free:
            self._num_free -= 1
            return
        turn: Future[None] = get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        try:
            await turn
        except CancelledError:
            if turn.done() and not turn.cancelled():
                self._give()  # it had been given in the same moment
            else:
                self._leave(tenant, turn)
            raise

    def _leave(self, tenant: TenantId, turn: Future[None]) -> None:
        line = self._waiting.get(tenant)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._waiting[tenant]

    def _give(self) -> None:
        """Hand the turn to the next tenant in line, which goes to the end with those of it that still wait."""
        while self._waiting:
            tenant, line = self._waiting.popitem(last=False)
            turn = line.popleft()
            if line:
                self._waiting[tenant] = line
            if not turn.done():  # else it was cancelled just now, and its task has not run yet to leave the line
                turn.set_result(None)
                return
        self._num_free += 1
