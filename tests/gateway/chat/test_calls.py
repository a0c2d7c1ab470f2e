"""Calls of tools, whole and streamed, over the real protocols."""

import json
from pathlib import Path
from typing import Any

import pytest

from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.chat.views import CHAT, LOOKUP, VERDICT, both, events, node_says
from tests.gateway.twins import chat, gateway_with, strict

SQL = {"type": "custom", "custom": {"name": "sql"}}


async def test_a_call_is_a_complete_answer(tmp_path: Path) -> None:
    calls = [
        HERMES.call_text("lookup", '{"id":7}', is_custom=False),
        HERMES.call_text("sql", "a b", is_custom=True),
    ]
    node = node_says("\n".join(calls))
    answer, choice, _ = await both(tmp_path, node, strict(VERDICT, tools=[LOOKUP, SQL]))
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    first, second = choice["message"]["tool_calls"]
    assert first["function"] == {"name": "lookup", "arguments": '{"id":7}'}
    assert second["custom"] == {"name": "sql", "input": "a b"}
    assert first["id"].startswith("call_")
    assert first["id"] != second["id"]
    member = answer["schemagate"]
    assert member["completion"] == "complete"
    assert member["validation"]["verdict"] == "valid"
    assert member["contract"]["kind"] == "json_schema"  # the caller's own
    assert member["composition"]["num_tools"] == 2
    assert member["composition"]["digest"] != member["contract"]["digest"]
    offers = node.requests[0].tools
    assert [(offer.name, offer.parameters is None) for offer in offers] == [("lookup", False), ("sql", True)]


async def test_an_answer_in_words_beside_tools_is_the_contracts(tmp_path: Path) -> None:
    _, choice, _ = await both(tmp_path, node_says('{"verdict":"ok"}'), strict(VERDICT, tools=[LOOKUP]))
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["content"] == '{"verdict":"ok"}'
    assert "tool_calls" not in choice["message"]


async def test_words_before_a_call_are_content_and_markup_is_not(tmp_path: Path) -> None:
    """markers-split-across-deltas, at every size of delta."""
    text = "I'll check.\n" + HERMES.call_text("lookup", '{"id":1}', is_custom=False)
    for size in (1, 2, 7, 100):
        _, choice, chunks = await both(tmp_path, node_says(text, size=size), chat(tools=[LOOKUP]))
        assert choice["message"]["content"] == "I'll check."
        assert "<tool_call>" not in json.dumps(chunks)


async def test_a_call_that_is_cut_is_truncated_in_both_views(tmp_path: Path) -> None:
    """cut-tool-call-two-views: offered as far as it came, never completed, never as markup."""
    text = '<tool_call>\n{"name": "lookup", "arguments": {"id":'
    node = node_says(text, end="max_tokens", accepting=False)
    answer, choice, _ = await both(tmp_path, node, chat(tools=[LOOKUP], max_tokens=5))
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"] is None
    assert [call["function"]["arguments"] for call in choice["message"]["tool_calls"]] == ['{"id":']
    assert answer["schemagate"]["completion"] == "truncated"
    node = node_says(text[:20], end="max_tokens", accepting=False)
    _, choice, _ = await both(tmp_path, node, chat(tools=[LOOKUP], max_tokens=5))
    assert choice["message"]["content"] is None
    assert "tool_calls" not in choice["message"]


@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [('{"id":"x"}', "/id"), ("{}", "")],
)
async def test_arguments_that_break_the_tools_schema_are_no_call(tmp_path: Path, arguments: str, pointer: str) -> None:
    """bad-arguments-become-empty: whatever the node says, the judge has the last word."""
    node = node_says(HERMES.call_text("lookup", arguments, is_custom=False))
    async with gateway_with(tmp_path, node=node) as world:
        response = await world.client.post(CHAT, json=chat(tools=[LOOKUP]))
        streamed = events(await world.client.post(CHAT, json=chat(tools=[LOOKUP], stream=True)))
    assert response.status_code == 422
    error = response.json()["error"]
    assert (error["code"], error["pointer"]) == (
        "output_failed_validation",
        f"/tool_calls/0/function/arguments{pointer}",
    )
    assert response.headers["x-schemagate-completion"] == "invalid"
    assert streamed[-1]["error"]["code"] == "output_failed_validation"
    assert not [chunk for chunk in streamed if chunk.get("choices") and chunk["choices"][0]["finish_reason"]]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "lookup", "arguments": {"id":',
        '<tool_call>\n{"name": "rm", "arguments": {}}\n</tool_call>',
        HERMES.call_text("lookup", '{"id":1}', is_custom=False)[:-1],
        HERMES.call_text("lookup", '{"id":1}', is_custom=False) + " and more",
    ],
)
async def test_text_outside_of_the_grammar_is_never_complete(tmp_path: Path, text: str) -> None:
    node = node_says(text, end="end_of_sequence")
    async with gateway_with(tmp_path, node=node) as world:
        response = await world.client.post(CHAT, json=chat(tools=[LOOKUP], tool_choice="required"))
    assert response.status_code == 422
    assert response.headers["x-schemagate-completion"] == "invalid"


async def test_a_fault_in_a_tool_is_told_by_its_place(tmp_path: Path) -> None:
    broken = {
        "type": "function",
        "function": {"name": "g", "parameters": {"type": "object", "properties": {"a": {"type": "strin"}}}},
    }
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, json=chat(tools=[LOOKUP, broken]))
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["param"], error["pointer"]) == (
        "tools[1].function.parameters.properties.a.type",
        "/properties/a/type",
    )


async def test_the_model_is_told_of_arguments_as_an_object_whatever_the_schema_leaves_open(tmp_path: Path) -> None:
    open_ones: list[Any] = [True, {}]
    tools = [{"type": "function", "function": {"name": "any", "parameters": each}} for each in open_ones]
    node = node_says(HERMES.call_text("any", '{"a":[]}', is_custom=False))
    async with gateway_with(tmp_path, node=node) as world:
        for tool in tools:
            response = await world.client.post(CHAT, json=chat(tools=[tool]))
            assert response.json()["choices"][0]["finish_reason"] == "tool_calls"
    assert [request.tools[0].parameters for request in node.requests] == ['{"type":"object"}'] * 2
