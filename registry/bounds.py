"""How short a value of each JSON type can be, by the keywords of one subschema alone. Never above the truth."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Final, TypeAlias

from registry.contract import JsonValue
from registry.shapes import is_number
from registry.text import value_text

TYPES: Final = ("null", "boolean", "number", "string", "array", "object")

Sizes: TypeAlias = tuple[int, ...]
"""Least bytes of a value of each of `TYPES`; `NONE` where there is no value."""

NONE: Final = 1 << 62
LARGE: Final = 1 << 50
"""Sums stop here, so that doublings stay numbers."""

FREE: Final[Sizes] = (4, 4, 1, 2, 2, 2)
IMPOSSIBLE: Final[Sizes] = (NONE,) * len(TYPES)

_LOWER: Final = frozenset({"minimum", "exclusiveMinimum"})
_UPPER: Final = frozenset({"maximum", "exclusiveMaximum"})

NUMBER, STRING, ARRAY, OBJECT = (TYPES.index(name) for name in ("number", "string", "array", "object"))


def type_index(value: JsonValue) -> int:
    """The index in `TYPES` of a value's type."""
    match value:
        case None:
            return 0
        case bool():
            return 1
        case str():
            return STRING
        case list():
            return ARRAY
        case dict():
            return OBJECT
        case _:
            return NUMBER


def type_sizes(types: JsonValue) -> Sizes:
    """What `type` leaves."""
    names = types if isinstance(types, list) else [types]
    allowed = {"number" if name == "integer" else name for name in names}
    return tuple(FREE[i] if name in allowed else NONE for i, name in enumerate(TYPES))


def value_sizes(values: list[JsonValue], assertions: Mapping[str, JsonValue]) -> Sizes:
    """What `enum` or `const` leaves, of the values that the scalar keywords beside it allow."""
    sizes = list(IMPOSSIBLE)
    for value in values:
        if _is_allowed(value, assertions):
            index = type_index(value)
            sizes[index] = min(sizes[index], len(value_text(value).encode()))
    return tuple(sizes)


def is_number_possible(assertions: Mapping[str, JsonValue], *, only_integers: bool) -> bool:
    """Whether any number lies within the bounds and on the steps that the keywords set."""
    low, is_low_open = _bound(assertions, "minimum", "exclusiveMinimum", greatest=True)
    high, is_high_open = _bound(assertions, "maximum", "exclusiveMaximum", greatest=False)
    if low is None or high is None:
        return True
    step = _step(assertions, only_integers=only_integers)
    if step is None:
        return low < high or (low == high and not is_low_open and not is_high_open)
    first = floor(low / step) + 1 if is_low_open else ceil(low / step)
    last = ceil(high / step) - 1 if is_high_open else floor(high / step)
    return first <= last


def has_bounds(assertions: Mapping[str, JsonValue]) -> bool:
    """Whether any keyword bounds numbers from both sides, so that none might be left."""
    return bool(_LOWER & assertions.keys()) and bool(_UPPER & assertions.keys())


def is_only_integers(types: JsonValue) -> bool:
    """Whether `type` leaves only whole numbers among the numbers."""
    names = types if isinstance(types, list) else [types]
    return "integer" in names and "number" not in names


def count(assertions: Mapping[str, JsonValue], keyword: str, default: int) -> int:
    """The value of a keyword that counts."""
    value = assertions.get(keyword, default)
    assert isinstance(value, int)
    return value


def _is_allowed(value: JsonValue, assertions: Mapping[str, JsonValue]) -> bool:
    types = assertions.get("type")
    if types is not None and type_sizes(types)[type_index(value)] == NONE:
        return False
    if isinstance(value, str):
        return count(assertions, "minLength", 0) <= len(value) <= count(assertions, "maxLength", NONE)
    if isinstance(value, int | Decimal) and is_number(value):
        if types is not None and is_only_integers(types) and not isinstance(value, int):
            return False
        return _is_within(value, assertions)
    return True


def _is_within(value: int | Decimal, assertions: Mapping[str, JsonValue]) -> bool:
    if not (_LOWER | _UPPER | {"multipleOf"}) & assertions.keys():
        return True
    low, is_low_open = _bound(assertions, "minimum", "exclusiveMinimum", greatest=True)
    high, is_high_open = _bound(assertions, "maximum", "exclusiveMaximum", greatest=False)
    exact = Fraction(value)
    is_above = low is None or exact > low or (exact == low and not is_low_open)
    is_below = high is None or exact < high or (exact == high and not is_high_open)
    step = _step(assertions, only_integers=False)
    return is_above and is_below and (step is None or (exact / step).denominator == 1)


def _bound(
    assertions: Mapping[str, JsonValue], closed: str, opened: str, *, greatest: bool
) -> tuple[Fraction | None, bool]:
    """The tighter of two bounds, and whether it excludes itself."""
    found: list[tuple[Fraction, bool]] = []
    for keyword, is_open in ((closed, False), (opened, True)):
        value = assertions.get(keyword)
        if isinstance(value, int | Decimal):
            found.append((Fraction(value), is_open))
    if not found:
        return None, False
    return max(found) if greatest else min(found, key=lambda bound: (bound[0], not bound[1]))


def _step(assertions: Mapping[str, JsonValue], *, only_integers: bool) -> Fraction | None:
    value = assertions.get("multipleOf")
    if isinstance(value, int | Decimal):
        step = Fraction(value)
        # The whole multiples of p/q, in lowest terms, are the multiples of p.
        return Fraction(step.numerator) if only_integers else step
    return Fraction(1) if only_integers else None
