"""The limits on single keywords: each is checked where it stands, and refused by its name with what was observed."""

from collections.abc import Iterable, Iterator, Mapping
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
from registry.sizes import SATURATED
from registry.text import value_text

_LENGTHS: Final = frozenset({"minLength", "maxLength"})
_COUNTS: Final = frozenset({"minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"})
_BOUNDS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})


@dataclass(frozen=True, slots=True)
class _Measure:
    """One number to hold against a limit."""

    name: str
    observed: int | float | Decimal
    keyword: str
    what: str
    member: str | None = None
    """Where the limit is broken below the keyword."""


def node_rejections(node: Node, limits: ContractLimits) -> Iterator[Rejection]:
    """Every limit that one subschema breaks by itself, and every pattern that engine and validator cannot share."""
    for measure in _measures(node):
        limit: int = getattr(limits, measure.name)
        if measure.observed > limit:
            is_whole = measure.observed == int(measure.observed)
            yield Rejection(
                code=RejectionCode.LIMIT_EXCEEDED,
                message=f"{measure.what} is above the limit.",
                pointer=node.pointer_of(measure.keyword, *(() if measure.member is None else (measure.member,))),
                keyword=measure.keyword,
                limit_name=measure.name,
                limit=limit,
                # `1e400` is five characters and four hundred digits: no reader of a report needs them.
                observed=min(int(measure.observed), SATURATED) if is_whole else float(measure.observed),
            )
    yield from _pattern_rejections(node, limits)


def observed_limits(nodes: Iterable[Node]) -> dict[str, int | float]:
    """The largest observation of each limit, over subschemas that break none."""
    observed: dict[str, int | float] = {}
    for node in nodes:
        for measure in _measures(node):
            _raise_to(observed, measure.name, measure.observed)
        for _, pattern, _ in patterns_of(node):
            profile = pattern_profile(pattern)
            _raise_to(observed, "max_pattern_bytes", len(pattern.encode()))
            _raise_to(observed, "max_pattern_repeat", profile.max_repeat)
            _raise_to(observed, "max_pattern_repeat_product", profile.repeat_product)
            _raise_to(observed, "max_pattern_depth", profile.depth)
    return observed


def _raise_to(observed: dict[str, int | float], name: str, value: float | Decimal) -> None:
    number = int(value) if value == int(value) else float(value)
    observed[name] = max(observed.get(name, 0), number)


def num_significant_digits(value: int | Decimal) -> int:
    """Digits that carry the value; a whole number counts as none, because whole numbers are kept exact throughout."""
    if isinstance(value, int):
        return 0
    return len("".join(map(str, value.as_tuple().digits)).strip("0"))


def _measures(node: Node) -> Iterator[_Measure]:
    if node.assertions:
        yield from _number_measures(node.assertions)
        yield from _value_measures(node.assertions)
    if node.edges or "required" in node.assertions or "dependentRequired" in node.assertions:
        yield from _object_measures(node)


def _number_measures(assertions: Mapping[str, JsonValue]) -> Iterator[_Measure]:
    for keyword, value in assertions.items():
        if not isinstance(value, int | Decimal) or not is_number(value):
            continue
        if keyword in _LENGTHS:
            yield _Measure("max_length", value, keyword, "The length")
            if keyword == "minLength":
                yield _Measure("max_required_length", value, keyword, "The least length")
        elif keyword in _COUNTS:
            yield _Measure("max_items", value, keyword, "The number of items or members")
        elif keyword in _BOUNDS:
            yield _Measure("max_number_digits", num_significant_digits(value), keyword, "The number of digits")
        if keyword == "multipleOf":
            # A decimal step has as many remainders as its digits say: 0.25 has 25.
            digits = int("".join(map(str, Decimal(value).as_tuple().digits)))
            size = value if isinstance(value, int) or value > digits else digits
            yield _Measure("max_multiple_of", size, keyword, "The step")


def _value_measures(assertions: Mapping[str, JsonValue]) -> Iterator[_Measure]:
    values = assertions.get("enum")
    if isinstance(values, list):
        num_objects = sum(isinstance(value, list | dict) for value in values)
        yield _Measure("max_enum_objects", num_objects, "enum", "The number of arrays and objects")
        yield _Measure("max_enum_scalars", len(values) - num_objects, "enum", "The number of values")
        yield _Measure("max_enum_bytes", len(value_text(values).encode()), "enum", "The size of the values")
        yield from _literal_measures(values, "enum")
    if "const" in assertions:
        size = len(value_text(assertions["const"]).encode())
        yield _Measure("max_enum_bytes", size, "const", "The size of the value")
        yield from _literal_measures([assertions["const"]], "const")


def _literal_measures(values: list[JsonValue], keyword: str) -> Iterator[_Measure]:
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
    yield _Measure("max_literal_bytes", longest, keyword, "The length of a string")
    yield _Measure("max_number_digits", digits, keyword, "The number of digits")


def _object_measures(node: Node) -> Iterator[_Measure]:
    required = node.assertions.get("required")
    dependent = node.assertions.get("dependentRequired")
    names: dict[str, set[str]] = {keyword: set() for keyword in ("properties", "dependentSchemas")}
    branches = dict.fromkeys(("anyOf", "oneOf", "patternProperties"), 0)
    for edge in node.edges:
        if edge.keyword in names:
            names[edge.keyword].add(str(edge.key))
        elif edge.keyword in branches:
            branches[edge.keyword] += 1
    names["required"] = {str(name) for name in required} if isinstance(required, list) else set()
    names["dependentRequired"] = set(dependent) if isinstance(dependent, dict) else set()
    num_optional = len(names["properties"] - names["required"])
    rows = 4 * num_optional + branches["anyOf"] + branches["oneOf"]
    place = "properties" if names["properties"] else "oneOf" if branches["oneOf"] else "anyOf"
    yield _Measure("max_optional_properties", num_optional, place, "The number of optional properties")
    yield _Measure("max_row_cost", rows, place, "The cost of choosing (4 x optional members + branches)")
    yield _Measure("max_required_properties", len(names["required"]), "required", "The number of required names")
    num_patterns = branches["patternProperties"]
    yield _Measure("max_pattern_properties", num_patterns, "patternProperties", "The number of patterns")
    for keyword, group in names.items():
        longest = max(group, key=lambda name: len(name.encode()), default="")
        member = longest if keyword == "properties" else None
        yield _Measure("max_literal_bytes", len(longest.encode()), keyword, "The length of a name", member)


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
