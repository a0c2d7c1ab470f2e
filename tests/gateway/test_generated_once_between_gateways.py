"""One key, two gateways on one database: what one does is what the other knows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx

from tests.gateway.twins import NodeTwin, World, chat, gateway_with, says, until

CHAT = "/v1/chat/completions"
KEYED = {"Idempotency-Key": "one"}


@asynccontextmanager
async def pair(tmp_path: Path, database_url: str, node: NodeTwin) -> AsyncIterator[tuple[World, World]]:
    """Two gateways before one node. Both clients hold the second bootstrap key, which took the place of the first."""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(gateway_with(tmp_path, node=node, database_url=database_url))
        two = await stack.enter_async_context(gateway_with(tmp_path, node=node, database_url=database_url))
        one.client.headers["Authorization"] = f"Bearer {two.key}"
        yield one, two


async def ask(world: World) -> httpx.Response:
    return await world.client.post(CHAT, json=chat(stream=True), headers=KEYED)


async def test_the_answer_of_one_is_given_again_by_the_other(tmp_path: Path, database_url: str) -> None:
    node = NodeTwin(script=lambda _: says("hel", "lo", end="end_of_sequence", accepting=None))
    async with pair(tmp_path, database_url, node) as (one, two):
        first = await ask(one)
        again = await ask(two)
        other = await two.client.post(CHAT, json=chat(), headers=KEYED)
    assert first.status_code == 200, first.text
    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert other.json()["error"]["code"] == "idempotency_conflict"
    assert len(node.requests) == 1


async def test_of_many_at_once_at_both_one_is_made(tmp_path: Path, database_url: str) -> None:
    gate = asyncio.Event()
    parts = says("hel", "lo", end="end_of_sequence", accepting=None)
    node = NodeTwin(script=lambda _: [*parts[:2], gate, *parts[2:]])
    async with pair(tmp_path, database_url, node) as worlds, asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(world)) for world in worlds for _ in range(6)]
        await until(lambda: sum(task.done() for task in asked) == 11)
        gate.set()
    statuses = sorted(task.result().status_code for task in asked)
    assert statuses == [200] + [409] * 11
    assert len(node.requests) == 1
