"""Over a real Redis: however a request ends, its place is free and what it did not use is given back."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from compiler_pool.protocol import Crashed
from gateway.auth.bootstrap import BOOTSTRAP_TENANT
from gateway.budgets.desk import BudgetDesk, RequestDemand
from gateway.budgets.settings import BudgetSettings
from gateway.services import SERVICES, Services
from tests.gateway.serving import served_gateway
from tests.gateway.twins import Broken, NodeTwin, PoolTwin, World, chat, gateway_with, says, strict, until
from tests.redis_server import RedisServer

CHAT = "/v1/chat/completions"
ACCOUNT = f"schemagate:budget:{{{BOOTSTRAP_TENANT}}}:tenant:"


def over(redis: RedisServer, **settings: Any) -> BudgetSettings:
    return BudgetSettings(redis_url=redis.url, redis_timeout_seconds=settings.pop("timeout", 5), **settings)


def counted(redis: RedisServer, name: str) -> int:
    value = redis.client.hget(f"{ACCOUNT}:counters", name)
    assert isinstance(value, bytes | None)
    return int(value or 0)


def desk_of(world: World) -> BudgetDesk:
    services = getattr(world.app.state, SERVICES)
    assert isinstance(services, Services)
    return services.budgets


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("pool", "node", "used_tokens"),
    [
        (PoolTwin, lambda: NodeTwin(script=lambda _: says('"', "a", '"')), 8),
        (PoolTwin, lambda: NodeTwin(script=lambda _: says("1", end="dead_end", accepting=False)), 6),
        (PoolTwin, lambda: NodeTwin(script=lambda _: [says("1")[0], Broken]), 5),
        (PoolTwin, lambda: NodeTwin(script=lambda _: [*says("1")[:2], asyncio.Event()]), 6),
        (lambda: PoolTwin(answer=lambda _: Crashed(reason="memory")), NodeTwin, 0),
    ],
    ids=["complete", "impossible", "node lost", "deadline passed", "compile crashed"],
)
async def test_a_request_settles_at_what_it_used_and_frees_its_place(
    tmp_path: Path,
    redis: RedisServer,
    *,
    pool: Callable[[], PoolTwin],
    node: Callable[[], NodeTwin],
    used_tokens: int,
    stream: bool,
) -> None:
    settings: dict[str, Any] = {"max_concurrent_requests": 1, "request_seconds": 1.0, "budgets": over(redis)}
    async with gateway_with(tmp_path, pool=pool(), node=node(), **settings) as world:
        await world.client.post(CHAT, json=strict({"type": "string"}, stream=stream))
        assert (counted(redis, "running"), counted(redis, "tokens")) == (0, 0)
        assert counted(redis, "60:tokens") == used_tokens
        assert (await world.client.get("/v1/models")).status_code == 200


async def test_a_caller_who_leaves_pays_for_what_was_made_and_frees_the_place(
    tmp_path: Path, redis: RedisServer
) -> None:
    node = NodeTwin(script=lambda _: [*says("a", "b")[:3], asyncio.Event()])
    async with (
        served_gateway(tmp_path, node=node, budgets=over(redis), max_concurrent_requests=1) as (url, key),
        httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}) as http,
    ):
        async with http.stream("POST", CHAT, json=chat(stream=True)) as response:
            async for line in response.aiter_lines():
                if '"b"' in line:
                    break
            assert counted(redis, "running") == 1
            refused = await http.post(CHAT, json=chat())
        await until(lambda: counted(redis, "running") == 0)
        asked = asyncio.ensure_future(http.post(CHAT, json=chat()))
        await until(lambda: counted(redis, "running") == 1)
        asked.cancel()
        await until(lambda: counted(redis, "running") == 0)
    assert refused.status_code == 429
    assert counted(redis, "60:tokens") == 2 * (5 + 2)


async def test_who_leaves_while_a_reservation_is_under_way_reserves_nothing(tmp_path: Path, redis: RedisServer) -> None:
    async with gateway_with(tmp_path, budgets=over(redis)) as world:
        desk = desk_of(world)
        services = getattr(world.app.state, SERVICES)
        caller = await services.authenticator.authenticate(f"Bearer {world.key}")
        await desk.reserve(caller, RequestDemand())
        redis.pause()
        try:
            reserving = asyncio.ensure_future(desk.reserve(caller, RequestDemand()))
            await asyncio.sleep(0.1)
            reserving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reserving
        finally:
            redis.resume()
        await until(lambda: (counted(redis, "60:requests"), counted(redis, "running")) == (2, 1))


async def test_a_request_that_outlives_its_lease_is_renewed(tmp_path: Path, redis: RedisServer) -> None:
    gate = asyncio.Event()
    node = NodeTwin(script=lambda _: [says()[0], gate, *says("hi", end="end_of_sequence", accepting=None)[1:]])
    async with gateway_with(tmp_path, node=node, budgets=over(redis, lease_seconds=3)) as world:
        running = asyncio.ensure_future(world.client.post(CHAT, json=chat()))
        await until(lambda: counted(redis, "running") == 1)
        first = redis.client.zrange(f"{ACCOUNT}:deadlines", 0, 0, withscores=True)
        await until(lambda: redis.client.zrange(f"{ACCOUNT}:deadlines", 0, 0, withscores=True) != first)
        gate.set()
        assert (await running).status_code == 200
    assert (counted(redis, "running"), counted(redis, "60:tokens")) == (0, 6)


async def test_without_redis_a_gateway_grants_its_share_and_says_so(tmp_path: Path, redis: RedisServer) -> None:
    node = NodeTwin(script=lambda _: says("hi", end="end_of_sequence", accepting=None))
    budgets = over(redis, timeout=0.1, num_replicas=4)
    async with gateway_with(tmp_path, node=node, budgets=budgets, requests_per_minute=10) as world:
        redis.pause()
        try:
            answers = [await world.client.post(CHAT, json=chat()) for _ in range(4)]
            ready = (await world.client.get("/readyz")).json()
            metrics = (await world.client.get("/metrics")).text
        finally:
            redis.resume()

        async def is_told() -> bool:
            await desk_of(world).beat()
            return counted(redis, "60:requests") == 2

        await until(is_told)
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
    assert {answer.headers["x-schemagate-degraded"] for answer in answers} == {"budget"}
    assert answers[0].headers["x-ratelimit-limit-requests"] == "2"
    assert "retry-after" in answers[2].headers
    assert ready["status"] == "degraded"
    assert any("budgets" in reason for reason in ready["reasons"])
    assert "schemagate_gateway_budget_degraded 1.0" in metrics
