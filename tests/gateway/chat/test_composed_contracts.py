"""Contracts of different strictness and origin in one grammar: none is weaker there than it would be alone."""

import json
from collections.abc import Iterable
from pathlib import Path

from compiler_pool.protocol import CompileOutcome, CompileRequest, ReportEntryWire
from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.contracts.world import INVOICE, registry
from tests.gateway.twins import NodeTwin, PoolTwin, chat, compiled, gateway_with, says

CHAT = "/v1/chat/completions"
LOOSE = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def tool(name: str, *, strict: bool) -> dict[str, object]:
    return {"type": "function", "function": {"name": name, "parameters": LOOSE, "strict": strict}}


def leaves_to_the_validator(place: str) -> PoolTwin:
    """A pool that cannot put a keyword of the tool whose call begins so into the grammar."""

    def answer(request: CompileRequest) -> CompileOutcome:
        pointer = _pointer_of(json.loads(request.canonical_text), place)
        report = [
            ReportEntryWire(pointer=f"{pointer}/properties/a/type", keyword="type", status="checked_after"),
        ]
        return compiled(request, report)

    return PoolTwin(answer=answer)


def _pointer_of(value: object, name: str, pointer: str = "") -> str:
    """Where in a structural tag the schema of the call of `name` stands."""
    if isinstance(value, dict):
        if str(value.get("begin", "")).startswith(f'{{"name": "{name}"'):
            return f"{pointer}/content/json_schema"
        members: Iterable[tuple[object, object]] = value.items()
    else:
        members = enumerate(value) if isinstance(value, list) else ()
    return next((found for key, each in members if (found := _pointer_of(each, name, f"{pointer}/{key}"))), "")


async def test_one_strict_tool_among_others_leaves_nothing_to_the_validator(tmp_path: Path) -> None:
    body = chat(tools=[tool("loose", strict=False), tool("firm", strict=True)])
    async with gateway_with(tmp_path, pool=leaves_to_the_validator("firm")) as world:
        refused = await world.client.post(CHAT, json=body)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, "unsupported_keyword")
    assert error["param"] == "tools[1].function.parameters.properties.a.type"
    assert error["pointer"] == "/properties/a/type"


async def test_what_a_tool_that_is_not_strict_leaves_to_the_validator_is_validated(tmp_path: Path) -> None:
    body = chat(tools=[tool("loose", strict=False), tool("firm", strict=True)])
    calls = iter(['{"a":1}', '{"a":"x"}'])
    node = NodeTwin(script=lambda _: says(HERMES.call_text("loose", next(calls), is_custom=False)))
    async with gateway_with(tmp_path, pool=leaves_to_the_validator("loose"), node=node) as world:
        good = await world.client.post(CHAT, json=body)
        bad = await world.client.post(CHAT, json=body)
    assert good.status_code == 200, good.text
    assert good.json()["schemagate"]["contract"]["enforcement"]["checked_after"] == 1
    assert bad.status_code == 422
    assert bad.json()["error"]["pointer"] == "/tool_calls/0/function/arguments/a"


async def test_all_strict_is_compiled_strictly(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        await world.client.post(CHAT, json=chat(tools=[tool("firm", strict=True)]))
        await world.client.post(CHAT, json=chat(tools=[tool("firm", strict=False)]))
    assert [request.policy.allow_checked_after for request in pool.requests] == [False, True]


async def test_a_registered_contract_can_stand_beside_tools(tmp_path: Path) -> None:
    texts = iter(['{"id":"a"}', HERMES.call_text("loose", '{"a":1}', is_custom=False), '{"id":7}'])
    node, pool = NodeTwin(script=lambda _: says(next(texts))), PoolTwin()
    async with registry(tmp_path, node=node, pool=pool) as here:
        registered = await here.register(schema=INVOICE)
        await here.promote(1)
        body = chat(contract="invoice@prod", tools=[tool("loose", strict=False)])
        answer, called, bad = [await here.ask("POST", CHAT, body) for _ in range(3)]
    assert answer.json()["choices"][0]["message"]["content"] == '{"id":"a"}'
    contract = answer.json()["schemagate"]["contract"]
    assert (contract["kind"], contract["alias"], contract["revision"]) == ("json_schema", "prod", 1)
    assert contract["digest"] == registered["revision"]["digest"]
    assert answer.headers["x-schemagate-contract"] == contract["digest"]
    assert called.json()["choices"][0]["finish_reason"] == "tool_calls"
    assert (bad.status_code, bad.json()["error"]["pointer"]) == (422, "/id")
    assert [request.kind for request in pool.requests] == ["structural_tag"]


async def test_a_call_that_had_to_be_made_is_under_the_contracts_name_too(tmp_path: Path) -> None:
    """A contract's rules cannot be shaken off by asking for a call."""
    node = NodeTwin(script=lambda _: says(HERMES.call_text("loose", '{"a":1}', is_custom=False)))
    async with registry(tmp_path, node=node) as here:
        await here.register(schema=INVOICE)
        await here.promote(1)
        body = chat(contract="invoice@prod", tools=[tool("loose", strict=False)], tool_choice="required")
        member = (await here.ask("POST", CHAT, body)).json()["schemagate"]
    assert (member["contract"]["name"], member["contract"]["alias"]) == ("invoice", "prod")
    assert member["composition"]["digest"] not in {None, member["contract"]["digest"]}


async def test_a_tools_schema_is_looked_at_though_it_cannot_be_called(tmp_path: Path) -> None:
    broken = {"type": "function", "function": {"name": "g", "parameters": {"type": "strin"}}}
    choice = {"type": "function", "function": {"name": "loose"}}
    async with gateway_with(tmp_path) as world:
        body = chat(tools=[tool("loose", strict=False), broken], tool_choice=choice)
        response = await world.client.post(CHAT, json=body)
    assert response.status_code == 400
    assert response.json()["error"]["param"].startswith("tools[1].function.parameters")
