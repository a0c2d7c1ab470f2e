"""Changes one thing in a schema: a value, a keyword, a place. What that does to its meaning is to be found out."""

import copy
from random import Random
from typing import Any

from registry.schema_positions import subschemas

_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_SWAPS = {
    "anyOf": "oneOf", "oneOf": "allOf", "allOf": "anyOf", "minimum": "exclusiveMinimum",
    "exclusiveMaximum": "maximum",
    "minLength": "maxLength", "minItems": "maxItems", "items": "contains", "contains": "items", "then": "else",
    "additionalProperties": "unevaluatedProperties", "unevaluatedProperties": "additionalProperties",
    "unevaluatedItems": "items", "properties": "patternProperties", "not": "if",
    "propertyNames": "additionalProperties",
    "required": "enum", "const": "default", "maxLength": "minLength", "maxItems": "minItems",
}  # fmt: skip
_ADDED: tuple[tuple[str, Any], ...] = (
    *(("type", name) for name in _TYPES), *((keyword, n) for keyword in _COUNTS for n in (0, 1, 2)),
    ("minimum", 1), ("maximum", 1), ("exclusiveMinimum", 0), ("multipleOf", 2), ("const", 1), ("const", True),
    ("enum", ["a"]),
    ("enum", [None, 0]), ("required", ["a"]), ("required", ["b"]), ("pattern", "^a"), ("uniqueItems", True),
    ("not", {}),
    ("items", {"type": "string"}), ("items", False), ("additionalProperties", False),
    ("propertyNames", {"maxLength": 1}),
    ("unevaluatedProperties", False), ("unevaluatedItems", False), ("contains", {"type": "integer"}),
    ("dependentRequired", {"a": ["b"]}), ("prefixItems", [{"type": "null"}]),
    ("properties", {"a": {"type": "integer"}}),
)  # fmt: skip


def mutated(schema: Any, random: Random) -> Any:
    """The schema with one change. It may be the same in meaning, and is sometimes no schema the registry reads."""
    root = {"root": copy.deepcopy(schema)}
    places: list[tuple[Any, str | int]] = [(root, "root")]
    for holder, key in places:  # grows while it is walked
        node = holder[key]
        if isinstance(node, dict):
            for path, _ in subschemas(node):
                inner = node
                for step in path[:-1]:
                    inner = inner[step]
                places.append((inner, path[-1]))
    holder, key = random.choice(places)
    holder[key] = _changed(holder[key], random)
    return root["root"]


def _changed(node: Any, random: Random) -> Any:
    if isinstance(node, bool) or not node:
        keyword, value = random.choice(_ADDED)
        return random.choice([not node, {keyword: copy.deepcopy(value)}])
    keyword = random.choice(list(node))
    value = node[keyword]
    match random.choice(["drop", "add", "value", "value", "swap", "whole"]):
        case "drop":
            return {name: member for name, member in node.items() if name != keyword}
        case "add":
            added, fresh = random.choice(_ADDED)
            return {**node, added: copy.deepcopy(fresh)}
        case "swap":
            other = _SWAPS.get(keyword, keyword)
            return {(other if name == keyword else name): member for name, member in node.items()}
        case "whole":
            return random.choice([True, False, {"not": node}, {"items": node}, {"allOf": [node, {"maxLength": 1}]}])
        case _:
            return {**node, keyword: _other_value(keyword, value, random)}


def _other_value(keyword: str, value: Any, random: Random) -> Any:
    if keyword == "type":
        return random.choice(_TYPES)
    if keyword in {"const", "enum"}:
        values = value if isinstance(value, list) else [value]
        fresh = random.choice([None, True, False, 0, 1, 2, "", "a", "ab", [], {}, [1], {"a": 1}])
        return fresh if keyword == "const" else [*values[1:], fresh]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return max(value + random.choice([-1, 1]), 1 if keyword == "multipleOf" else 0 if keyword in _COUNTS else -9)
    if isinstance(value, list) and value:
        return random.choice([value[1:] or value, value[::-1], value + value[:1]])
    if isinstance(value, dict) and value:
        first = next(iter(value))
        return random.choice([{f"{first}a": value[first]}, {**value, "b": value[first]}, dict(list(value.items())[1:])])
    return value
