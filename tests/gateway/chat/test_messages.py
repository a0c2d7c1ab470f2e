"""Turns of a conversation with calls: what a node gets of them, and what no conversation can have."""

import json
from typing import Any

import pytest

from gateway.chat.request import read_chat_request
from gateway.errors import InvalidRequestError
from inference_node.protocol import ToolCallTurn

USER: dict[str, Any] = {"role": "user", "content": "hi"}


def called(*calls: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [*calls], **members}


def function(arguments: str = "{}", *, call_id: str = "call_1", name: str = "f") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def read(*messages: dict[str, Any]) -> Any:
    return read_chat_request({"model": "m", "messages": [USER, *messages]}).messages


def test_calls_and_their_results_reach_the_node_as_they_were() -> None:
    custom = {"id": "call_2", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    _, asked, first, second = read(
        called(function('{"a": 1.50}'), custom),
        {"role": "tool", "tool_call_id": "call_1", "content": "one"},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "two"}]},
    )
    assert asked.content == ""
    assert asked.tool_calls == [
        ToolCallTurn(call_id="call_1", name="f", text='{"a": 1.50}'),
        ToolCallTurn(call_id="call_2", name="sql", text="select 1", is_custom=True),
    ]
    assert [(turn.role, turn.tool_call_id, turn.content) for turn in (first, second)] == [
        ("tool", "call_1", "one"),
        ("tool", "call_2", "two"),
    ]


def test_a_refusal_is_what_that_turn_said() -> None:
    _, turn = read({"role": "assistant", "content": None, "refusal": "I cannot."})
    assert turn.content == "I cannot."
    _, turn = read({"role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]})
    assert turn.content == "I cannot."


def test_an_answer_of_this_gateway_can_be_sent_back_as_it_came() -> None:
    _, turn = read(
        called(function(), refusal=None, annotations=[], reasoning="so", reasoning_content="so"),
    )
    assert [call.name for call in turn.tool_calls] == ["f"]


@pytest.mark.parametrize(
    ("messages", "code", "param"),
    [
        ([called(function('{"path":'))], "invalid_value", "messages[1].tool_calls[0].function.arguments"),
        ([called(function(""))], "invalid_value", "messages[1].tool_calls[0].function.arguments"),
        ([called(function("[]"))], "invalid_value", "messages[1].tool_calls[0].function.arguments"),
        ([called(function('{"a":1,"a":2}'))], "invalid_value", "messages[1].tool_calls[0].function.arguments"),
        ([called(function("[" * 100_000))], "invalid_value", "messages[1].tool_calls[0].function.arguments"),
        ([called(function(), function())], "invalid_value", "messages[1].tool_calls[1].id"),
        ([called(function(name="no good"))], "invalid_value", "messages[1].tool_calls[0].function.name"),
        ([called({"id": "a", "type": "function"})], "missing_parameter", "messages[1].tool_calls[0].function"),
        ([called({"id": "a", "type": "custom"})], "missing_parameter", "messages[1].tool_calls[0].custom"),
        (
            [called({**function(), "custom": {"name": "c", "input": ""}})],
            "invalid_value",
            "messages[1].tool_calls[0].custom",
        ),
        ([called({"id": "a", "type": "web"})], "unsupported_parameter", "messages[1].tool_calls[0].type"),
        ([{**USER, "tool_calls": [function()]}], "invalid_value", "messages[1].tool_calls"),
        ([{**USER, "refusal": "no"}], "invalid_value", "messages[1].refusal"),
        ([{**USER, "tool_call_id": "a"}], "invalid_value", "messages[1].tool_call_id"),
        ([{"role": "tool", "content": "x"}], "missing_parameter", "messages[1].tool_call_id"),
        ([{"role": "tool", "content": "x", "tool_call_id": "a"}], "invalid_value", "messages[1].tool_call_id"),
        (
            [called(function()), {"role": "tool", "tool_call_id": "call_1"}],
            "missing_parameter",
            "messages[2].content",
        ),
        ([{"role": "assistant", "content": None}], "invalid_type", "messages[1].content"),
        ([{"role": "assistant"}], "missing_parameter", "messages[1].content"),
        ([{"role": "user"}], "missing_parameter", "messages[1].content"),
        (
            [{"role": "user", "content": [{"type": "refusal", "refusal": "no"}]}],
            "unsupported_parameter",
            "messages[1].content[0].type",
        ),
        ([{"role": "user", "content": [{"type": "text"}]}], "missing_parameter", "messages[1].content[0].text"),
    ],
)
def test_a_history_that_cannot_be_is_refused_by_its_place(
    messages: list[dict[str, Any]], code: str, param: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read(*messages)
    assert (str(caught.value.fault), caught.value.param) == (code, param), json.dumps(messages)[:200]
