"""Where a schema object of 2020-12 holds subschemas."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from registry.contract import JsonValue
from registry.keywords import SHAPES, Shape

SchemaObject: TypeAlias = Mapping[str, JsonValue]


def subschemas(schema: SchemaObject) -> Iterator[tuple[tuple[str | int, ...], JsonValue]]:
    """Every subschema with its path below `schema`, members in the order they stand; misshapen values have none."""
    for keyword, value in schema.items():
        match SHAPES.get(keyword), value:
            case Shape.SCHEMA, dict() | bool():
                yield (keyword,), value
            case Shape.SCHEMAS, list():
                yield from (((keyword, index), item) for index, item in enumerate(value))
            case Shape.SCHEMAS_BY_NAME, dict():
                yield from (((keyword, name), member) for name, member in value.items())
            case _:
                pass
