"""What the calls of tools have to satisfy, tool by tool."""

from gateway.errors import ContractRefusedError
from gateway.intent import CustomTool, FunctionTool, InlineContract, Tool, Toolbox
from policy.rejection import Rejection, RejectionCode
from registry.contract import ContractKind, JsonValue


def grammar_tools(toolbox: Toolbox) -> tuple[CustomTool, ...]:
    """The tools that may be called and take their input under a Lark grammar."""
    return tuple(
        tool
        for tool in toolbox.tools
        if isinstance(tool, CustomTool) and tool.kind is ContractKind.LARK and tool.name in toolbox.callable_names
    )


def cannot_stand_beside(tool: CustomTool) -> ContractRefusedError:
    """The refusal of a Lark grammar that cannot be a part of another one."""
    message = (
        "a grammar with `%ignore` cannot stand beside other tools or words, where the same would be ignored: write the "
        "blanks out, or make this the only tool and name it in `tool_choice`"
    )
    rejection = Rejection(code=RejectionCode.UNSUPPORTED_VALUE, message=message, keyword="%ignore")
    return ContractRefusedError((rejection,), param=tool.param)


def contract_of(tool: Tool) -> InlineContract | None:
    """The contract of a tool's calls; None where it takes any text."""
    match tool:
        case FunctionTool():
            return InlineContract(
                kind=ContractKind.JSON_SCHEMA,
                schema=of_an_object(tool.parameters),
                strict=tool.strict,
                param=tool.param,
            )
        case CustomTool() if tool.kind is not None:
            return InlineContract(kind=tool.kind, schema=tool.definition, strict=True, param=tool.param)
        case CustomTool():
            return None


def of_an_object(parameters: JsonValue) -> JsonValue:
    """Arguments are an object, also where the schema does not say so."""
    if parameters is True:
        return {"type": "object"}
    if not isinstance(parameters, dict):
        return parameters
    kind = parameters.get("type", "object")
    if isinstance(kind, list) and "object" in kind:
        kind = "object"
    return {"type": kind, **parameters, **({"type": "object"} if kind == "object" else {})}
