"""A thousand requests at one time against a budget for a hundred: a hundred are served, whoever is killed meanwhile."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from gateway.auth.bootstrap import BOOTSTRAP_TENANT
from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from gateway.budgets.limits import stored
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from gateway.budgets.protocol import BudgetSent
from registry.identifiers import PrincipalId, TenantId
from registry.revision import Actor
from registry.store.tenant_settings import TenantSettingsStore, Topic
from tests.gateway.budgets.gateway_process import GatewayProcess, gateway_processes
from tests.gateway.serving import served_gateway
from tests.gateway.twins import PEPPER, NodeTwin, chat, says, until
from tests.redis_server import RedisServer

CHAT = "/v1/chat/completions"
HUNDRED = BudgetSent.model_validate({"windows": [{"period": "month", "max_requests": 100}]})
GENEROUS: dict[str, Any] = {"max_concurrent_requests": 10_000, "requests_per_minute": 10**6}


async def allow(database_url: str, budget: BudgetSent, *, tenant: TenantId = BOOTSTRAP_TENANT) -> str:
    """A key of a tenant whose budget this is."""
    store = await KeyStore.open(database_url)
    at = datetime.now(UTC)
    try:
        key = await issue_key(store, Pepper(PEPPER), tenant=tenant, label="", at=at, principal=PrincipalId("ada"))
        await TenantSettingsStore(store.database).put(
            Actor(tenant=tenant, principal=PrincipalId("olga"), roles=frozenset()),
            tenant,
            Topic.BUDGET,
            "",
            stored(budget),
            expected_version=None,
            at=at,
        )
    finally:
        await store.close()
    return key.text


async def crowd(urls: Sequence[str], key: str, *, num_requests: int, **fields: Any) -> list[httpx.Response]:
    """So many requests at one time, spread over the gateways, each on a connection of its own."""
    headers = {"Authorization": f"Bearer {key}"}
    limits = httpx.Limits(max_connections=None)
    async with AsyncExitStack() as stack:
        # A client looks through all its connections for every request: a crowd takes several.
        clients = [
            await stack.enter_async_context(
                httpx.AsyncClient(headers=headers, limits=limits, timeout=httpx.Timeout(240), verify=False)  # noqa: S501 - plain HTTP: it only saves the reading of certificates
            )
            for _ in range(-(-num_requests // 25))
        ]
        return await asyncio.gather(
            *(
                clients[n % len(clients)].post(urls[n % len(urls)] + CHAT, json=chat(max_tokens=5, **fields))
                for n in range(num_requests)
            )
        )


def statuses(answers: Sequence[httpx.Response]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


async def usage(url: str, key: str) -> dict[str, Any]:
    """The month of the tenant; the question is a request itself, so the limit of requests has to leave room for it."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
        answer = await client.get(f"{url}/v1/usage")
    assert answer.status_code == 200, answer.text
    tenant = answer.json()["levels"][-1]
    return {"running": tenant["running_requests"], **tenant["windows"][-1]}


async def test_one_gateway_serves_a_hundred_of_a_thousand(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("hi", end="end_of_sequence", accepting=None))
    ledger = MemoryBudgetLedger()
    database = f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}"
    key = await allow(database, HUNDRED)
    async with served_gateway(tmp_path, node=node, ledger=ledger, **GENEROUS) as (url, _):
        answers = await crowd([url], key, num_requests=1_000)
    assert statuses(answers) == {200: 100, 429: 900}
    assert len(node.requests) == 100
    account = ledger.state_of(BOOTSTRAP_TENANT)
    assert (account.windows["month"].num_requests, account.held) == (100, {})
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["error"]["code"] == "insufficient_quota"


