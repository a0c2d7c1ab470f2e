"""More spellings for numbers under decimal constraints, none of them wider.

Under a bound or a divisor with n decimal places the engine writes some numbers with exactly n places: 0.50 under
`multipleOf: 0.25`, -0.10 under `minimum: -0.18`. The same set of values is described once more for each smaller number
of places, as a union: every part is a subset of the original, so the union is the original with more spellings.
"""

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import lcm

from compiler_pool.lowering.numbers import Number, inexact_multiple
from registry.contract import JsonValue

MAX_PLACES = 6
"""Beyond it the plain constraint stands alone: exact, with fewer spellings."""


def spelled_parts(bounds: Mapping[str, Number], divisor: Number | None, *, max_multiple: int) -> list[JsonValue]:
    """Schemas whose union is `bounds` and `divisor` together; the last one is exactly that, as given."""
    given: dict[str, JsonValue] = dict(bounds)
    if divisor is not None:
        given["multipleOf"] = divisor
    places = max(map(_places, [*bounds.values(), *([] if divisor is None else [divisor])]), default=0)
    parts: list[JsonValue] = []
    for at in range(places if places <= MAX_PLACES else 0):
        part: dict[str, JsonValue] | None = _rounded_inwards(bounds, at)
        if part is not None and divisor is not None:
            multiple = _multiple_with(divisor, at)
            is_exact = inexact_multiple(multiple, max_multiple=max_multiple) is None
            part = part | {"multipleOf": multiple} if is_exact else None
        if part is not None:
            parts.append(part)
    return [*parts, given]


def _places(value: Number) -> int:
    _, _, exponent = Decimal(value).normalize().as_tuple()
    assert isinstance(exponent, int)
    return max(-exponent, 0)


def _rounded_inwards(bounds: Mapping[str, Number], places: int) -> dict[str, JsonValue] | None:
    """The bounds as numbers with `places` decimal places see them; None if no such number fits between."""
    lows: list[Number] = []
    highs: list[Number] = []
    part: dict[str, JsonValue] = {}
    unit = Decimal(1).scaleb(-places)
    for keyword, value in bounds.items():
        if _places(value) <= places:
            part[keyword] = value
            (lows if keyword.endswith("inimum") else highs).append(value)
        elif keyword.endswith("inimum"):
            lows.append(_exact(Decimal(value).quantize(unit, rounding=ROUND_CEILING)))
            part["minimum"] = max(lows)
        else:
            highs.append(_exact(Decimal(value).quantize(unit, rounding=ROUND_FLOOR)))
            part["maximum"] = min(highs)
    return None if lows and highs and max(lows) >= min(highs) else part


def _multiple_with(divisor: Number, places: int) -> Number:
    """The least number with `places` decimal places whose multiples are all multiples of `divisor`."""
    own = _places(divisor)
    whole = int(Decimal(divisor).scaleb(own))
    return _exact(Decimal(lcm(whole, 10 ** (own - places))).scaleb(-own)) if own > places else divisor


def _exact(value: Decimal) -> Number:
    return int(value) if value == value.to_integral_value() else value.normalize()
