"""Whether a tenant is there and enabled, for tokens, which name one: at most a second old, absence included."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from gateway.auth.records import TenantRecord
from gateway.auth.tenant_store import TenantStore
from registry.identifiers import TenantId

_MAX_KEPT: Final = 4_096


class TenantLookup:
    """Tenants by id. Only ids that an issuer has signed are asked for."""

    def __init__(
        self, store: TenantStore, *, cache_seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._cache_seconds = cache_seconds
        self._monotonic = monotonic
        self._kept: OrderedDict[TenantId, tuple[float, TenantRecord | None]] = OrderedDict()

    async def find(self, tenant: TenantId) -> TenantRecord | None:
        """The tenant. Raises `StoreUnavailableError`."""
        now = self._monotonic()
        kept = self._kept.get(tenant)
        if kept is not None and now < kept[0]:
            return kept[1]
        record = await self._store.find(tenant)
        self._kept[tenant] = (now + self._cache_seconds, record)
        self._kept.move_to_end(tenant)
        while len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return record

    def forget(self, tenant: TenantId) -> None:
        """It was changed here."""
        self._kept.pop(tenant, None)
