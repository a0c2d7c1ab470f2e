"""From `tools`, `tool_choice` and `parallel_tool_calls` to the tools that the model may call."""

from collections.abc import Iterable, Mapping
from typing import Final

from gateway.chat.protocol import (
    ChatRequest,
    CustomFormatSent,
    CustomSent,
    FunctionSent,
    GrammarSent,
    ToolChoiceSent,
    ToolNamed,
    ToolPicked,
    ToolSent,
)
from gateway.errors import ContractRefusedError, InvalidRequestError, RequestFault
from gateway.intent import CustomTool, FunctionTool, Tool, Toolbox, ToolMode
from gateway.tool_choice import names_one_tool
from gateway.wire_faults import read_model
from policy.limits import TENANT
from policy.rejection import Rejection, RejectionCode
from registry.contract import ContractKind, JsonValue

_NO_ARGUMENTS: Final[JsonValue] = {"type": "object", "properties": {}, "additionalProperties": False}
"""What a function without `parameters` takes."""
_KINDS: Final = {"lark": ContractKind.LARK, "regex": ContractKind.REGEX}
_MAX_SHOWN_CHARACTERS: Final = 64
_CHOICE: Final = "tool_choice"


def read_toolbox(request: ChatRequest) -> Toolbox | None:
    """The tools of a request; None where none may be called.

    Raises:
        InvalidRequestError: a tool is ill formed or there twice, or the choice names none of them.
        ContractRefusedError: there are more than the limit allows.
    """
    tools = _tools(request.tools or ())
    mode, names = _picked(request.tool_choice, tools)
    if not names:
        return None
    return Toolbox(
        tools=tuple(tools.values()),
        callable_names=names,
        mode=mode,
        is_parallel=request.parallel_tool_calls is not False and not names_one_tool(request.tool_choice),
    )


def _tools(sent: Iterable[ToolSent]) -> dict[str, Tool]:
    listed, limit = [*sent], TENANT.contract.max_tools
    if len(listed) > limit:
        message = f"The number of tools is {len(listed)}; the limit is {limit}."
        code = RejectionCode.LIMIT_EXCEEDED
        rejection = Rejection(
            code=code, message=message, limit_name="max_tools", limit=limit, observed=len(listed), keyword="tools"
        )
        raise ContractRefusedError((rejection,), param="tools")
    tools: dict[str, Tool] = {}
    for index, value in enumerate(listed):
        param = f"tools[{index}].{value.type}"
        tool = _tool(value, f"tools[{index}]")
        if tool.name in tools:
            raise _wrong(f"{param}.name", f"an earlier tool is called `{tool.name}`, too")
        tools[tool.name] = tool
    return tools


def _tool(sent: ToolSent, param: str) -> Tool:
    other = "custom" if sent.type == "function" else "function"
    if getattr(sent, other) is not None:
        raise _wrong(f"{param}.{other}", f"the tool is of type `{sent.type}`")
    if sent.function is not None:
        return _function(sent.function, f"{param}.function")
    if sent.custom is not None:
        return _custom(sent.custom, f"{param}.custom")
    raise _missing(f"{param}.{sent.type}")


def _function(sent: FunctionSent, param: str) -> FunctionTool:
    return FunctionTool(
        name=sent.name,
        description=sent.description,
        parameters=_NO_ARGUMENTS if sent.parameters is None else sent.parameters,
        strict=bool(sent.strict),
        param=f"{param}.parameters",
    )


def _custom(sent: CustomSent, param: str) -> CustomTool:
    grammar, place = _grammar(sent.format, f"{param}.format")
    return CustomTool(
        name=sent.name,
        description=sent.description,
        kind=None if grammar is None else _KINDS[grammar.syntax],
        definition="" if grammar is None else grammar.definition,
        param=place,
    )


def _grammar(sent: CustomFormatSent | None, param: str) -> tuple[GrammarSent | None, str]:
    """The grammar of a format, and where its text stands."""
    if sent is None:
        return None, param
    if sent.type == "text":
        for name in ("grammar", "syntax", "definition"):
            if getattr(sent, name) is not None:
                raise _wrong(f"{param}.{name}", "the format is of type `text`")
        return None, param
    if sent.grammar is not None:
        for name in ("syntax", "definition"):
            if getattr(sent, name) is not None:
                raise _wrong(f"{param}.{name}", f"`{param}.grammar` says it already")
        return sent.grammar, f"{param}.grammar.definition"
    if sent.syntax is None and sent.definition is None:
        raise _missing(f"{param}.grammar")
    if sent.syntax is None:
        raise _missing(f"{param}.syntax")
    if sent.definition is None:
        raise _missing(f"{param}.definition")
    return GrammarSent(syntax=sent.syntax, definition=sent.definition), f"{param}.definition"


def _picked(choice: JsonValue, tools: Mapping[str, Tool]) -> tuple[ToolMode, frozenset[str]]:
    """Whether something must be called, and what may be."""
    match choice:
        case None | "auto":
            return ToolMode.AUTO, frozenset(tools)
        case "none":
            return ToolMode.AUTO, frozenset()
        case "required":
            if not tools:
                raise _wrong(_CHOICE, "a call is required, and there is no tool")
            return ToolMode.REQUIRED, frozenset(tools)
        case dict():
            return _picked_by_name(read_model(ToolChoiceSent, choice, param=_CHOICE), tools)
        case str():
            raise _wrong(_CHOICE, "as a string it is `none`, `auto` or `required`")
        case _:
            message = f"`{_CHOICE}` must be a string, or an object with a `type`"
            raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param=_CHOICE)


def _picked_by_name(choice: ToolChoiceSent, tools: Mapping[str, Tool]) -> tuple[ToolMode, frozenset[str]]:
    if choice.type != "allowed_tools":
        picked = ToolPicked(type=choice.type, function=choice.function, custom=choice.custom)
        return ToolMode.REQUIRED, frozenset({_name(picked, tools, _CHOICE)})
    if choice.allowed_tools is None:
        raise _missing(f"{_CHOICE}.allowed_tools")
    param = f"{_CHOICE}.allowed_tools.tools"
    names = (_name(each, tools, f"{param}[{index}]") for index, each in enumerate(choice.allowed_tools.tools))
    return ToolMode(choice.allowed_tools.mode), frozenset(names)


def _name(picked: ToolPicked, tools: Mapping[str, Tool], param: str) -> str:
    named: ToolNamed | None = picked.function if picked.type == "function" else picked.custom
    if named is None:
        raise _missing(f"{param}.{picked.type}")
    tool = tools.get(named.name)
    if tool is None or isinstance(tool, CustomTool) is not (picked.type == "custom"):
        shown = named.name[:_MAX_SHOWN_CHARACTERS]
        raise _wrong(f"{param}.{picked.type}.name", f"no {picked.type} tool is called `{shown}`")
    return named.name


def _missing(param: str) -> InvalidRequestError:
    return InvalidRequestError(RequestFault.MISSING_PARAMETER, f"`{param}` is required", param=param)


def _wrong(param: str, why: str) -> InvalidRequestError:
    return InvalidRequestError(RequestFault.INVALID_VALUE, f"`{param}` is refused: {why}", param=param)
