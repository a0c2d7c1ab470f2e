"""Contracts of every comparable kind as schemas of their documents, so that one comparison and one judge serve all.

A choice allows some texts, a regular expression the texts that match as a whole: both are schemas of strings. A tool
set allows calls: objects of a tool's name and its arguments, or its input where the tool is a custom one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from registry.canonical import read_canonical
from registry.contract import ContractKind, JsonValue
from registry.keywords import SHAPES, Shape

_DEFINITIONS: Final = "#/$defs/"


class NotComparableError(Exception):
    """Contracts of this kind, or with such a part, are compared by identity only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A part that has no schema; it stands for itself."""

    tool: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSchema:
    """A schema of a contract's documents. `is_text`: documents are plain texts, here as strings."""

    schema: JsonValue
    is_text: bool
    grammars: frozenset[Grammar] = frozenset()
    """Parts that the schema leaves open: it speaks for the contract only beside another with the same ones."""


def document_schema(kind: str, canonical_text: str) -> DocumentSchema:
    """The schema of the documents that a canonical text allows.

    Raises:
        NotComparableError: the kind has no such schema.
        ContractRejectedError: the text is no canonical form of its kind.
    """
    match kind:
        case ContractKind.JSON_SCHEMA:
            return DocumentSchema(schema=read_canonical(canonical_text), is_text=False)
        case ContractKind.CHOICE:
            return DocumentSchema(schema={"enum": read_canonical(canonical_text)}, is_text=True)
        case ContractKind.REGEX:
            schema: JsonValue = {"type": "string", "pattern": f"^(?:{canonical_text})$"}
            return DocumentSchema(schema=schema, is_text=True)
        case ContractKind.TOOL_SET:
            return _calls(read_canonical(canonical_text))
        case _:
            raise NotComparableError(f"contracts of the kind {kind} are compared by identity only")


def _calls(tools: JsonValue) -> DocumentSchema:
    branches: list[JsonValue] = []
    definitions: dict[str, JsonValue] = {}
    grammars: set[Grammar] = set()
    for number, tool in enumerate(tools if isinstance(tools, list) else []):
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or not isinstance(name, str):
            raise NotComparableError("the tool set is not in its canonical form")
        if tool.get("type") == "function":
            member, schema = "arguments", _with_own_definitions(tool.get("parameters", True), number, definitions)
        else:
            member, schema = "input", _input(name, tool.get("format"), grammars)
        branches.append(
            {
                "type": "object",
                "properties": {"name": {"const": name}, member: schema},
                "required": [member, "name"],
                "additionalProperties": False,
            }
        )
    calls: dict[str, JsonValue] = {"anyOf": branches}
    if definitions:
        calls["$defs"] = definitions
    return DocumentSchema(schema=calls, is_text=False, grammars=frozenset(grammars))


def _input(name: str, form: JsonValue, grammars: set[Grammar]) -> JsonValue:
    if not isinstance(form, dict):
        return {"type": "string"}
    if form.get("syntax") == "regex":
        return {"type": "string", "pattern": f"^(?:{form.get('definition')})$"}
    grammars.add(Grammar(tool=name, text=str(form.get("definition"))))
    return {"type": "string"}


def _with_own_definitions(schema: JsonValue, number: int, definitions: dict[str, JsonValue]) -> JsonValue:
    """The schema with its `$defs` moved out, under names of its own."""
    if not isinstance(schema, dict):
        return schema
    own = schema.get("$defs", {})
    assert isinstance(own, dict)
    renamed = {name: f"t{number}{name}" for name in own}
    for name, definition in own.items():
        definitions[renamed[name]] = _renamed(definition, renamed)
    return _renamed({keyword: value for keyword, value in schema.items() if keyword != "$defs"}, renamed)


def _renamed(schema: JsonValue, names: Mapping[str, str]) -> JsonValue:
    """The subschema with its references renamed; only what is a subschema is entered."""
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith(_DEFINITIONS):
        return {"$ref": _DEFINITIONS + names[reference.removeprefix(_DEFINITIONS)]}
    return {keyword: _renamed_value(keyword, value, names) for keyword, value in schema.items()}


def _renamed_value(keyword: str, value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    match SHAPES.get(keyword):
        case Shape.SCHEMA:
            return _renamed(value, names)
        case Shape.SCHEMAS if isinstance(value, list):
            return [_renamed(child, names) for child in value]
        case Shape.SCHEMAS_BY_NAME if isinstance(value, dict):
            return {name: _renamed(child, names) for name, child in value.items()}
        case _:
            return value
