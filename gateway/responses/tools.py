"""From `tools`, `tool_choice` and `parallel_tool_calls` to the tools that the model may call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.errors import InvalidRequestError, RequestFault
from gateway.intent import CustomTool, FunctionTool, Tool, Toolbox, ToolMode
from gateway.responses.input import discriminated
from gateway.responses.protocol import AllowedTools, CustomFormatSent, CustomToolSent, FunctionToolSent, NamedToolChoice
from gateway.tool_choice import names_one_tool
from gateway.wire_faults import read_model
from registry.contract import ContractKind, JsonValue

HOSTED = frozenset(
    {
        "web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11", "file_search",
        "code_interpreter", "image_generation", "mcp", "computer", "computer_use", "computer_use_preview",
        "local_shell", "shell", "apply_patch", "tool_search", "programmatic_tool_calling",
    }
)  # fmt: skip
"""Tools that OpenAI runs itself, or whose calls have a shape of their own. Nothing here runs them."""
MAX_TOOLS = 128

NO_ARGUMENTS: JsonValue = {"type": "object", "properties": {}, "additionalProperties": False}
"""What a function without `parameters` takes."""

_SYNTAXES = {"regex": ContractKind.REGEX, "lark": ContractKind.LARK}
_SENT: Mapping[str, type[FunctionToolSent | CustomToolSent]] = {"function": FunctionToolSent, "custom": CustomToolSent}
_SERVED = "tools are `function` and `custom`, and nothing here runs others"
_MAX_SHOWN_CHARACTERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsRead:
    """`told` are the tools as the answer repeats them. Without a toolbox no tool may be called."""

    toolbox: Toolbox | None = None
    told: Sequence[Mapping[str, JsonValue]] = ()
    tool_choice: JsonValue = "auto"
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Hosted tools by where they stood, with their type."""
    ignored: Mapping[str, str] = field(default_factory=dict)


def read_tools(sent: Sequence[JsonValue], choice: JsonValue, *, is_parallel: bool) -> ToolsRead:
    """The tools of a request. Hosted ones are left out; that this is allowed, policy has yet to say.

    Raises:
        InvalidRequestError: a tool is not served, ill formed or there twice; the choice names none of them.
    """
    reading = _Reading()
    for position, value in enumerate(sent):
        reading.take(value, f"tools[{position}]")
    picked = _picked(choice, reading)
    tools = tuple(reading.tools.values())
    toolbox = None
    if picked is not None and picked.names:
        is_parallel = is_parallel and not names_one_tool(choice)
        toolbox = Toolbox(tools=tools, callable_names=picked.names, mode=picked.mode, is_parallel=is_parallel)
    return ToolsRead(
        toolbox=toolbox,
        told=tuple(reading.told),
        tool_choice="auto" if choice is None else choice,
        left_out=reading.left_out,
        ignored=reading.ignored,
    )


class _Reading:
    """Tools by name, in their order."""

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.told: list[Mapping[str, JsonValue]] = []
        self.ignored: dict[str, str] = {}
        self.left_out: dict[str, str] = {}

    def take(self, value: JsonValue, param: str) -> None:
        if self.is_left_out(value, param):
            return
        tool = discriminated(value, _SENT, param=param, served=_SERVED)
        if tool.name in self.tools:
            raise InvalidRequestError(
                RequestFault.INVALID_VALUE, f"an earlier tool is called `{tool.name}`, too", param=f"{param}.name"
            )
        if len(self.tools) == MAX_TOOLS:
            raise InvalidRequestError(
                RequestFault.INVALID_VALUE, f"there are more than {MAX_TOOLS} tools (`max_tools`)", param="tools"
            )
        match tool:
            case FunctionToolSent():
                self.tools[tool.name] = _function(tool, param)
                self.told.append(_told_function(tool))
                if tool.output_schema is not None:
                    self.ignored["tools.output_schema"] = "what a tool gives is not checked"
            case CustomToolSent():
                self.tools[tool.name] = _custom(tool, param)
                self.told.append(_told_custom(tool))

    def is_left_out(self, value: JsonValue, param: str) -> bool:
        """Whether a tool is a hosted one."""
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in HOSTED:
            return False
        self.left_out[param] = kind
        self.ignored[param] = f"the hosted tool `{kind}` is left out"
        return True


def _function(tool: FunctionToolSent, param: str) -> FunctionTool:
    return FunctionTool(
        name=tool.name,
        description=tool.description,
        parameters=NO_ARGUMENTS if tool.parameters is None else tool.parameters,
        strict=bool(tool.strict),
        param=f"{param}.parameters",
    )


