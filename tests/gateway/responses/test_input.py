"""What `input` and `instructions` become."""

from typing import Any

import pytest

from gateway.errors import InvalidRequestError
from gateway.responses.input import read_input
from inference_node.protocol import ChatMessage, ToolCallTurn


def refused(value: Any) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        read_input(value, instructions=None)
    return caught.value


def call(call_id: str = "call_1", **members: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": '{"a":1}', **members}


def output(call_id: str = "call_1", **members: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "2", **members}


def test_a_string_is_what_the_user_says_after_the_instructions() -> None:
    read = read_input("hi", instructions="be brief")
    assert read.messages == (
        ChatMessage(role="system", content="be brief"),
        ChatMessage(role="user", content="hi"),
    )
    assert read.ignored == {}


def test_messages_are_read_with_and_without_their_type() -> None:
    read = read_input(
        [
            {"role": "developer", "content": "a"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "b"}]},
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "c", "annotations": [], "logprobs": []},
                    {"type": "output_text", "text": "d"},
                ],
            },
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            {"role": "assistant", "content": "e", "phase": "final_answer"},
            {"role": "system", "content": "f"},
        ],
        instructions=None,
    )
    said = [(message.role, message.content) for message in read.messages]
    assert said == [
        ("system", "a"),
        ("user", "b"),
        ("assistant", "cd"),
        ("assistant", "no"),
        ("assistant", "e"),
        ("system", "f"),
    ]


def test_calls_and_the_words_before_them_are_one_turn_and_outputs_are_turns_of_the_tools() -> None:
    read = read_input(
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "wait"},
            call("call_1"),
            {"type": "custom_tool_call", "call_id": "call_2", "name": "g", "input": "x y", "id": "ctc_1"},
            output("call_1"),
            {
                "type": "custom_tool_call_output",
                "call_id": "call_2",
                "output": [{"type": "input_text", "text": "3"}, {"type": "input_text", "text": "4"}],
            },
            call("call_3"),
            output("call_3"),
        ],
        instructions=None,
    )
    assert read.messages == (
        ChatMessage(role="user", content="go"),
        ChatMessage(
            role="assistant",
            content="wait",
            tool_calls=[
                ToolCallTurn(call_id="call_1", name="f", text='{"a":1}'),
                ToolCallTurn(call_id="call_2", name="g", text="x y", is_custom=True),
            ],
        ),
        ChatMessage(role="tool", content="2", tool_call_id="call_1"),
        ChatMessage(role="tool", content="34", tool_call_id="call_2"),
        ChatMessage(
            role="assistant", content="", tool_calls=[ToolCallTurn(call_id="call_3", name="f", text='{"a":1}')]
        ),
        ChatMessage(role="tool", content="2", tool_call_id="call_3"),
    )


def test_a_thought_of_an_earlier_turn_is_taken_left_out_and_reported() -> None:
    thought: dict[str, Any] = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }
    read = read_input([{"role": "user", "content": "go"}, thought, call(), output()], instructions=None)
    assert [message.role for message in read.messages] == ["user", "assistant", "tool"]
    assert read.ignored == {"input.reasoning": "earlier thoughts are not given to the model"}


@pytest.mark.parametrize(
    ("value", "code", "param"),
    [
        (7, "invalid_type", "input"),
        (None, "invalid_type", "input"),
        ({}, "invalid_type", "input"),
        ([], "invalid_value", "input"),
        (["hi"], "invalid_type", "input[0]"),
        ([{}], "missing_parameter", "input[0].type"),
        ([{"role": "tool", "content": "x"}], "missing_parameter", "input[0].type"),
        ([{"type": 7}], "invalid_type", "input[0].type"),
        ([{"type": "item_reference", "id": "msg_1"}], "unsupported_parameter", "input[0].type"),
        ([{"type": "web_search_call", "id": "ws_1"}], "unsupported_parameter", "input[0].type"),
        ([{"role": "user"}], "missing_parameter", "input[0].content"),
        ([{"role": "user", "content": 7}], "invalid_type", "input[0].content"),
        ([{"role": "user", "content": "x", "contnet": "y"}], "unknown_parameter", "input[0].contnet"),
        ([{"role": "user", "content": [{"type": "input_image"}]}], "unsupported_parameter", "input[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "output_text", "text": ""}]}], "unsupported_parameter",
         "input[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "input_text"}]}], "missing_parameter", "input[0].content[0].text"),
        ([{"role": "user", "content": ["x"]}], "invalid_type", "input[0].content[0]"),
        ([{"role": "assistant", "content": [{"type": "input_file"}]}], "unsupported_parameter",
         "input[0].content[0].type"),
        ([{"type": "message", "role": "tool", "content": "x"}], "invalid_value", "input[0].role"),
        ([call(arguments="[1]")], "invalid_value", "input[0].arguments"),
        ([call(arguments='{"a":')], "invalid_value", "input[0].arguments"),
        ([call(arguments='{"a":1,"a":2}')], "invalid_value", "input[0].arguments"),
        ([call(arguments={"a": 1})], "invalid_type", "input[0].arguments"),
        ([call(call_id="")], "invalid_value", "input[0].call_id"),
        ([call(), call()], "invalid_value", "input[1].call_id"),
        ([call(), output("call_2")], "invalid_value", "input[1].call_id"),
        ([call(), output(), output()], "invalid_value", "input[2].call_id"),
        ([call(), output(type="custom_tool_call_output")], "invalid_value", "input[1].call_id"),
        ([call(), output(output=None)], "invalid_type", "input[1].output"),
        ([call(namespace="crm")], "invalid_type", "input[0].namespace"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_where_it_stands(value: Any, code: str, param: str) -> None:
    error = refused(value)
    assert (str(error.fault), error.param) == (code, param)