async def test_four_gateways_over_one_redis_serve_a_hundred_of_a_thousand_and_overspend_nothing(
    tmp_path: Path, redis: RedisServer
) -> None:
    database = f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}"
    of_requests = await allow(database, HUNDRED)
    # What a request costs is less than what is reserved for it, so that what is left over goes to others.
    money = BudgetSent.model_validate({"windows": [{"period": "month", "max_usd": "0.0007"}]})
    of_money = await allow(database, money, tenant=TenantId("acme"))
    with gateway_processes(tmp_path, 4, redis_url=redis.url, **GENEROUS) as gateways:
        urls = [each.url for each in gateways]
        answers = await crowd(urls, of_requests, num_requests=1_000)
        paid = await crowd(urls, of_money, num_requests=300)
        spent = await usage(urls[0], of_money)
    assert statuses(answers) == {200: 100, 429: 900}
    assert not any("x-schemagate-degraded" in answer.headers for answer in (*answers, *paid))

    served = [answer.json() for answer in paid if answer.status_code == 200]
    assert statuses(paid) == {200: len(served), 429: 300 - len(served)}
    assert {answer["schemagate"]["cost"]["total"] for answer in served} == {"0.000007"}
    assert Decimal(spent["used_usd"]) == len(served) * Decimal("0.000007") <= Decimal("0.0007")


async def test_what_a_killed_gateway_held_is_never_given_again_and_its_places_are(
    tmp_path: Path, redis: RedisServer
) -> None:
    database = f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}"
    of_requests = await allow(database, HUNDRED)
    places = BudgetSent.model_validate({"windows": [{"period": "month", "max_usd": "1"}], "max_concurrent_requests": 5})
    of_places = await allow(database, places, tenant=TenantId("acme"))
    with gateway_processes(tmp_path, 2, redis_url=redis.url, lease_seconds=3, **GENEROUS) as (doomed, other):
        held = [
            asyncio.create_task(_held(doomed, of_requests, num_requests=30)),
            asyncio.create_task(_held(doomed, of_places, num_requests=5)),
        ]

        def num_running() -> tuple[bytes | None, bytes | None]:
            # Looked up from outside: a question to a gateway would be a request itself.
            local = redis.client.hget("schemagate:budget:{local}:tenant::counters", "running")
            acme = redis.client.hget("schemagate:budget:{acme}:tenant::counters", "running")
            assert isinstance(local, bytes | None)
            assert isinstance(acme, bytes | None)
            return local, acme

        await until(lambda: num_running() == (b"30", b"5"), seconds=90)
        full = await crowd([other.url], of_places, num_requests=1)
        doomed.kill()
        assert await asyncio.gather(*held) == [30, 5]
        answers = await crowd([other.url], of_requests, num_requests=1_000)

        async def is_served() -> bool:
            return statuses(await crowd([other.url], of_places, num_requests=1)) == {200: 1}

        async def is_over() -> bool:
            return bool((await usage(other.url, of_places))["running"] == 0)

        await until(is_served, seconds=60)
        await until(is_over, seconds=60)  # the leases of the five end one after another
        spent = await usage(other.url, of_places)
        later = await crowd([other.url], of_requests, num_requests=5)
    assert (full[0].status_code, full[0].json()["error"]["limit_name"]) == (429, "concurrent_requests")
    # Thirty of the hundred were admitted by the gateway that died. They were never answered, and are not given again.
    assert statuses(answers) == {200: 70, 429: 930}
    assert statuses(later) == {429: 5}
    # Five are charged at their upper bound: 36 tokens of prompt and 5 of answer; one was served at its true cost.
    assert (spent["running"], spent["used_tokens"]) == (0, 5 * 41 + 6)
    assert Decimal(spent["used_usd"]) == (5 * (36 + 2 * 5) + 7) * Decimal("0.000001")


async def _held(gateway: GatewayProcess, key: str, *, num_requests: int) -> int:
    """How many requests were cut off by the end of their gateway."""
    headers = {"Authorization": f"Bearer {key}"}
    message = [{"role": "user", "content": "hold"}]
    async with httpx.AsyncClient(headers=headers, timeout=180) as client:
        answers = await asyncio.gather(
            *(client.post(gateway.url + CHAT, json=chat(max_tokens=5, messages=message)) for _ in range(num_requests)),
            return_exceptions=True,
        )
    return sum(isinstance(answer, httpx.TransportError) for answer in answers)
