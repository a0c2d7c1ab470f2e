"""Generations that are asked for under an `Idempotency-Key`."""

from typing import Any

import httpx

from tests.gateway.twins import World

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


async def ask(world: World, body: Any, *, key: str = "one", path: str = CHAT) -> httpx.Response:
    return await world.client.post(path, json=body, headers={"Idempotency-Key": key})


def code_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]
