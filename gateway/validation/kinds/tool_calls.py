"""Calls of a tool set as a schema of their own: one call, or an array of at least one."""

from gateway.validation.errors import UnjudgeableContractError
from registry.compatibility.document_schemas import NotComparableError, document_schema
from registry.contract import ContractKind, JsonValue


def tool_call_schema(canonical_text: str) -> JsonValue:
    """The schema of what a canonical tool set allows. Raises `UnjudgeableContractError`."""
    try:
        calls = document_schema(ContractKind.TOOL_SET, canonical_text)
    except NotComparableError as error:
        raise UnjudgeableContractError(str(error)) from error
    schema = calls.schema
    if not isinstance(schema, dict) or not isinstance(schema["anyOf"], list) or not schema["anyOf"]:
        raise UnjudgeableContractError("a tool set is a list of tools")
    if calls.grammars:
        raise UnjudgeableContractError("the input of a tool is given by a grammar, which is not judged")
    call: JsonValue = {"anyOf": [_with_object_arguments(branch) for branch in schema["anyOf"]]}
    return {
        "$defs": {**_definitions(schema), "call": call},
        "anyOf": [
            {"$ref": "#/$defs/call"},
            {"type": "array", "items": {"$ref": "#/$defs/call"}, "minItems": 1},
        ],
    }


def _definitions(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    found = schema.get("$defs", {})
    assert isinstance(found, dict)
    return found


def _with_object_arguments(branch: JsonValue) -> JsonValue:
    """Arguments are objects, whatever else their schema would let pass."""
    assert isinstance(branch, dict)
    properties = branch["properties"]
    assert isinstance(properties, dict)
    if "arguments" not in properties:
        return branch
    arguments: JsonValue = {"allOf": [properties["arguments"], {"type": "object"}]}
    return {**branch, "properties": {**properties, "arguments": arguments}}
