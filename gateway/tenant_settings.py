"""Operators' settings for tenants as the request path reads them: from memory, at most a second old."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from registry.identifiers import TenantId
from registry.store.tenant_settings import Setting, TenantSettingsStore, Topic

MAX_AGE_SECONDS: Final = 1.0
"""How long another gateway's change may go unseen here."""
_MAX_KEPT: Final = 4096


class TenantSettings:
    """A tenant's documents of one topic, kept for a second."""

    def __init__(self, store: TenantSettingsStore, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.store = store
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
            return kept
        # One question for all that wait: a thousand requests at the turn of the second ask once.
        lock = self._locks.setdefault(address, asyncio.Lock())
        try:
            async with lock:
                kept = self._fresh(address)
                if kept is None:
                    # Its age begins with the question; and what was changed here meanwhile, it may not know.
                    until, num_changes = self._monotonic() + MAX_AGE_SECONDS, self._num_changes
                    kept = await self.store.of_tenant(tenant, topic)
                    if num_changes == self._num_changes:
                        self._keep(address, kept, until)
                return kept
        finally:
            if not lock.locked():
                self._locks.pop(address, None)

    def forget(self, tenant: TenantId, topic: Topic) -> None:
        """The document was changed here: the next question is asked anew."""
        self._num_changes += 1
        self._kept.pop((tenant, topic), None)

    def _fresh(self, address: tuple[TenantId, Topic]) -> Mapping[str, Setting] | None:
        kept = self._kept.get(address)
        return None if kept is None or self._monotonic() >= kept[0] else kept[1]

    def _keep(self, address: tuple[TenantId, Topic], documents: Mapping[str, Setting], until: float) -> None:
        self._kept[address] = (until, documents)
        self._kept.move_to_end(address)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
