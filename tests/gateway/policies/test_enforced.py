"""Serving policies on the way of a request: what is not allowed is refused by name, and strict means strict for all."""

from pathlib import Path
from typing import Any

import pytest

from inference_node.protocol import GenerateRequest
from policy.roles import ALL_ROLES
from tests.gateway.twins import MODEL, Event, NodeTwin, PoolTwin, World, chat, gateway_with, says, strict

TENANT = "/v1/admin/tenants/local/serving-policy"
NUMBER: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": NUMBER}}
LAX: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "x", "strict": False, "schema": NUMBER}}


async def allow(world: World, document: dict[str, Any], family: str = "") -> None:
    answer = await world.client.put(f"{TENANT}/{family}" if family else TENANT, json=document)
    assert answer.status_code == 200, answer.text


async def refused(world: World, body: dict[str, Any], path: str = "/v1/chat/completions") -> tuple[int, str, str]:
    answer = await world.client.post(path, json=body)
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"]


def free_or_not(request: GenerateRequest) -> list[Event]:
    return says("ok", end="end_of_sequence", accepting=None) if request.artifact_key is None else says('{"n":1}')


@pytest.mark.parametrize(
    ("document", "body", "code", "param"),
    [
        ({"models": ["another"]}, chat(), "model_not_allowed", "model"),
        ({"models": []}, chat(), "model_not_allowed", "model"),
        ({"allow_tools": False}, chat(tools=[FUNCTION]), "tools_not_allowed", "tools"),
        ({"allow_streaming": False}, chat(stream=True), "streaming_not_allowed", "stream"),
        ({"allow_reasoning": False}, chat(reasoning_effort="high"), "reasoning_not_allowed", "reasoning"),
        (
            {"allow_inline": False},
            strict(NUMBER),
            "inline_contract_not_allowed",
            "response_format.json_schema.schema",
        ),
    ],
)
async def test_what_the_policy_does_not_allow_is_refused_by_name(
    tmp_path: Path, document: dict[str, Any], body: dict[str, Any], code: str, param: str
) -> None:
    node = NodeTwin(script=free_or_not)
    async with gateway_with(tmp_path, node=node) as world:
        assert (await world.client.post("/v1/chat/completions", json=body)).status_code == 200
        num_before = len(node.requests)
        await allow(world, document)
        assert await refused(world, body) == (403, code, param)
        assert len(node.requests) == num_before
        await allow(world, {})
        assert (await world.client.post("/v1/chat/completions", json=body)).status_code == 200


async def test_the_responses_api_keeps_the_same_policy(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=NodeTwin(script=free_or_not)) as world:
        await allow(world, {"models": ["another"], "allow_streaming": False})
        body = {"model": MODEL, "input": "hi"}
        assert await refused(world, body, "/v1/responses") == (403, "model_not_allowed", "model")
        await allow(world, {"allow_streaming": False})
        assert await refused(world, body | {"stream": True}, "/v1/responses") == (
            403,
            "streaming_not_allowed",
            "stream",
        )


