"""Whether a schema leaves open what a policy bounds: a scan of its keywords, for the engine's own schema compiler knows
no bounds on digits, depth and the like.

It errs to one side: "no" means that every value is within the bounds because the schema says so.
"""

from collections.abc import Iterable
from typing import Final

from compiler_pool.lowering.outcome import subschemas
from policy.text_bounds import FREE_JSON, UNBOUNDED, TextBounds
from registry.contract import JsonValue
from registry.keywords import SHAPES, Shape

_IN_PLACE: Final = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


def bounds_for(schema: JsonValue, bounds: TextBounds) -> TextBounds:
    """The bounds that hold for a canonical schema: those of the policy, and for free JSON its own besides."""
    is_free = schema is True or (isinstance(schema, dict) and schema.keys() <= {"type"})
    return bounds.filled(FREE_JSON) if is_free else bounds


def has_open_ends(schema: JsonValue, bounds: TextBounds) -> bool:
    """Whether some value of a canonical schema may be outside the bounds."""
    if bounds == UNBOUNDED or schema is False:
        return False
    if not isinstance(schema, dict):
        return True
    pending: list[tuple[JsonValue, int]] = [(schema, 0)]
    while pending:
        node, depth = pending.pop()
        if node is False:
            continue
        if not isinstance(node, dict) or _is_open(node, bounds, depth):
            return True
        if node.keys() & {"const", "enum"}:
            continue
        for keyword, value in node.items():
            is_in_place = keyword in _IN_PLACE or keyword == "$defs"
            pending += [(inner, depth + (not is_in_place)) for inner in _below(keyword, value)]
    return False


def _below(keyword: str, value: JsonValue) -> Iterable[JsonValue]:
    """The subschemas in a keyword's value, booleans among them."""
    yield from (inner for _, inner in subschemas("", keyword, value))
    match SHAPES.get(keyword):
        case Shape.SCHEMA if value is True:
            yield value
        case Shape.SCHEMAS if isinstance(value, list):
            yield from (inner for inner in value if inner is True)
        case Shape.SCHEMAS_BY_NAME if isinstance(value, dict):
            yield from (inner for inner in value.values() if inner is True)
        case _:
            return


def _is_open(node: dict[str, JsonValue], bounds: TextBounds, depth: int) -> bool:
    """Whether the keywords of one subschema, by themselves, leave something open."""
    if node.keys() & {"const", "enum"}:
        return False
    if bounds.max_depth is not None and ("$ref" in node or depth >= bounds.max_depth):
        return True  # a reference may lead back; nobody follows it here
    kinds = node.get("type")
    if kinds is None:
        return not node.keys() & _IN_PLACE
    return any(_is_open_type(str(kind), node, bounds) for kind in (kinds if isinstance(kinds, list) else [kinds]))


def _is_open_type(kind: str, node: dict[str, JsonValue], bounds: TextBounds) -> bool:
    match kind:
        case "number":
            return bounds.max_digits is not None
        case "integer":
            is_ended = bool(
                node.keys() & {"minimum", "exclusiveMinimum"} and node.keys() & {"maximum", "exclusiveMaximum"}
            )
            return bounds.max_digits is not None and not is_ended
        case "string":
            return bounds.max_string_length is not None and "maxLength" not in node
        case "array":
            return "items" not in node or (bounds.max_items is not None and "maxItems" not in node)
        case "object":
            is_named = node.get("additionalProperties", True) is False and "patternProperties" not in node
            return not is_named and (bounds.max_string_length is not None or "additionalProperties" not in node)
        case _:
            return False