def _custom(tool: CustomToolSent, param: str) -> CustomTool:
    form = tool.format or CustomFormatSent(type="text")
    where = f"{param}.format"
    if form.type == "text":
        for name in ("syntax", "definition"):
            if getattr(form, name) is not None:
                raise InvalidRequestError(
                    RequestFault.CONFLICTING_PARAMETERS,
                    f"`{where}.{name}` needs type `grammar`, not `text`",
                    param=f"{where}.{name}",
                )
        return CustomTool(name=tool.name, description=tool.description, kind=None, definition="", param=where)
    for name in ("syntax", "definition"):
        if getattr(form, name) is None:
            raise InvalidRequestError(
                RequestFault.MISSING_PARAMETER, f"`{where}.{name}` is required", param=f"{where}.{name}"
            )
    assert form.syntax is not None
    assert form.definition is not None
    return CustomTool(
        name=tool.name,
        description=tool.description,
        kind=_SYNTAXES[form.syntax],
        definition=form.definition,
        param=f"{where}.definition",
    )


def _told_function(tool: FunctionToolSent) -> Mapping[str, JsonValue]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": bool(tool.strict),
    }


def _told_custom(tool: CustomToolSent) -> Mapping[str, JsonValue]:
    form = tool.format or CustomFormatSent(type="text")
    return {
        "type": "custom",
        "name": tool.name,
        "description": tool.description,
        "format": form.model_dump(exclude_none=True),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picked:
    """What may be called, and whether something must."""

    names: frozenset[str]
    mode: ToolMode


def _picked(choice: JsonValue, reading: _Reading) -> _Picked | None:
    """None where nothing may be called."""
    every = frozenset(reading.tools)
    match choice:
        case None | "auto":
            return _Picked(names=every, mode=ToolMode.AUTO)
        case "none":
            return None
        case "required":
            if not every:
                raise InvalidRequestError(
                    RequestFault.INVALID_VALUE, "a call is required, and there is no tool", param="tool_choice"
                )
            return _Picked(names=every, mode=ToolMode.REQUIRED)
        case str():
            raise InvalidRequestError(
                RequestFault.INVALID_VALUE,
                "`tool_choice` is refused: as a string it is `none`, `auto` or `required`",
                param="tool_choice",
            )
        case dict():
            return _picked_by_type(choice, reading)
        case _:
            message = "`tool_choice` must be a string, or an object with a `type`"
            raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param="tool_choice")


def _picked_by_type(choice: Mapping[str, JsonValue], reading: _Reading) -> _Picked:
    match choice.get("type"):
        case "function" | "custom":
            named = read_model(NamedToolChoice, choice, param="tool_choice")
            name = _chosen(named, reading, "tool_choice")
            return _Picked(names=frozenset({name}), mode=ToolMode.REQUIRED)
        case "allowed_tools":
            return _allowed(read_model(AllowedTools, choice, param="tool_choice"), reading)
        case str(kind):
            # Leaving a hosted tool out where it must be called would answer another request.
            raise InvalidRequestError(
                RequestFault.UNSUPPORTED_PARAMETER,
                f"`tool_choice` is of type `{kind[:_MAX_SHOWN_CHARACTERS]}`, which is not supported: {_SERVED}",
                param="tool_choice.type",
            )
        case _:
            message = "`tool_choice.type` must be a string"
            raise InvalidRequestError(RequestFault.INVALID_TYPE, message, param="tool_choice.type")


def _allowed(sent: AllowedTools, reading: _Reading) -> _Picked:
    names: set[str] = set()
    for position, value in enumerate(sent.tools):
        param = f"tool_choice.tools[{position}]"
        if reading.is_left_out(value, param):
            continue
        named = discriminated(
            value, {"function": NamedToolChoice, "custom": NamedToolChoice}, param=param, served=_SERVED
        )
        names.add(_chosen(named, reading, param))
    mode = ToolMode(sent.mode)
    if mode is ToolMode.REQUIRED and not names:
        raise InvalidRequestError(
            RequestFault.INVALID_VALUE, "a call is required, and every allowed tool is left out", param="tool_choice"
        )
    return _Picked(names=frozenset(names), mode=mode)


def _chosen(named: NamedToolChoice, reading: _Reading, param: str) -> str:
    tool = reading.tools.get(named.name)
    kind = "custom" if isinstance(tool, CustomTool) else "function"
    if tool is None or kind != named.type:
        raise InvalidRequestError(
            RequestFault.INVALID_VALUE,
            f"no {named.type} tool is called `{named.name[:_MAX_SHOWN_CHARACTERS]}`",
            param=f"{param}.name",
        )
    return named.name
