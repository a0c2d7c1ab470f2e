"""What the calls of tools have to satisfy, tool by tool."""

from collections.abc import Mapping

from gateway.errors import ContractRefusedError
from gateway.intent import CustomTool, FunctionTool, InlineContract, Tool, Toolbox
from policy.rejection import Rejection, RejectionCode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.dialects import dialect_of, named_dialect


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
    typed = {"type": kind, **parameters, **({"type": "object"} if kind == "object" else {})}
    more = typed.get("allOf", [])
    if "$ref" not in typed or not _ignores_what_stands_beside_a_reference(typed) or not isinstance(more, list):
        return typed
    # Where it stands now, the type counts beside it.
    return {name: member for name, member in typed.items() if name != "$ref"} | {
        "allOf": [*more, {"$ref": typed["$ref"]}]
    }


def _ignores_what_stands_beside_a_reference(schema: JsonValue) -> bool:
    uri = named_dialect(schema)
    dialect = None if uri is None else dialect_of(uri)
    return dialect is not None and dialect.ignores_ref_siblings


def takes_an_object(contract: CanonicalContract) -> bool:
    """Whether the arguments of a function with these parameters are an object whatever else they are."""
    schema, definitions = contract.schema, {}
    if isinstance(schema, dict):
        definitions = {f"#/$defs/{name}": each for name, each in _members(schema.get("$defs")).items()}
        if "type" not in schema and "$ref" in schema:  # as the canonical form writes a schema that is within itself
            schema = definitions.get(str(schema["$ref"]))
    return _members(schema).get("type") == "object"


def _members(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def no_object(tool: FunctionTool) -> ContractRefusedError:
    """The refusal of a function whose arguments would be no object."""
    message = "The arguments of a function are an object: let `type` be `object`."
    rejection = Rejection(code=RejectionCode.UNSUPPORTED_VALUE, message=message, pointer="/type", keyword="type")
    return ContractRefusedError((rejection,), param=tool.param)
