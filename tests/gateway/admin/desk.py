"""A gateway with keys of several tenants and roles, as tests of the admin API ask it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from policy.roles import Role
from policy.scopes import Scope
from registry.identifiers import PrincipalId, TenantId
from tests.gateway.twins import PEPPER, World, gateway_with

TENANTS = "/v1/admin/tenants"


@dataclass(slots=True)
class Desk:
    """A gateway, with keys of several tenants and roles. The client's own key is the installation's operator's."""

    world: World
    directory: Path

    @property
    def client(self) -> httpx.AsyncClient:
        return self.world.client

    async def key(self, tenant: str, *roles: Role, scopes: frozenset[Scope] | None = None) -> str:
        """A key made at hand."""
        store = await KeyStore.open(self.world.settings.database_url)
        made = await issue_key(
            store, Pepper(PEPPER), tenant=TenantId(tenant), label="", at=datetime.now(UTC),
            principal=PrincipalId(f"of-{tenant}"), roles=frozenset(roles), scopes=scopes,
        )  # fmt: skip
        await store.close()
        return made.text

    async def ask(
        self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str
    ) -> tuple[int, Any]:
        """Status and body."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        answer = await self.client.request(method, path, json=body, headers=sent)
        return answer.status_code, answer.json()

    async def done(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Any:
        status, answer = await self.ask(method, path, body, key=key)
        assert status in {200, 201}, answer
        return answer

    async def refused(
        self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str
    ) -> tuple[int, str]:
        status, answer = await self.ask(method, path, body, key=key, **headers)
        return status, answer["error"]["code"]


@asynccontextmanager
async def desk(directory: Path, **settings: Any) -> AsyncIterator[Desk]:
    async with gateway_with(directory, **settings) as world:
        yield Desk(world, directory)
