"""Keys of several tenants and roles on one gateway, and the contracts that tests talk of."""

import json
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
from policy.roles import ALL_ROLES, Role
from registry.identifiers import PrincipalId, TeamName, TenantId
from tests.gateway.twins import PEPPER, World, gateway_with

INVOICE: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string", "maxLength": 8}, "total": {"type": "integer"}},
    "required": ["id"],
    "additionalProperties": False,
}
NARROWER: dict[str, Any] = INVOICE | {"required": ["id", "total"]}
"""Allows less than `INVOICE`: consumer-safe, and not producer-safe."""
WIDER: dict[str, Any] = INVOICE | {"properties": INVOICE["properties"] | {"note": {"type": "string"}}}
"""Allows more: producer-safe, and not consumer-safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A gateway, seen by whoever holds a key. Each call is made in the name of the key that `client` holds."""

    client: httpx.AsyncClient
    world: World

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """One request; header names with underscores."""
        content = None if body is None else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if content is not None:
            sent["content-type"] = "application/json"
        return await self.client.request(method, path, content=content, headers=sent)

    async def register(self, name: str = "invoice", schema: Any = None, **fields: Any) -> dict[str, Any]:
        """A revision that has to be taken."""
        body = {"name": name, "schema": INVOICE if schema is None else schema, **fields}
        response = await self.ask("POST", "/v1/contracts", body)
        assert response.status_code in {200, 201}, response.text
        answer: dict[str, Any] = response.json()
        return answer

    async def promote(self, number: int, alias: str = "prod", name: str = "invoice") -> dict[str, Any]:
        """An alias that has to move."""
        response = await self.ask("PUT", f"/v1/contracts/{name}/aliases/{alias}", {"revision": number})
        assert response.status_code in {200, 201}, response.text
        answer: dict[str, Any] = response.json()
        return answer

    @asynccontextmanager
    async def holding(
        self, *, tenant: str = "local", principal: str = "somebody", team: str | None = None, roles: Any = ALL_ROLES
    ) -> AsyncIterator["Registry"]:
        """The same gateway, seen by the holder of another key."""
        store = await KeyStore.open(self.world.settings.database_url)
        key = await issue_key(
            store,
            Pepper(PEPPER),
            tenant=TenantId(tenant),
            label="",
            at=datetime.now(UTC),
            principal=PrincipalId(principal),
            team=None if team is None else TeamName(team),
            roles=frozenset(Role(role) for role in roles),
        )
        await store.close()
        transport = httpx.ASGITransport(app=self.world.app)
        headers = {"Authorization": f"Bearer {key.text}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://gateway", headers=headers, timeout=30
        ) as client:
            yield Registry(client=client, world=self.world)


@asynccontextmanager
async def registry(directory: Path, **surroundings: Any) -> AsyncIterator[Registry]:
    """A gateway over twins, seen by the tenant `local` under a key with every role."""
    async with gateway_with(directory, **surroundings) as world:
        yield Registry(client=world.client, world=world)


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Status and code."""
    return response.status_code, response.json()["error"]["code"]
