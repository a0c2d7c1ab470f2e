"""The lease on an `Idempotency-Key`: who waits while an answer is made, and what comes where its maker is gone."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway import generation_lease
from gateway.services import SERVICES, Services
from registry.revision import Actor
from registry.store.tenant_settings import Topic
from tests.gateway.keyed import CHAT, ask, code_of
from tests.gateway.serving import served_gateway
from tests.gateway.twins import Broken, NodeTwin, World, chat, gateway_with, says, until


async def let_twins_join(world: World) -> None:
    """The tenant's serving policy lets a request wait for its running twin."""
    services = getattr(world.app.state, SERVICES)
    assert isinstance(services, Services)
    record = await services.authenticator.authenticate(f"Bearer {world.key}")
    actor: Actor = record.actor
    document = {"running_twin": "join"}
    answered = await world.client.put(f"/v1/admin/tenants/{actor.tenant}/serving-policy", json=document)
    assert answered.status_code == 200, answered.text
    services.tenant_settings.forget(actor.tenant, Topic.SERVING)


async def test_while_the_first_runs_its_twin_is_told_to_wait(tmp_path: Path) -> None:
    gate = asyncio.Event()
    parts = says("hel", "lo", end="end_of_sequence", accepting=None)
    node = NodeTwin(script=lambda _: [*parts[:2], gate, *parts[2:]])
    async with gateway_with(tmp_path, node=node) as world, asyncio.TaskGroup() as group:
        first = group.create_task(ask(world, chat()))
        await until(lambda: node.num_open == 1)
        twin = await ask(world, chat())
        gate.set()
        await first
        later = await ask(world, chat())
    assert code_of(twin) == (409, "idempotency_in_progress")
    assert twin.headers["retry-after"] == "5"
    assert first.result().status_code == 200
    assert later.content == first.result().content
    assert len(node.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_where_policy_says_so_a_twin_waits_and_gets_the_same(tmp_path: Path, stream: bool) -> None:  # noqa: FBT001
    gate = asyncio.Event()
    parts = says("hel", "lo", end="end_of_sequence", accepting=None)
    node = NodeTwin(script=lambda _: [*parts[:2], gate, *parts[2:]])
    async with gateway_with(tmp_path, node=node) as world, asyncio.TaskGroup() as group:
        await let_twins_join(world)
        first = group.create_task(ask(world, chat(stream=stream)))
        await until(lambda: node.num_open == 1)
        twins = [group.create_task(ask(world, chat(stream=stream))) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert not any(twin.done() for twin in twins)
        gate.set()
    answers = [task.result() for task in (first, *twins)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true", "true", "true"]
    assert len(node.requests) == 1


async def test_a_twin_that_waits_takes_over_where_the_first_comes_to_nothing(tmp_path: Path) -> None:
    gate = asyncio.Event()
    parts = says("hel", "lo", end="end_of_sequence", accepting=None)
    scripts: Iterator[list[Any]] = iter([[*parts[:2], gate, Broken], parts])
    node = NodeTwin(script=lambda _: next(scripts))
    async with gateway_with(tmp_path, node=node) as world, asyncio.TaskGroup() as group:
        await let_twins_join(world)
        first = group.create_task(ask(world, chat()))
        await until(lambda: node.num_open == 1)
        twin = group.create_task(ask(world, chat()))
        await asyncio.sleep(0.05)
        gate.set()
    assert first.result().status_code == 502
    assert twin.result().status_code == 200
    assert "idempotent-replayed" not in twin.result().headers


async def test_a_caller_who_left_and_asks_again_has_a_new_answer(tmp_path: Path) -> None:
    never = asyncio.Event()
    parts = says("hel", "lo", end="end_of_sequence", accepting=None)
    scripts: Iterator[list[Any]] = iter([[*parts[:2], never], parts])
    node = NodeTwin(script=lambda _: next(scripts))
    async with served_gateway(tmp_path, node=node) as (url, key), httpx.AsyncClient(base_url=url) as client:
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "one"}
        with pytest.raises(httpx.ReadTimeout):
            await client.post(CHAT, json=chat(), headers=headers, timeout=httpx.Timeout(10, read=0.5))
        await until(lambda: node.num_open == 0)

        async def again() -> bool:
            answers.append(await client.post(CHAT, json=chat(), headers=headers))
            return answers[-1].status_code != 409

        answers: list[httpx.Response] = []
        await until(again)
    assert answers[-1].status_code == 200
    assert "idempotent-replayed" not in answers[-1].headers
    assert len(node.requests) == 2


async def test_the_lease_is_renewed_while_the_answer_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation_lease, "_RENEW_SECONDS", 0.05)
    gate = asyncio.Event()
    parts = says("hel", "lo", end="end_of_sequence", accepting=None)
    node = NodeTwin(script=lambda _: [*parts[:2], gate, *parts[2:]])
    database = tmp_path / "gateway.db"

    def lease_ends() -> str:
        with sqlite3.connect(database) as connection:
            row = connection.execute("SELECT lease_expires_at FROM idempotency_records").fetchone()
        connection.close()
        return str(row[0])

    async with gateway_with(tmp_path, node=node) as world, asyncio.TaskGroup() as group:
        first = group.create_task(ask(world, chat()))
        await until(lambda: node.num_open == 1)
        before = lease_ends()
        await until(lambda: lease_ends() > before)
        gate.set()
        assert (await first).status_code == 200


async def test_a_dead_gateways_lease_ends_and_the_request_runs_again(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("a", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node) as world:
        await ask(world, chat())
        with sqlite3.connect(tmp_path / "gateway.db") as connection:
            # As it stands where a gateway died on the way, more than a lease ago.
            connection.execute(
                "UPDATE idempotency_records SET status = NULL, body = NULL, lease_expires_at = '2020-01-01 00:00:00'"
            )
        connection.close()
        again = await ask(world, chat())
    assert again.status_code == 200
    assert "idempotent-replayed" not in again.headers
    assert len(node.requests) == 2
