"""One database of keys, with a desk and an authenticator whose clock a test turns."""

from datetime import UTC, datetime, timedelta
from typing import Any

from gateway.auth.authenticator import Authenticator
from gateway.auth.key_desk import KeyDesk
from gateway.auth.key_uses import KeyUses
from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.operator import AT_HAND
from gateway.auth.store import KeyStore
from gateway.auth.tenant_store import TenantStore
from gateway.errors import UnauthenticatedError
from policy.roles import Role
from registry.identifiers import TenantId

ACME, OTHER = TenantId("acme"), TenantId("other")
PEPPER = Pepper("a pepper only for tests")
HOUR = timedelta(hours=1)


class World:
    """One database with a desk and an authenticator whose clock the test turns."""

    def __init__(self, store: KeyStore, *, pepper: Pepper = PEPPER) -> None:
        self.store = store
        self.tenants = TenantStore(store.database)
        self.now = 100.0
        self.uses = KeyUses(store, monotonic=lambda: self.now)
        self.gate = Authenticator(store, pepper, uses=self.uses, monotonic=lambda: self.now)
        self.desk = KeyDesk(store, pepper)

    async def issue(self, *, tenant: TenantId = ACME, **changes: Any) -> ApiKey:
        terms: dict[str, Any] = {
            "label": "", "principal": None, "team": None, "roles": frozenset({Role.CALLER}), "scopes": None,
            "expires_at": None, "by": AT_HAND, "at": datetime.now(UTC),
        }  # fmt: skip
        key, _ = await self.desk.issue(tenant=tenant, **(terms | changes))
        return key

    async def takes(self, key: ApiKey) -> bool:
        try:
            caller = await self.gate.authenticate(f"Bearer {key.text}")
        except UnauthenticatedError:
            return False
        assert caller.key_id == key.key_id
        return True


async def opened(database_url: str, **options: Any) -> World:
    world = World(await KeyStore.open(database_url), **options)
    for tenant in (ACME, OTHER):
        if await world.tenants.find(tenant) is None:
            await world.tenants.create(tenant, name="", by=AT_HAND, at=datetime.now(UTC))
    return world
