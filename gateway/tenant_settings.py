"""Operators' settings for tenants as the request path reads them: from memory, at most a second old."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from gateway.tasks import TaskOwner
from registry.errors import StoreUnavailableError
from registry.identifiers import TenantId
from registry.store.tenant_settings import Setting, TenantSettingsStore, Topic

MAX_AGE_SECONDS: Final = 1.0
"""How long another gateway's change may go unseen here."""
_AHEAD_SECONDS: Final = 0.5
"""So long before its end a document in use is asked for again, so that nobody waits for the database."""
_MAX_KEPT: Final = 4096

_log = structlog.get_logger(__name__)


class TenantSettings:
    """A tenant's documents of one topic, kept for a second; with `tasks`, renewed beside requests while in use."""

    def __init__(
        self,
        store: TenantSettingsStore,
        *,
        tasks: TaskOwner | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self._tasks = tasks
        self._monotonic = monotonic
        self._kept: OrderedDict[tuple[TenantId, Topic], tuple[float, Mapping[str, Setting]]] = OrderedDict()
        self._locks: dict[tuple[TenantId, Topic], asyncio.Lock] = {}
        self._num_changes = 0

    async def of_tenant(self, tenant: TenantId, topic: Topic) -> Mapping[str, Setting]:
        """All documents of the topic, by subject.

        Raises:
            StoreUnavailableError: the registry's, where the database does not answer.
        """
        address = (tenant, topic)
        kept = self._fresh(address)
        if kept is not None:
            self._renew_ahead(address)
            return kept
        # One question for all that wait: a thousand requests at the turn of the second ask once.
        lock = self._locks.setdefault(address, asyncio.Lock())
        try:
            async with lock:
                kept = self._fresh(address)
                return await self._ask(address) if kept is None else kept
        finally:
            if not lock.locked():
                self._locks.pop(address, None)

    def forget(self, tenant: TenantId, topic: Topic) -> None:
        """The document was changed here: the next question is asked anew."""
        self._num_changes += 1
        self._kept.pop((tenant, topic), None)

    async def _ask(self, address: tuple[TenantId, Topic]) -> Mapping[str, Setting]:
        # Its age begins with the question; and what was changed here meanwhile, it may not know.
        until, num_changes = self._monotonic() + MAX_AGE_SECONDS, self._num_changes
        asked = await self.store.of_tenant(*address)
        if num_changes == self._num_changes:
            self._keep(address, asked, until)
        return asked

    def _renew_ahead(self, address: tuple[TenantId, Topic]) -> None:
        until, _ = self._kept[address]
        if self._tasks is None or address in self._locks or self._monotonic() < until - _AHEAD_SECONDS:
            return
        self._locks[address] = asyncio.Lock()
        self._tasks.start(self._renew(address), name="tenant settings")

    async def _renew(self, address: tuple[TenantId, Topic]) -> None:
        lock = self._locks.setdefault(address, asyncio.Lock())
        try:
            async with lock:
                await self._ask(address)
        except StoreUnavailableError as error:
            # What is kept holds to its end; then whoever needs it asks, and is told.
            _log.warning("settings could not be renewed", topic=address[1].value, why=str(error))
        finally:
            if not lock.locked():
                self._locks.pop(address, None)

    def _fresh(self, address: tuple[TenantId, Topic]) -> Mapping[str, Setting] | None:
        kept = self._kept.get(address)
        return None if kept is None or self._monotonic() >= kept[0] else kept[1]

    def _keep(self, address: tuple[TenantId, Topic], documents: Mapping[str, Setting], until: float) -> None:
        self._kept[address] = (until, documents)
        self._kept.move_to_end(address)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
