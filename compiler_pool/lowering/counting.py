"""`minProperties` and `maxProperties`, where members can be counted without being told apart."""

from compiler_pool.lowering.idle import Node, is_nothing
from compiler_pool.lowering.numbers import as_number
from registry.contract import JsonValue

MAX_NAMES = 32
"""Alternatives that "at least one of these names" is spelled out into."""


def counted_properties(keyword: str, node: Node, *, engine_counts: bool) -> "JsonValue | None":
    """A schema that says the same as the keyword does here, or None. The keyword is not idle.

    The engine counts members where every declared one is required (`engine_counts`: it has not refused to do so in
    this contract). It does not see that an undeclared name came twice, so it may count one undeclared member for
    `minProperties`, and no second.
    """
    number = as_number(node[keyword])
    if number is None:
        return None
    if keyword == "maxProperties" and number == 0:
        return {"additionalProperties": False}
    declared, required = _declared(node), _required(node)
    if keyword == "minProperties" and number == 1 and _is_closed(node) and 0 < len(declared) <= MAX_NAMES:
        return {"anyOf": [{"required": [name]} for name in declared]}
    can_count = engine_counts and required.issuperset(declared)
    if not can_count or (keyword == "minProperties" and number > len(required) + 1):
        return None
    return {keyword: number}


def _declared(node: Node) -> list[str]:
    properties = node.get("properties")
    named = properties.items() if isinstance(properties, dict) else ()
    return [name for name, schema in named if not is_nothing(schema)]


def _required(node: Node) -> frozenset[str]:
    names = node.get("required")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def _is_closed(node: Node) -> bool:
    return node.get("additionalProperties") is False and not node.get("patternProperties")
