"""Formats that the specification does not know assert nothing, wherever they stand; so the algebra never sees them."""

from dataclasses import dataclass

from registry.contract import JsonValue
from registry.keywords import KNOWN_FORMATS, SHAPES, Shape
from registry.pointers import join


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasserted:
    """An unknown format and the pointer of its keyword."""

    pointer: str
    name: str


def without_unknown_formats(schema: JsonValue) -> tuple[JsonValue, list[Unasserted]]:
    """The schema without them; the very same object where there are none."""
    found: list[Unasserted] = []
    return _stripped(schema, "", found), found


def _stripped(schema: JsonValue, pointer: str, found: list[Unasserted]) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    changed: dict[str, JsonValue] = {}
    for keyword, value in schema.items():
        if keyword == "format" and isinstance(value, str) and value not in KNOWN_FORMATS:
            found.append(Unasserted(pointer=join(pointer, keyword), name=value))
            continue
        changed[keyword] = _held(keyword, value, join(pointer, keyword), found)
    same = len(changed) == len(schema) and all(changed[keyword] is value for keyword, value in schema.items())
    return schema if same else changed


def _held(keyword: str, value: JsonValue, pointer: str, found: list[Unasserted]) -> JsonValue:
    match SHAPES.get(keyword):
        case Shape.SCHEMA:
            return _stripped(value, pointer, found)
        case Shape.SCHEMAS if isinstance(value, list):
            items = [_stripped(item, join(pointer, at), found) for at, item in enumerate(value)]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        case Shape.SCHEMAS_BY_NAME if isinstance(value, dict):
            named = {name: _stripped(item, join(pointer, name), found) for name, item in value.items()}
            return value if all(named[name] is item for name, item in value.items()) else named
        case _:
            return value
