"""Whether a keyword's value is what the meta-schema of 2020-12 asks for. Bounded, and without running a schema."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from registry.contract import JsonValue
from registry.keywords import SHAPES, Shape

TYPE_NAMES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")

_ANCHOR: Final = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")


def shape_fault(keyword: str, value: JsonValue) -> str | None:
    """What is wrong with the value of a 2020-12 keyword; subschemas are only checked for being objects or booleans."""
    shape = SHAPES[keyword]
    if _CHECKS[shape](value):
        return None
    if keyword == "items" and isinstance(value, list):
        return "`items` must be a schema; an array of schemas is written `prefixItems`"
    if keyword == "required" and isinstance(value, bool):
        return "`required` must be an array of names, on the object (a boolean on the member is draft 03)"
    return f"`{keyword}` must be {shape.value}"


def is_number(value: JsonValue) -> bool:
    """Whether `value` is a JSON number: Python's `bool` is an `int`, JSON's is not."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_schema(value: JsonValue) -> bool:
    return isinstance(value, bool | dict)


def _is_names(value: JsonValue) -> bool:
    if not isinstance(value, list):
        return False
    names = [name for name in value if isinstance(name, str)]
    return len(names) == len(value) and len(set(names)) == len(names)


def _is_types(value: JsonValue) -> bool:
    names = value if isinstance(value, list) else [value]
    return (
        bool(names)
        and all(isinstance(n, str) and n in TYPE_NAMES for n in names)
        and len(set(map(str, names))) == len(names)
    )


def _is_array_of(value: JsonValue, check: Callable[[JsonValue], bool]) -> bool:
    return isinstance(value, list) and all(map(check, value))


def _is_object_of(value: JsonValue, check: Callable[[JsonValue], bool]) -> bool:
    return isinstance(value, dict) and all(map(check, value.values()))


def _is_string(value: JsonValue) -> bool:
    return isinstance(value, str)


_CHECKS: Final[Mapping[Shape, Callable[[JsonValue], bool]]] = {
    Shape.ANY: lambda _: True,
    Shape.BOOLEAN: lambda value: isinstance(value, bool),
    Shape.STRING: _is_string,
    Shape.PATTERN: _is_string,
    Shape.URI_REFERENCE: _is_string,
    Shape.NUMBER: is_number,
    Shape.POSITIVE_NUMBER: lambda value: isinstance(value, int | Decimal) and is_number(value) and value > 0,
    Shape.COUNT: lambda value: isinstance(value, int) and is_number(value) and value >= 0,
    Shape.ARRAY: lambda value: isinstance(value, list),
    Shape.NAMES: _is_names,
    Shape.NAMES_BY_NAME: lambda value: _is_object_of(value, _is_names),
    Shape.TYPES: _is_types,
    Shape.SCHEMA: _is_schema,
    Shape.SCHEMAS: lambda value: bool(value) and _is_array_of(value, _is_schema),
    Shape.SCHEMAS_BY_NAME: lambda value: _is_object_of(value, _is_schema),
    Shape.RESOURCE_ID: lambda value: isinstance(value, str) and "#" not in value.removesuffix("#"),
    Shape.ANCHOR: lambda value: isinstance(value, str) and _ANCHOR.fullmatch(value) is not None,
    Shape.VOCABULARIES: lambda value: _is_object_of(value, lambda demanded: isinstance(demanded, bool)),
}
