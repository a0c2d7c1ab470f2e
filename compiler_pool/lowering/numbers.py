"""Numbers that the engine's doubles keep exact, and the rewriting of those it would get wrong.

The engine reads every number of a schema as a double and builds ranges from their decimal digits. Measured on
llguidance 1.9.1, that is exact for up to 15 significant digits between 10^-15 and 2^53, with these exceptions, all
handled here: an exclusive bound at a whole number lets that number through where the opposite bound lies before the
next one away from zero; the integer next to an exclusive bound is computed in doubles; and a decimal `multipleOf` is
scaled by repeated multiplication, which drifts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor
from typing import TypeAlias

from registry.contract import JsonValue

Number: TypeAlias = int | Decimal

MAX_EXACT_INTEGER = 2**53
SMALLEST_MAGNITUDE = Decimal("1e-15")
SAFE_DIGITS = 15
"""Significant digits that a double always keeps."""

BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")

_MAX_SCALE = 15
_MAX_DIVISOR_SCALE = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Inexact:
    """Why a number cannot be left to the engine."""

    reason: str


def as_number(value: JsonValue) -> Number | None:
    """The value if it is a number; JSON's booleans are none."""
    return value if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else None


def inexact(value: Number, *, max_digits: int) -> Inexact | None:
    """Whether the engine would see another number than `value`. Whole numbers are exact up to 2^53, whatever digits."""
    if _size(value) > MAX_EXACT_INTEGER:
        return Inexact(reason="is beyond 2^53")
    if isinstance(value, int):
        return None
    digits = num_digits(value)
    if digits > max_digits:
        return Inexact(reason=f"has {digits} significant digits")
    if _size(value) < SMALLEST_MAGNITUDE:
        return Inexact(reason="is closer to zero than 1e-15")
    _, _, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if -exponent > _MAX_SCALE:
        return Inexact(reason=f"has more than {_MAX_SCALE} decimal places")
    return None


def _size(value: Number) -> Decimal:
    return Decimal(value).copy_abs()


def num_digits(value: Number) -> int:
    """Significant digits: 1200 has two, 0.5 has one."""
    _, digits, _ = Decimal(value).as_tuple()
    return max(len("".join(map(str, digits)).strip("0")), 1)


def inexact_multiple(value: Number, *, max_multiple: int) -> Inexact | None:
    """Whether the engine would take another divisor than `value`, which is above zero and exact as a number.

    The engine multiplies by ten, in doubles, until nothing is left behind the point; this follows it step by step.
    """
    scaled = float(value)
    places = 0
    while scaled != int(scaled):
        scaled *= 10
        places += 1
        if places > _MAX_DIVISOR_SCALE:
            return Inexact(reason=f"has more than {_MAX_DIVISOR_SCALE} decimal places, or is rounded when it is scaled")
    if Decimal(int(scaled)).scaleb(-places) != value:
        return Inexact(reason="is rounded when it is scaled")
    if scaled > max_multiple:
        return Inexact(reason=f"is {int(scaled)} at its own scale")
    return None


def integral_bounds(node: Mapping[str, JsonValue]) -> dict[str, int]:
    """The bounds of a schema for integers only, as inclusive integers: `exclusiveMinimum: 0.5` is `minimum: 1`."""
    lows: list[int] = []
    highs: list[int] = []
    for keyword, bounds, limit in (
        ("minimum", lows, ceil),
        ("exclusiveMinimum", lows, lambda value: floor(value) + 1),
        ("maximum", highs, floor),
        ("exclusiveMaximum", highs, lambda value: ceil(value) - 1),
    ):
        value = as_number(node.get(keyword))
        if value is not None:
            bounds.append(limit(value))
    return ({"minimum": max(lows)} if lows else {}) | ({"maximum": min(highs)} if highs else {})


def next_inside(keyword: str, value: Number) -> int | None:
    """The integer next to an exclusive bound, inside it. The engine takes it as the bound where it wants integers."""
    match keyword:
        case "exclusiveMinimum":
            return floor(value) + 1
        case "exclusiveMaximum":
            return ceil(value) - 1
        case _:
            return None


def leaking_bounds(bounds: Iterable[tuple[str, Number]]) -> frozenset[tuple[str, int]]:
    """The exclusive bounds at whole numbers that the engine may let through, anywhere in a contract.

    It happens going away from zero only, and where the range ends before the next whole number: `exclusiveMinimum: 3`
    with `maximum: 3.8` lets 3 through, `exclusiveMaximum: -3` with `minimum: -3.8` lets -3 through. Conjunctions may
    bring any two bounds of a contract together.
    """
    listed = list(bounds)
    above = {floor(value) for _, value in listed if value != int(value)}
    below = {ceil(value) for _, value in listed if value != int(value)}
    return frozenset(
        (keyword, int(value))
        for keyword, value in listed
        if value == int(value)
        and (
            (keyword == "exclusiveMinimum" and value >= 0 and value in above)
            or (keyword == "exclusiveMaximum" and value <= 0 and value in below)
        )
    )


def narrowed(bounds: Mapping[str, Number], leaking: frozenset[tuple[str, int]]) -> dict[str, Number]:
    """The bounds with those in `leaking` moved inwards, away from zero, to the next number with 15 digits.

    What lies between is given up. A moved bound cannot make another one leak: those lie on the other side of zero.
    """
    moved: dict[str, Number] = {}
    for given, bound in bounds.items():
        keyword, value = given, bound
        if (given, bound) in leaking:
            step = _smallest_step(int(bound))
            keyword, value = ("minimum", bound + step) if given == "exclusiveMinimum" else ("maximum", bound - step)
        if keyword in moved:
            value = (max if keyword == "minimum" else min)(value, moved[keyword])
        moved[keyword] = value
    return moved


def _smallest_step(whole: int) -> Decimal:
    """What a double can add to a whole number. Leaking ones have at most 14 digits: they have an exact neighbour."""
    digits = len(str(abs(whole))) if whole else 0
    return Decimal(1).scaleb(digits - SAFE_DIGITS)
