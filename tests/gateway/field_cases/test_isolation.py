"""Cases from public reports about contracts that took others down with them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.field_cases.cases import field_case
from tests.gateway.twins import NodeTwin, PoolTwin, chat, gateway_with, says, strict, until

pytestmark = pytest.mark.corpus

CHAT = "/v1/chat/completions"


async def test_bad_schema_kills_server(tmp_path: Path) -> None:
    """Each is refused by its place before the compiler hears of it, and who was being served is served to the end."""
    case, gate = field_case("bad-schema-kills-server"), asyncio.Event()
    pool = PoolTwin()
    start, *rest = says('"ok"')
    node = NodeTwin(script=lambda _: [start, gate, *rest])
    async with gateway_with(tmp_path, pool=pool, node=node) as world:
        stream = asyncio.ensure_future(world.client.post(CHAT, json=strict({"type": "string"}, stream=True)))
        await until(lambda: node.num_open == 1)
        refused = [await world.client.post(CHAT, json=strict(schema)) for schema in case["invalid"]]
        tools = [
            await world.client.post(CHAT, json=chat(tools=[function("f", {"type": "object"}), function("g", schema)]))
            for schema in case["invalid"]
        ]
        assert len(pool.requests) == 1
        gate.set()
        finished = await stream
    pointers = ["/type", "/properties", "/required", "/minLength", "/type", "/exclusiveMinimum"]
    assert [each.json()["error"]["pointer"] for each in refused] == pointers
    assert {each.status_code for each in [*refused, *tools]} == {400}
    places = [each.json()["error"]["param"] for each in tools]
    assert all(place.startswith("tools[1].function.parameters") for place in places), places
    assert '"completion":"complete"' in finished.text


def function(name: str, parameters: Any = None) -> dict[str, Any]:
    told = {"name": name} if parameters is None else {"name": name, "parameters": parameters}
    return {"type": "function", "function": told}


async def test_tool_without_parameters(tmp_path: Path) -> None:
    """A tool that takes nothing stands beside others that take something; what it is given is nothing."""
    nothing = field_case("tool-without-parameters")["input"]["schema"]
    taking = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    tools = [function("now", nothing), function("plain"), function("get", taking)]
    async with gateway_with(tmp_path, node=(node := NodeTwin())) as world:
        found = {}
        for name, arguments in (("now", "{}"), ("plain", "{}"), ("get", '{"id":1}'), ("now", '{"a":1}'), ("get", "{}")):
            text = HERMES.call_text(name, arguments, is_custom=False)
            node.script = NodeTwin(script=lambda _: says(text)).script  # noqa: B023 - used within
            answer = await world.client.post(CHAT, json=chat(tools=tools))
            found[name, arguments] = answer.headers["x-schemagate-completion"]
    assert found == {
        ("now", "{}"): "complete",
        ("plain", "{}"): "complete",
        ("get", '{"id":1}'): "complete",
        ("now", '{"a":1}'): "invalid",
        ("get", "{}"): "invalid",
    }
