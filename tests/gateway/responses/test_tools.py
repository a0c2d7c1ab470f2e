"""What `tools` and `tool_choice` become."""

from typing import Any

import pytest

from gateway.errors import InvalidRequestError
from gateway.intent import CustomTool, FunctionTool, Toolbox, ToolMode
from gateway.responses.tools import HOSTED, MAX_TOOLS, ToolsRead, read_tools
from registry.contract import ContractKind, JsonValue

SCHEMA: JsonValue = {"type": "object", "properties": {"a": {"type": "integer"}}}
WEATHER: dict[str, Any] = {"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}
SHELL: dict[str, Any] = {"type": "custom", "name": "run", "description": "runs it"}


def read(tools: list[Any], choice: Any = None) -> ToolsRead:
    return read_tools(tools, choice, is_parallel=True)


def refused(tools: list[Any], choice: Any = None) -> tuple[str, str | None]:
    with pytest.raises(InvalidRequestError) as caught:
        read(tools, choice)
    return str(caught.value.fault), caught.value.param


def toolbox(found: ToolsRead) -> Toolbox:
    assert found.toolbox is not None
    return found.toolbox


def test_functions_and_custom_tools_are_read_flat() -> None:
    grammar = {"type": "grammar", "syntax": "regex", "definition": "[a-z]+"}
    lark = {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}
    found = read(
        [
            WEATHER,
            {"type": "function", "name": "now"},
            SHELL,
            {"type": "custom", "name": "words", "format": grammar},
            {"type": "custom", "name": "tree", "format": lark},
            {"type": "custom", "name": "free", "format": {"type": "text"}},
        ]
    )
    box = toolbox(found)
    assert box.tools == (
        FunctionTool(name="weather", description=None, parameters=SCHEMA, strict=True, param="tools[0].parameters"),
        FunctionTool(
            name="now",
            description=None,
            parameters={"type": "object", "properties": {}, "additionalProperties": False},
            strict=False,
            param="tools[1].parameters",
        ),
        CustomTool(name="run", description="runs it", kind=None, definition="", param="tools[2].format"),
        CustomTool(
            name="words",
            description=None,
            kind=ContractKind.REGEX,
            definition="[a-z]+",
            param="tools[3].format.definition",
        ),
        CustomTool(
            name="tree",
            description=None,
            kind=ContractKind.LARK,
            definition='start: "a"',
            param="tools[4].format.definition",
        ),
        CustomTool(name="free", description=None, kind=None, definition="", param="tools[5].format"),
    )
    assert box.mode is ToolMode.AUTO
    assert box.callable_names == {"weather", "now", "run", "words", "tree", "free"}
    assert found.tool_choice == "auto"
    assert found.told[0] == WEATHER | {"description": None}
    assert found.told[3] == {"type": "custom", "name": "words", "description": None, "format": grammar}


@pytest.mark.parametrize(
    ("choice", "names", "mode"),
    [
        ("auto", {"weather", "run"}, ToolMode.AUTO),
        ("required", {"weather", "run"}, ToolMode.REQUIRED),
        ({"type": "function", "name": "weather"}, {"weather"}, ToolMode.REQUIRED),
        ({"type": "custom", "name": "run"}, {"run"}, ToolMode.REQUIRED),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "weather"}]},
            {"weather"},
            ToolMode.AUTO,
        ),
        (
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "custom", "name": "run"}, {"type": "function", "name": "weather"}],
            },
            {"weather", "run"},
            ToolMode.REQUIRED,
        ),
    ],
)
def test_a_choice_says_what_may_be_called(choice: Any, names: set[str], mode: ToolMode) -> None:
    found = read([WEATHER, SHELL], choice)
    box = toolbox(found)
    assert (set(box.callable_names), box.mode) == (names, mode)
    is_named = isinstance(choice, dict) and choice["type"] != "allowed_tools"
    assert box.is_parallel is not is_named  # a tool that is named is called once
    assert [tool.name for tool in box.tools] == ["weather", "run"]
    assert found.tool_choice == choice


def test_without_tools_or_with_the_choice_of_none_nothing_may_be_called() -> None:
    assert read([], "auto").toolbox is None
    none = read([WEATHER], "none")
    assert none.toolbox is None
    assert none.told == (WEATHER | {"description": None},)


@pytest.mark.parametrize("kind", sorted(HOSTED))
def test_a_hosted_tool_is_left_out_and_told_for_policy_to_decide(kind: str) -> None:
    found = read([{"type": kind, "anything": 1}, WEATHER])
    assert [tool.name for tool in toolbox(found).tools] == ["weather"]
    assert found.left_out == {"tools[0]": kind}
    assert found.ignored == {"tools[0]": f"the hosted tool `{kind}` is left out"}
    assert [tool["type"] for tool in found.told] == ["function"]