async def test_a_model_that_is_not_allowed_is_not_listed(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        await allow(world, {"models": ["another"]})
        assert (await world.client.get("/v1/models")).json()["data"] == []


async def test_without_a_strict_floor_a_caller_may_leave_strict_out(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool, node=NodeTwin(script=free_or_not)) as world:
        answer = await world.client.post("/v1/chat/completions", json=chat(response_format=LAX))
        assert answer.json()["schemagate"]["ignored"] == {}
    assert [request.policy.allow_checked_after for request in pool.requests] == [True]


@pytest.mark.parametrize("level", ["installation", "tenant"])
async def test_a_strict_floor_raises_what_is_asked_and_says_so(tmp_path: Path, level: str) -> None:
    pool = PoolTwin()
    setting: dict[str, Any] = {"serving_policy": '{"floor":"strict"}'} if level == "installation" else {}
    async with gateway_with(tmp_path, pool=pool, node=NodeTwin(script=free_or_not), **setting) as world:
        if level == "tenant":
            await allow(world, {"floor": "strict"})
        answer = await world.client.post("/v1/chat/completions", json=chat(response_format=LAX))
        assert answer.status_code == 200
        assert list(answer.json()["schemagate"]["ignored"]) == ["response_format.json_schema.strict"]
        told = await world.client.post("/v1/chat/completions", json=strict(NUMBER))
        assert told.json()["schemagate"]["ignored"] == {}
    assert {request.policy.allow_checked_after for request in pool.requests} == {False}


async def test_a_strict_floor_holds_for_tools(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool, node=NodeTwin(script=free_or_not)) as world:
        await allow(world, {"floor": "strict"})
        await world.client.post("/v1/chat/completions", json=chat(tools=[FUNCTION]))
    assert {request.policy.allow_checked_after for request in pool.requests} == {False}


async def test_a_strict_floor_holds_for_contracts_whose_authors_were_not_strict(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool, node=NodeTwin(script=free_or_not)) as world:
        for name in ("billing.invoice", "memo"):
            sent = {"name": name, "schema": NUMBER, "policy": {"allow_checked_after": True}}
            assert (await world.client.post("/v1/contracts", json=sent)).status_code == 201
        await allow(world, {"floor": "strict"}, family="billing.*")
        for name in ("billing.invoice@1", "memo@1"):
            answer = await world.client.post("/v1/chat/completions", json=chat(contract=name))
            assert answer.status_code == 200
    assert [request.policy.allow_checked_after for request in pool.requests] == [False, True]


async def test_explaining_tells_what_a_strict_floor_would_make_of_it(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        sent = {"name": "memo", "schema": NUMBER, "policy": {"allow_checked_after": True}}
        assert (await world.client.post("/v1/contracts", json=sent)).status_code == 201
        await allow(world, {"floor": "strict"})
        for body in ({"contract": "memo@1"}, {"response_format": LAX}):
            assert (await world.client.post("/v1/contracts/explain", json=body)).status_code == 200
    assert {request.policy.allow_checked_after for request in pool.requests} == {False}


async def test_a_family_forbids_what_its_tenant_allows(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=NodeTwin(script=free_or_not)) as world:
        for name in ("billing.invoice", "memo"):
            await world.client.post("/v1/contracts", json={"name": name, "schema": NUMBER})
        await allow(world, {"allow_streaming": False}, family="billing.invoice")
        body = chat(contract="billing.invoice@1", stream=True)
        assert await refused(world, body) == (403, "streaming_not_allowed", "stream")
        assert (await world.client.post("/v1/chat/completions", json=body | {"stream": False})).status_code == 200
        other = await world.client.post("/v1/chat/completions", json=body | {"contract": "memo@1"})
        assert other.status_code == 200


async def test_a_policy_of_a_newer_gateway_serves_nothing_on_a_guess(tmp_path: Path) -> None:
    async with gateway_with(tmp_path) as world:
        await allow(world, {"floor": "strict"})
        services: Any = world.app.state.schemagate_services
        (setting,) = (await services.tenant_settings.of_tenant("local", "serving")).values()
        actor = (await services.authenticator.authenticate(f"Bearer {world.key}")).actor
        assert actor.roles == ALL_ROLES
        newer = {"floor": "strict", "something_new": True}
        await services.tenant_settings.store.put(
            actor, "local", setting.topic, "", newer, expected_version=None, at=setting.changed_at
        )
        services.tenant_settings.forget("local", setting.topic)
        answer = await world.client.post("/v1/chat/completions", json=chat())
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "policy_unreadable")


async def test_a_refusal_is_a_branch_only_where_the_policy_says_so(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool, node=NodeTwin(script=free_or_not)) as world:
        await world.client.post("/v1/chat/completions", json=strict(NUMBER))
        await allow(world, {"allow_refusal": True})
        await world.client.post("/v1/chat/completions", json=strict(NUMBER))
    assert [request.kind for request in pool.requests] == ["json_schema", "structural_tag"]
