"""The limits on single keywords: each is checked where it stands, and refused by its name with what was observed."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from policy.limits import ContractLimits
from policy.rejection import Rejection, RejectionCode
from registry.contract import JsonValue
from registry.errors import UnsupportedPatternError
from registry.graph import Node
from registry.patterns import pattern_profile, translate_pattern
from registry.shapes import is_number
from registry.text import value_text

_LENGTHS: Final = ("minLength", "maxLength")
_COUNTS: Final = ("minItems", "maxItems", "minContains", "maxContains")
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


@dataclass(frozen=True, slots=True)
class _Measure:
    """One number to hold against a limit."""

    name: str
    observed: int | float | Decimal
    pointer: str
    keyword: str
    what: str


def node_rejections(node: Node, limits: ContractLimits) -> Iterator[Rejection]:
    """Every limit that one subschema breaks by itself, and every pattern that engine and validator cannot share."""
    for measure in _measures(node):
        limit: int = getattr(limits, measure.name)
        if measure.observed > limit:
            is_whole = measure.observed == int(measure.observed)
            yield Rejection(
                code=RejectionCode.LIMIT_EXCEEDED,
                message=f"{measure.what} is above the limit.",
                pointer=measure.pointer,
                keyword=measure.keyword,
                limit_name=measure.name,
                limit=limit,
                observed=int(measure.observed) if is_whole else float(measure.observed),
            )
    yield from _pattern_rejections(node, limits)


def num_significant_digits(value: int | Decimal) -> int:
    """Digits that carry the value; a whole number counts as none, because whole numbers are kept exact throughout."""
    if isinstance(value, int):
        return 0
    return len("".join(map(str, value.as_tuple().digits)).strip("0"))


def _measures(node: Node) -> Iterator[_Measure]:
    assertions = node.assertions
    for keyword in _LENGTHS:
        yield from _count(node, keyword, "max_length", "The length")
    for keyword in _COUNTS:
        yield from _count(node, keyword, "max_items", "The number of items")
    for keyword in _BOUNDS:
        value = assertions.get(keyword)
        if isinstance(value, int | Decimal):
            pointer = node.pointer_of(keyword)
            yield _Measure("max_number_digits", num_significant_digits(value), pointer, keyword, "The number of digits")
    multiple = assertions.get("multipleOf")
    if isinstance(multiple, int | Decimal):
        # A decimal step has as many remainders as its digits say: 0.25 has 25.
        digits = int("".join(map(str, Decimal(multiple).as_tuple().digits)))
        size = multiple if isinstance(multiple, int) or multiple > digits else digits
        yield _Measure("max_multiple_of", size, node.pointer_of("multipleOf"), "multipleOf", "The step")
    yield from _enum_measures(node)
    if "const" in assertions:
        pointer = node.pointer_of("const")
        size = len(value_text(assertions["const"]).encode())
        yield _Measure("max_enum_bytes", size, pointer, "const", "The size of the value")
        yield from _literal_measures([assertions["const"]], pointer, "const")
    yield from _object_measures(node)


def _count(node: Node, keyword: str, name: str, what: str) -> Iterator[_Measure]:
    value = node.assertions.get(keyword)
    if isinstance(value, int):
        yield _Measure(name, value, node.pointer_of(keyword), keyword, what)


def _enum_measures(node: Node) -> Iterator[_Measure]:
    values = node.assertions.get("enum")
    if not isinstance(values, list):
        return
    pointer = node.pointer_of("enum")
    num_objects = sum(isinstance(value, list | dict) for value in values)
    yield _Measure("max_enum_objects", num_objects, pointer, "enum", "The number of arrays and objects")
    yield _Measure("max_enum_scalars", len(values) - num_objects, pointer, "enum", "The number of values")
    yield _Measure("max_enum_bytes", len(value_text(values).encode()), pointer, "enum", "The size of the values")
    yield from _literal_measures(values, pointer, "enum")


def _literal_measures(values: list[JsonValue], pointer: str, keyword: str) -> Iterator[_Measure]:
    longest = digits = 0
    stack = list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            longest = max(longest, len(value.encode()))
        elif isinstance(value, dict):
            longest = max(longest, *(len(name.encode()) for name in value), 0)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
        elif isinstance(value, int | Decimal) and is_number(value):
            digits = max(digits, num_significant_digits(value))
    yield _Measure("max_literal_bytes", longest, pointer, keyword, "The length of a string")
    yield _Measure("max_number_digits", digits, pointer, keyword, "The number of digits")


def _object_measures(node: Node) -> Iterator[_Measure]:
    required = node.assertions.get("required")
    needed = {str(name) for name in required} if isinstance(required, list) else set()
    declared = {str(edge.key) for edge in node.edges_of("properties")}
    num_optional = len(declared - needed)
    branches = len(node.edges_of("anyOf")) + len(node.edges_of("oneOf"))
    rows = 4 * num_optional + branches
    place = "properties" if declared else "oneOf" if node.edges_of("oneOf") else "anyOf"
    if rows:
        pointer = node.pointer_of(place)
        yield _Measure("max_optional_properties", num_optional, pointer, place, "The number of optional properties")
        yield _Measure("max_row_cost", rows, pointer, place, "The cost of choosing (4 x optional members + branches)")
    yield _Measure(
        "max_required_properties", len(needed), node.pointer_of("required"), "required", "The number of required names"
    )
    patterns = node.edges_of("patternProperties")
    yield _Measure(
        "max_pattern_properties",
        len(patterns),
        node.pointer_of("patternProperties"),
        "patternProperties",
        "The number of patterns",
    )
    dependent = node.assertions.get("dependentRequired")
    names = {
        "properties": declared,
        "required": needed,
        "dependentSchemas": {str(edge.key) for edge in node.edges_of("dependentSchemas")},
        "dependentRequired": set(dependent) if isinstance(dependent, dict) else set(),
    }
    for keyword, group in names.items():
        longest = max(group, key=len, default="")
        size = max((len(name.encode()) for name in group), default=0)
        pointer = node.pointer_of(keyword, longest) if keyword == "properties" else node.pointer_of(keyword)
        yield _Measure("max_literal_bytes", size, pointer, keyword, "The length of a name")


def _pattern_rejections(node: Node, limits: ContractLimits) -> Iterator[Rejection]:
    for keyword, pattern, pointer in patterns_of(node):
        size = len(pattern.encode())
        if size > limits.max_pattern_bytes:
            yield _pattern_limit("max_pattern_bytes", limits.max_pattern_bytes, size, keyword, pointer)
            continue
        try:
            profile = pattern_profile(pattern)
            broken = [
                _pattern_limit(name, limit, observed, keyword, pointer)
                for name, limit, observed in (
                    ("max_pattern_repeat", limits.max_pattern_repeat, profile.max_repeat),
                    ("max_pattern_repeat_product", limits.max_pattern_repeat_product, profile.repeat_product),
                    ("max_pattern_depth", limits.max_pattern_depth, profile.depth),
                )
                if observed > limit
            ]
            yield from broken
            if not broken:
                translate_pattern(pattern)
        except UnsupportedPatternError as error:
            message = f"In the pattern, at character {error.position}: {error.reason}."
            yield Rejection(code=error.code, message=message, pointer=pointer, keyword=keyword)


def patterns_of(node: Node) -> Iterator[tuple[str, str, str]]:
    """Keyword, pattern and the caller's pointer, for each pattern of a subschema."""
    pattern = node.assertions.get("pattern")
    if isinstance(pattern, str):
        yield "pattern", pattern, node.pointer_of("pattern")
    for edge in node.edges_of("patternProperties"):
        yield "patternProperties", str(edge.key), node.pointer_of("patternProperties", str(edge.key))


def _pattern_limit(name: str, limit: int, observed: int, keyword: str, pointer: str) -> Rejection:
    return Rejection(
        code=RejectionCode.LIMIT_EXCEEDED,
        message="The pattern is above the limit.",
        pointer=pointer,
        keyword=keyword,
        limit_name=name,
        limit=limit,
        observed=observed,
    )
