"""`tools` and `tool_choice`: what may be called, and what is refused by its place."""

from typing import Any

import pytest

from gateway.chat.request import read_chat_request
from gateway.errors import ContractRefusedError, InvalidRequestError
from gateway.intent import CustomTool, FunctionTool, ToolMode
from registry.contract import ContractKind

F = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}}
G = {"type": "function", "function": {"name": "g", "description": "goes"}}
C = {"type": "custom", "custom": {"name": "c"}}
FLAT = {"type": "grammar", "syntax": "regex", "definition": "a+"}
NESTED = {"type": "grammar", "grammar": {"syntax": "lark", "definition": 'start: "a"'}}


def read(**fields: Any) -> Any:
    return read_chat_request({"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields})


def test_tools_are_read_with_the_places_of_their_contracts() -> None:
    box = read(tools=[F, G, {"type": "custom", "custom": {"name": "r", "format": FLAT}}]).toolbox
    first, second, third = box.tools
    assert first == FunctionTool(
        name="f", description=None, parameters={"type": "object"}, strict=True, param="tools[0].function.parameters"
    )
    assert second.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert third == CustomTool(
        name="r", description=None, kind=ContractKind.REGEX, definition="a+", param="tools[2].custom.format.definition"
    )
    assert (box.mode, box.is_parallel, box.callable_names) == (ToolMode.AUTO, True, {"f", "g", "r"})


def test_a_grammar_is_taken_in_the_layout_of_chat_too() -> None:
    (tool,) = read(tools=[{"type": "custom", "custom": {"name": "l", "format": NESTED}}]).toolbox.tools
    assert (tool.kind, tool.param) == (ContractKind.LARK, "tools[0].custom.format.grammar.definition")


@pytest.mark.parametrize(
    ("choice", "mode", "names"),
    [
        ("auto", ToolMode.AUTO, {"f", "g", "c"}),
        (None, ToolMode.AUTO, {"f", "g", "c"}),
        ("required", ToolMode.REQUIRED, {"f", "g", "c"}),
        ({"type": "function", "function": {"name": "g"}}, ToolMode.REQUIRED, {"g"}),
        ({"type": "custom", "custom": {"name": "c"}}, ToolMode.REQUIRED, {"c"}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]},
            },
            ToolMode.AUTO,
            {"f"},
        ),
    ],
)
def test_a_choice_says_what_may_be_called(choice: Any, mode: ToolMode, names: set[str]) -> None:
    box = read(tools=[F, G, C], tool_choice=choice).toolbox
    assert (box.mode, box.callable_names) == (mode, names)
    is_named = isinstance(choice, dict) and choice["type"] != "allowed_tools"
    assert box.is_parallel is not is_named  # a tool that is named is called once
    assert len(box.tools) == 3  # the model is told of all


@pytest.mark.parametrize("fields", [{}, {"tools": []}, {"tools": None}, {"tools": [F], "tool_choice": "none"}])
def test_without_anything_to_call_there_is_no_toolbox(fields: dict[str, Any]) -> None:
    assert read(**fields).toolbox is None


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"tools": [F, F]}, "invalid_value", "tools[1].function.name"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "invalid_value", "tools[0].function.name"),
        ({"tools": [{"type": "function", "function": {"name": "a" * 65}}]}, "invalid_value", "tools[0].function.name"),
        ({"tools": [{"type": "function", "function": {}}]}, "missing_parameter", "tools[0].function.name"),
        ({"tools": [{"type": "function"}]}, "missing_parameter", "tools[0].function"),
        ({"tools": [{"type": "custom"}]}, "missing_parameter", "tools[0].custom"),
        ({"tools": [{**F, "custom": {"name": "c"}}]}, "invalid_value", "tools[0].custom"),
        ({"tools": [{"type": "web_search"}]}, "unsupported_parameter", "tools[0].type"),
        (
            {"tools": [{"type": "function", "function": {"name": "f", "paramters": {}}}]},
            "unknown_parameter",
            "tools[0].function.paramters",
        ),
        (
            {"tools": [{"type": "custom", "custom": {"name": "c", "format": {"type": "grammar"}}}]},
            "missing_parameter",
            "tools[0].custom.format.grammar",
        ),
        (
            {"tools": [{"type": "custom", "custom": {"name": "c", "format": {**NESTED, "type": "text"}}}]},
            "invalid_value",
            "tools[0].custom.format.grammar",
        ),
        (
            {"tools": [{"type": "custom", "custom": {"name": "c", "format": {**NESTED, **FLAT}}}]},
            "invalid_value",
            "tools[0].custom.format.syntax",
        ),
        ({"tools": 5}, "invalid_type", "tools"),
        ({"tools": [F], "tool_choice": "must"}, "invalid_value", "tool_choice"),
        ({"tools": [F], "tool_choice": 5}, "invalid_type", "tool_choice"),
        ({"tool_choice": "required"}, "invalid_value", "tool_choice"),
        ({"tools": [F], "tool_choice": {"type": "function"}}, "missing_parameter", "tool_choice.function"),
        (
            {"tools": [F], "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "invalid_value",
            "tool_choice.function.name",
        ),
        (
            {"tools": [F], "tool_choice": {"type": "custom", "custom": {"name": "f"}}},
            "invalid_value",
            "tool_choice.custom.name",
        ),
        ({"tools": [F], "tool_choice": {"type": "allowed_tools"}}, "missing_parameter", "tool_choice.allowed_tools"),
        (
            {
                "tools": [F],
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "x"}}]},
                },
            },
            "invalid_value",
            "tool_choice.allowed_tools.tools[0].function.name",
        ),
    ],
)
def test_a_tool_or_choice_that_is_wrong_is_refused_by_its_place(fields: dict[str, Any], code: str, param: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read(**fields)
    assert (str(caught.value.fault), caught.value.param) == (code, param)


def test_more_tools_than_the_limit_are_refused_by_its_name() -> None:
    tools = [{"type": "function", "function": {"name": f"f{number}"}} for number in range(129)]
    with pytest.raises(ContractRefusedError) as caught:
        read(tools=tools)
    (rejection,) = caught.value.rejections
    assert (rejection.limit_name, rejection.limit, rejection.observed) == ("max_tools", 128, 129)
    assert caught.value.param == "tools"
    assert len(read(tools=tools[:128]).toolbox.tools) == 128


def test_reasoning_and_log_probabilities_are_asked_for_by_name() -> None:
    assert read().wants_reasoning is False
    assert read(reasoning_effort="none").wants_reasoning is False
    assert read(reasoning_effort="low").wants_reasoning is True
    assert read(chat_template_kwargs={"enable_thinking": True}).wants_reasoning is True
    assert read().top_logprobs is None
    assert read(logprobs=True).top_logprobs == 0
    assert read(logprobs=True, top_logprobs=3).top_logprobs == 3
    assert read(n=8).num_choices == 8
