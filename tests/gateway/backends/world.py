"""A gateway over twins and one server that speaks OpenAI's API behind a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.gateway.openai_stub import OpenAIStub
from tests.gateway.serving import served
from tests.gateway.twins import World, chat, gateway_with

UPSTREAM = "cloud-large"
"""What callers call the model of the other server."""
SECRET = "sk-a-secret-of-the-operator"


@asynccontextmanager
async def gateway_before(
    directory: Path, stub: OpenAIStub, *, policy: Any = None, backend: Any = None, **settings: Any
) -> AsyncIterator[World]:
    """A gateway before `stub`; `policy` is the tenant's, `backend` what its settings have beside the necessary."""
    async with served(stub.app) as url:
        one = {
            "name": "cloud",
            "base_url": f"{url}/v1",
            "api_key": SECRET,
            "models": {UPSTREAM: "vendor/large-1"},
            "max_attempts": 1,
        } | (backend or {})
        async with gateway_with(directory, openai_backends=[one], **settings) as world:
            if policy is not None:
                answer = await world.client.put("/v1/admin/tenants/local/serving-policy", json=policy)
                assert answer.status_code == 200, answer.text
            yield world


def asked(**fields: Any) -> dict[str, Any]:
    """A chat request to the other server's model."""
    return chat(model=UPSTREAM, **fields)


def contracted(schema: Any = None, **fields: Any) -> dict[str, Any]:
    """The same under a contract."""
    sent = {"name": "x", "strict": True, "schema": schema or TITLED}
    return asked(response_format={"type": "json_schema", "json_schema": sent}, **fields)


TITLED = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}


async def sent(world: World, body: dict[str, Any]) -> httpx.Response:
    """The answer to a chat request."""
    return await world.client.post("/v1/chat/completions", json=body)