def test_a_hosted_tool_that_must_be_called_is_refused() -> None:
    assert refused([{"type": "web_search"}], {"type": "web_search"}) == ("unsupported_parameter", "tool_choice.type")
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "mcp", "server_label": "x"}]}
    assert refused([{"type": "mcp"}], choice) == ("invalid_value", "tool_choice")


def test_allowed_tools_that_are_all_left_out_leave_nothing_to_call() -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "image_generation"}]}
    found = read([{"type": "image_generation"}, WEATHER], choice)
    assert found.toolbox is None
    assert set(found.ignored) == {"tools[0]", "tool_choice.tools[0]"}


def test_a_tool_of_no_known_type_is_refused() -> None:
    assert refused([{"type": "namespace", "name": "crm", "tools": []}]) == ("unsupported_parameter", "tools[0].type")


@pytest.mark.parametrize(
    ("tools", "choice", "code", "param"),
    [
        (["weather"], None, "invalid_type", "tools[0]"),
        ([{}], None, "missing_parameter", "tools[0].type"),
        ([{"type": "function"}], None, "missing_parameter", "tools[0].name"),
        ([{"type": "function", "name": "a b"}], None, "invalid_value", "tools[0].name"),
        ([{"type": "function", "name": ""}], None, "invalid_value", "tools[0].name"),
        ([{"type": "function", "function": {"name": "a"}}], None, "unknown_parameter", "tools[0].function"),
        ([WEATHER, WEATHER], None, "invalid_value", "tools[1].name"),
        ([WEATHER, {"type": "custom", "name": "weather"}], None, "invalid_value", "tools[1].name"),
        ([WEATHER | {"parameters": []}], None, "invalid_type", "tools[0].parameters"),
        ([WEATHER | {"strict": "yes"}], None, "invalid_type", "tools[0].strict"),
        ([WEATHER | {"defer_loading": True}], None, "invalid_value", "tools[0].defer_loading"),
        ([WEATHER | {"async": True}], None, "invalid_value", "tools[0].async"),
        ([WEATHER | {"allowed_callers": ["programmatic"]}], None, "invalid_value", "tools[0].allowed_callers[0]"),
        ([SHELL | {"format": {"type": "grammar"}}], None, "missing_parameter", "tools[0].format.syntax"),
        ([SHELL | {"format": {"type": "grammar", "syntax": "ebnf"}}], None, "invalid_value", "tools[0].format.syntax"),
        ([SHELL | {"format": {"type": "grammar", "syntax": "lark"}}], None, "missing_parameter",
         "tools[0].format.definition"),
        ([SHELL | {"format": {"type": "text", "definition": "x"}}], None, "conflicting_parameters",
         "tools[0].format.definition"),
        ([WEATHER], "maybe", "invalid_value", "tool_choice"),
        ([WEATHER], 7, "invalid_type", "tool_choice"),
        ([WEATHER], {}, "invalid_type", "tool_choice.type"),
        ([], "required", "invalid_value", "tool_choice"),
        ([WEATHER], {"type": "function"}, "missing_parameter", "tool_choice.name"),
        ([WEATHER], {"type": "function", "function": {"name": "weather"}}, "unknown_parameter",
         "tool_choice.function"),
        ([WEATHER], {"type": "function", "name": "wether"}, "invalid_value", "tool_choice.name"),
        ([WEATHER], {"type": "custom", "name": "weather"}, "invalid_value", "tool_choice.name"),
        ([WEATHER], {"type": "allowed_tools", "mode": "auto", "tools": []}, "invalid_value", "tool_choice.tools"),
        ([WEATHER], {"type": "allowed_tools", "mode": "none", "tools": [WEATHER]}, "invalid_value",
         "tool_choice.mode"),
        ([WEATHER], {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "x"}]},
         "invalid_value", "tool_choice.tools[0].name"),
        ([WEATHER | {"name": f"t{number}"} for number in range(MAX_TOOLS + 1)], None, "invalid_value", "tools"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_where_it_stands(
    tools: list[Any], choice: Any, code: str, param: str
) -> None:
    assert refused(tools, choice) == (code, param)


def test_what_a_tool_gives_may_be_described_and_is_not_checked() -> None:
    found = read([WEATHER | {"output_schema": {"type": "object"}}])
    assert found.ignored == {"tools.output_schema": "what a tool gives is not checked"}
