"""Keywords that assert nothing by their value, or that others beside them already imply: enforced for free."""

from collections.abc import Callable, Mapping

from compiler_pool.lowering.numbers import as_number
from registry.contract import JsonValue

Node = Mapping[str, JsonValue]

IN_PLACE = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "not", "dependentSchemas"})
"""Applicators whose annotations `unevaluated…` would have to follow."""


def is_idle(keyword: str, node: Node) -> bool:
    """Whether the keyword can be left out of the grammar without any instance noticing."""
    check = _CHECKS.get(keyword)
    return check is not None and check(node[keyword], node)


def is_anything(schema: JsonValue) -> bool:
    """Whether the schema is `true` or `{}`."""
    return schema is True or schema == {}


def is_nothing(schema: JsonValue) -> bool:
    """Whether the schema is `false`, or says so in the obvious way."""
    return schema is False or (isinstance(schema, dict) and "not" in schema and is_anything(schema["not"]))


def _count(value: JsonValue) -> int:
    number = as_number(value)
    return int(number) if number is not None else 0


def _implied(names: JsonValue, node: Node) -> bool:
    required = node.get("required")
    known = required if isinstance(required, list) else []
    return isinstance(names, list) and all(name in known for name in names)


def _at_most_one_item(node: Node) -> bool:
    limit = as_number(node.get("maxItems"))
    if limit is not None and limit <= 1:
        return True
    prefix = node.get("prefixItems")
    return node.get("items") is False and (not isinstance(prefix, list) or len(prefix) <= 1)


def _all_are_objects_with(node: Node, count: int) -> bool:
    # `required` speaks about objects only, as does `minProperties`: no type is needed.
    required = node.get("required")
    return isinstance(required, list) and len(required) >= count


def _at_most_properties(node: Node, count: int) -> bool:
    properties = node.get("properties")
    if node.get("additionalProperties") is not False or node.get("patternProperties"):
        return False
    named = properties.values() if isinstance(properties, dict) else ()
    return sum(not is_nothing(schema) for schema in named) <= count


def _no_dependencies(value: JsonValue, node: Node) -> bool:
    return isinstance(value, dict) and all(_implied(names, node) for names in value.values())


def _contains_nothing(_: JsonValue, node: Node) -> bool:
    return node.get("minContains") == 0 and "maxContains" not in node


_CHECKS: Mapping[str, Callable[[JsonValue, Node], bool]] = {
    "uniqueItems": lambda value, node: value is False or _at_most_one_item(node),
    "minProperties": lambda value, node: value == 0 or _all_are_objects_with(node, _count(value)),
    "maxProperties": lambda value, node: _at_most_properties(node, _count(value)),
    "not": lambda value, _: value is False,
    "if": lambda _, node: "then" not in node and "else" not in node,
    "then": lambda _, node: "if" not in node,
    "else": lambda _, node: "if" not in node,
    "contains": _contains_nothing,
    "minContains": lambda value, node: "contains" not in node or _contains_nothing(value, node),
    "maxContains": lambda _, node: "contains" not in node,
    "dependentRequired": _no_dependencies,
    "dependentSchemas": lambda value, _: isinstance(value, dict) and all(map(is_anything, value.values())),
    "propertyNames": lambda value, _: is_anything(value),
    # Directly beside these, `additionalProperties` and `items` leave nothing unevaluated.
    "unevaluatedProperties": lambda value, node: is_anything(value) or "additionalProperties" in node,
    "unevaluatedItems": lambda value, node: is_anything(value) or "items" in node,
}
