"""A gateway beside an issuer that publishes its keys on this machine: tokens at its routes, and keys that change."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.gateway.auth.issuer import Issuer, claims, oidc
from tests.gateway.twins import World, gateway_with, strict


@asynccontextmanager
async def published(issuer: Issuer) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The address of the issuer's keys, and what is said there: a test may change it."""
    said: dict[str, Any] = {"document": issuer.document(), "num_fetched": 0}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        said["num_fetched"] += 1
        body: bytes = said["document"]
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys", said


async def ask(world: World, token: str, method: str, path: str, body: Any = None) -> httpx.Response:
    return await world.client.request(method, path, json=body, headers={"Authorization": f"Bearer {token}"})


async def test_a_token_is_good_for_what_its_claims_allow(tmp_path: Path) -> None:
    issuer = Issuer()
    async with (
        published(issuer) as (url, said),
        gateway_with(tmp_path, oidc=oidc(jwks_url=url, scopes_claim="scope")) as world,
    ):
        early = await ask(world, issuer.token(claims(scope="generate")), "GET", "/v1/models")
        assert early.status_code == 401  # there is no such tenant
        made = await world.client.post("/v1/admin/tenants", json={"id": "acme"})
        assert made.status_code == 201
        author = issuer.token(claims(scope="contracts:write contracts:read", roles=["author"]))
        contract = {"name": "invoice", "schema": {"type": "object"}}
        registered = await ask(world, author, "POST", "/v1/contracts", contract)
        assert registered.status_code == 201, registered.text
        assert registered.json()["revision"]["author"] == "user-1"
        refused = await ask(world, author, "POST", "/v1/chat/completions", strict({"enum": ["ok"]}))
        assert refused.json()["error"]["code"] == "insufficient_scope"
        caller = issuer.token(claims(scope="generate", sub="user-2", roles=None), algorithm="EdDSA")
        answered = await ask(world, caller, "POST", "/v1/chat/completions", strict({"enum": ["ok"]}))
        assert answered.status_code == 200, answered.text
        operator = issuer.token(claims(scope="admin", roles=["operator"]), algorithm="ES256")
        listed = await ask(world, operator, "GET", "/v1/admin/tenants")
        assert [each["id"] for each in listed.json()["data"]] == ["acme"]
        assert said["num_fetched"] == 1
        metrics = (await world.client.get("/metrics")).text
    assert 'authentication_refusals_total{reason="not_good"} 1.0' in metrics
    assert 'authentication_refusals_total{reason="scope"} 1.0' in metrics


async def test_an_issuer_that_says_nothing_of_use_is_an_outage_for_tokens_and_not_for_keys(tmp_path: Path) -> None:
    issuer = Issuer()
    async with published(issuer) as (url, said):
        said["document"] = json.dumps({"error": "maintenance"}).encode()
        async with gateway_with(tmp_path, oidc=oidc(jwks_url=url)) as world:
            answer = await ask(world, issuer.token(), "GET", "/v1/models")
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "identity_provider_unavailable")
            assert answer.headers["retry-after"] == "10"
            confluent = await ask(world, issuer.token(), "GET", "/subjects")
            assert (confluent.status_code, confluent.json()["error_code"]) == (500, 50001)
            assert (await world.client.get("/v1/contracts")).status_code == 200
