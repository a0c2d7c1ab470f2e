"""What operators set for tenants, teams and keys holds within a second, and everybody can see how they stand."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient, Response
from sqlalchemy import update

from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from gateway.budgets.protocol import ModelPriceSetting, PriceSetting
from gateway.budgets.settings import BudgetSettings
from policy.roles import Role
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.store.tables.settings import TENANT_SETTINGS
from tests.gateway.twins import MODEL, PEPPER, NodeTwin, World, chat, gateway_with, says

CHAT = "/v1/chat/completions"
BUDGETS = "/v1/admin/tenants/acme/budgets"


def speaks() -> NodeTwin:
    return NodeTwin(script=lambda _: says("hi", end="end_of_sequence", accepting=None))


def prices() -> BudgetSettings:
    """A dollar for a million tokens of prompt, two for those of an answer."""
    model = ModelPriceSetting(input_per_million=Decimal(1), output_per_million=Decimal(2))
    return BudgetSettings(prices=PriceSetting(compile_cpu_second=Decimal("0.01"), models={MODEL: model}))


async def key_of(world: World, *, tenant: str = "acme", team: str | None = None, roles: set[Role] | None = None) -> str:
    store = await KeyStore.open(world.settings.database_url)
    try:
        key = await issue_key(
            store,
            Pepper(PEPPER),
            tenant=TenantId(tenant),
            label="",
            at=datetime.now(UTC),
            principal=PrincipalId("ada"),
            team=None if team is None else TeamName(team),
            roles=frozenset(roles or {Role.CALLER}),
        )
    finally:
        await store.close()
    return key.text


def by(key: str, **headers: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", **headers}


async def ask(client: AsyncClient, key: str, **fields: Any) -> Response:
    return await client.post(CHAT, json=chat(max_tokens=5, **fields), headers=by(key))


def refusal(response: Response) -> Mapping[str, Any]:
    assert response.status_code == 429
    return {name: response.json()["error"].get(name) for name in ("code", "level", "limit_name", "limit", "observed")}


async def test_the_narrowest_budget_that_is_used_up_refuses_and_the_others_lose_nothing(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=speaks()) as world:
        red, blue = await key_of(world, team="red"), await key_of(world, team="blue")
        key_id = red.split("_")[1]
        day = {"windows": [{"seconds": 86_400, "max_requests": 3}]}
        assert (await world.client.put(f"{BUDGETS}/team/red", json=day)).status_code == 200
        minute = {"windows": [{"seconds": 60, "max_requests": 2}]}
        assert (await world.client.put(f"{BUDGETS}/key/{key_id}", json=minute)).status_code == 200
        month = {"windows": [{"period": "month", "max_requests": 5}]}
        assert (await world.client.put(BUDGETS, json=month)).status_code == 200

        first = await ask(world.client, red)
        await ask(world.client, red)
        by_key = await ask(world.client, red)
        assert first.headers["x-ratelimit-limit-requests"] == "2"
        assert first.headers["x-ratelimit-remaining-requests"] == "1"
        assert refusal(by_key) == {
            "code": "rate_limit_exceeded", "level": "key", "limit_name": "requests", "limit": 2, "observed": 3,
        }  # fmt: skip
        assert int(by_key.headers["retry-after"]) <= 60
        assert by_key.headers["x-ratelimit-reset-requests"].endswith("s")

        other = await key_of(world, team="red")
        assert (await ask(world.client, other)).status_code == 200
        by_team = await ask(world.client, other)
        assert refusal(by_team)["level"] == "team"
        assert by_team.json()["error"]["code"] == "insufficient_quota"
        assert by_team.headers["x-should-retry"] == "false"
        assert "retry-after" not in by_team.headers
        assert 0 < by_team.json()["error"]["resets_in_seconds"] <= 86_400

        # Three were served, two refused: the tenant's five are five less three.
        state = (await world.client.get(BUDGETS)).json()["state"]
        assert [window["used_requests"] for window in state["windows"]] == [3, 3]
        assert [(await ask(world.client, blue)).status_code for _ in range(3)] == [200, 200, 429]


async def test_a_caller_sees_its_own_state_at_every_level(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=speaks(), budgets=prices()) as world:
        key = await key_of(world, team="red")
        limits = {"windows": [{"period": "month", "max_usd": "2.50"}], "max_concurrent_streams": 2}
        await world.client.put(f"{BUDGETS}/team/red", json=limits)
        await ask(world.client, key)
        usage = (await world.client.get("/v1/usage", headers=by(key))).json()
    team, tenant = usage["levels"]
    assert (usage["currency"], usage["degraded"]) == ("USD", False)
    assert (team["level"], team["subject"], team["max_concurrent_streams"]) == ("team", "red", 2)
    month = team["windows"][0]
    assert (month["period"], month["max_usd"], month["used_usd"]) == ("month", "2.5", "0.000007")
    assert (month["used_requests"], month["used_tokens"]) == (1, 6)  # the question itself is none
    assert (tenant["level"], tenant["subject"], tenant["windows"][0]["seconds"]) == ("tenant", None, 60)


async def test_who_has_used_up_a_budget_can_still_read_how_it_stands(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=speaks(), requests_per_minute=1) as world:
        key = await key_of(world, tenant="other")
        assert [(await ask(world.client, key)).status_code for _ in range(2)] == [200, 429]
        usage = await world.client.get("/v1/usage", headers=by(key))
    assert usage.status_code == 200
    assert usage.json()["levels"][0]["windows"][0]["used_requests"] == 1


async def test_what_a_document_does_not_say_stays_and_null_lifts(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, requests_per_minute=7, tokens_per_minute=70) as world:
        await key_of(world)
        before = (await world.client.get(BUDGETS)).json()
        sent = {"windows": [{"seconds": 60, "max_tokens": None}]}
        after = (await world.client.put(BUDGETS, json=sent, headers={"If-Match": '"0"'})).json()
        again = await world.client.put(BUDGETS, json=sent, headers={"If-Match": '"0"'})
        dropped = (await world.client.delete(BUDGETS, headers={"If-Match": '"1"'})).json()
    assert (before["version"], before["budget"]) == (0, {})
    assert after["budget"] == sent
    window = after["state"]["windows"][0]
    assert (window["max_requests"], window["max_tokens"]) == (7, None)
    assert again.status_code == 412
    assert dropped["state"]["windows"][0]["max_tokens"] == 70


async def test_a_tenants_operators_divide_what_it_has_and_add_nothing_to_it(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        operator = await key_of(world, roles={Role.OPERATOR})
        caller = await key_of(world)
        stranger = await key_of(world, tenant="umbrella", roles={Role.OPERATOR})
        more = {"windows": [{"seconds": 60, "max_requests": 10**6}]}
        team = f"{BUDGETS}/team/red"
        statuses = {
            "own tenant": (await world.client.put(BUDGETS, json=more, headers=by(operator))).status_code,
            "own team": (await world.client.put(team, json=more, headers=by(operator))).status_code,
            "no operator": (await world.client.put(team, json=more, headers=by(caller))).status_code,
            "another's": (await world.client.put(team, json=more, headers=by(stranger))).status_code,
            "another's, read": (await world.client.get(team, headers=by(stranger))).status_code,
            "seen": (await world.client.get(BUDGETS, headers=by(operator))).status_code,
        }
        others = (await world.client.get(BUDGETS)).json()["others"]
    assert statuses == {
        "own tenant": 403, "own team": 200, "no operator": 403, "another's": 404, "another's, read": 404, "seen": 200,
    }  # fmt: skip
    assert others == ["team:red"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"windows": [{"max_requests": 1}]}, "windows[0]"),
        ({"windows": [{"seconds": 60, "period": "month"}]}, "windows[0]"),
        ({"windows": [{"seconds": 0}]}, "windows[0].seconds"),
        ({"windows": [{"seconds": 60, "max_requests": -1}]}, "windows[0].max_requests"),
        ({"windows": [{"seconds": 60, "max_requests": 2**53}]}, "windows[0].max_requests"),
        ({"windows": [{"seconds": 60, "max_usd": "1e3"}]}, "windows[0].max_usd"),
        ({"windows": [{"seconds": 60, "max_usd": 10**9}]}, "windows[0].max_usd"),
        ({"windows": [{"seconds": 60}, {"seconds": 60}]}, "windows"),
        ({"windows": [{"seconds": n} for n in range(1, 7)]}, "windows"),
        ({"max_concurent_requests": 1}, "max_concurent_requests"),
    ],
)
async def test_a_document_that_cannot_be_meant_is_refused_by_place(
    tmp_path: Path, body: dict[str, Any], param: str
) -> None:
    async with gateway_with(tmp_path) as world:
        await key_of(world)
        refused = await world.client.put(BUDGETS, json=body)
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == param


async def test_a_level_that_there_is_not_is_refused_by_name(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        await key_of(world)
        for path in ("galaxy/red", "team/-", "key/a%23b", "tenant/x"):
            assert (await world.client.get(f"{BUDGETS}/{path}")).status_code == 400, path
        assert (await world.client.get("/v1/admin/tenants/nobody/budgets")).status_code == 404


async def test_a_document_that_cannot_be_read_stops_the_tenant_and_nobody_else(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=speaks()) as world:
        key = await key_of(world)
        await world.client.put(BUDGETS, json={})
        store = await KeyStore.open(world.settings.database_url)
        async with store.database.writing() as session:
            await session.execute(update(TENANT_SETTINGS).values(document='{"windows":"of a newer kind"}'))
        await store.close()
        world.app.state.schemagate_services.tenant_settings.forget(TenantId("acme"), "budget")
        stopped = await ask(world.client, key)
        served = await world.client.post(CHAT, json=chat())
    assert (stopped.status_code, stopped.json()["error"]["code"]) == (503, "budget_unreadable")
    assert stopped.headers["x-should-retry"] == "false"
    assert served.status_code == 200


@pytest.mark.parametrize("spoilt", [None, '{"windows":"of a newer kind"}'], ids=["used up", "unreadable"])
async def test_operators_of_the_installation_can_undo_a_budget_of_their_own(tmp_path: Path, spoilt: str | None) -> None:
    async with gateway_with(tmp_path) as world:
        own = f"/v1/admin/tenants/{world.settings.admin_tenant}/budgets"
        await world.client.put(own, json={"windows": [{"period": "month", "max_requests": 0}]})
        if spoilt is not None:
            store = await KeyStore.open(world.settings.database_url)
            async with store.database.writing() as session:
                await session.execute(update(TENANT_SETTINGS).values(document=spoilt))
            await store.close()
        settings = world.app.state.schemagate_services.tenant_settings
        settings.forget(TenantId(world.settings.admin_tenant), "budget")
        listed = await world.client.get("/v1/admin/tenants")
        undone = await world.client.delete(own)
        after = await world.client.get("/v1/admin/tenants")
    assert listed.status_code == (429 if spoilt is None else 503)
    assert (undone.status_code, after.status_code) == (200, 200)


async def test_a_tenants_own_operator_is_held_to_its_budget_where_budgets_are_set(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        operator = await key_of(world, roles={Role.OPERATOR})
        await world.client.put(BUDGETS, json={"windows": [{"period": "month", "max_requests": 0}]})
        refused = await world.client.get(f"{BUDGETS}/team/red", headers=by(operator))
    assert (refused.status_code, refused.json()["error"]["level"]) == (429, "tenant")
