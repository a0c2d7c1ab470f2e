"""Unions of number ranges: intersected pair by pair, and told in few parts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from compiler_pool.form.number_sets import (
    NumberRange,
    NumberSet,
    intersection,
    is_multiple,
    only,
    tidied,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberUnion:
    """Single numbers apart from ranges: an `enum` may list thousands, which are looked up and never walked."""

    points: frozenset[Fraction] = frozenset()
    ranges: tuple[NumberRange, ...] = ()

    def __contains__(self, value: Fraction) -> bool:
        return value in self.points or any(value in part for part in self.ranges)

    def as_set(self) -> NumberSet:
        """Single numbers first, in order; then ranges."""
        return NumberSet(parts=(*map(only, sorted(self.points)), *self.ranges))


def met(first: NumberUnion, second: NumberUnion, charge: Callable[[int], None]) -> NumberUnion:
    """The numbers in both."""
    charge(
        (len(first.points) + 1) * (len(second.ranges) + 1) // 8
        + (len(second.points) + 1) * (len(first.ranges) + 1) // 8
        + len(first.ranges) * len(second.ranges)
    )
    points = {value for value in first.points if value in second} | {value for value in second.points if value in first}
    ranges = (intersection(one, other) for one in first.ranges for other in second.ranges)
    return _gathered(points, ranges, charge)


def joined(unions: Iterable[NumberUnion], charge: Callable[[int], None]) -> NumberUnion:
    """The numbers in any."""
    listed = list(unions)
    points = {value for union in listed for value in union.points}
    return _gathered(points, (part for union in listed for part in union.ranges), charge)


def _gathered(points: set[Fraction], ranges: Iterable[NumberRange], charge: Callable[[int], None]) -> NumberUnion:
    """Empty parts left out, single numbers told apart, and what other parts make up for put back."""
    kept: dict[NumberRange, None] = {}
    for part in ranges:
        neat = tidied(part, charge)
        if neat is None:
            continue
        if neat.point is not None:
            points.add(neat.point)
        else:
            kept[neat] = None
    charge(len(kept) * len(kept) + len(points) * len(kept) // 8)
    filled = _filled(list(kept), points)
    widened = [_reaching(part, points) for part in filled]
    merged = _merged(widened)
    whole = list(merged)
    for part in merged:
        if any(part is not other and _is_within(part, other) for other in whole):
            whole.remove(part)
    left = frozenset(value for value in points if not any(value in part for part in whole))
    return NumberUnion(points=left, ranges=tuple(whole))


def _filled(ranges: list[NumberRange], points: set[Fraction]) -> list[NumberRange]:
    """Parts without exceptions that another part does not make. One after the other: two never excuse each other."""
    filled = list(ranges)
    for at, part in enumerate(filled):
        others = [*filled[:at], *filled[at + 1 :]]
        excluded = tuple(
            value for value in part.excluded if value not in points and not any(value in other for other in others)
        )
        avoided = tuple(
            step for step in part.avoided_steps if not any(_has_multiples(other, part, step) for other in others)
        )
        filled[at] = replace(part, excluded=excluded, avoided_steps=avoided)
    return filled


def _has_multiples(other: NumberRange, part: NumberRange, step: Fraction) -> bool:
    """Whether all multiples of `step` between the bounds of `part` are in the other one."""
    return (
        other.step is not None
        and is_multiple(step, other.step)
        and not other.avoided_steps
        and not other.excluded
        and _spans(other, part)
    )


def _reaching(part: NumberRange, points: set[Fraction]) -> NumberRange:
    """A part whose open bounds are among the points, closed there."""
    bare = replace(part, is_low_open=False, is_high_open=False)
    if part.is_low_open and part.low in points and part.low in bare:
        part = replace(part, is_low_open=False)
    if part.is_high_open and part.high in points and part.high in bare:
        part = replace(part, is_high_open=False)
    return part


def _merged(ranges: list[NumberRange]) -> list[NumberRange]:
    """Parts that overlap or touch made one, where they thin out alike. Their exceptions are already common to both."""
    merged: list[NumberRange] = []
    for part in sorted(ranges, key=lambda each: (each.low is not None, each.low or Fraction(0), each.is_low_open)):
        for at, earlier in enumerate(merged):
            if (earlier.step, earlier.avoided_steps) == (part.step, part.avoided_steps) and _touches(earlier, part):
                merged[at] = _spanning(earlier, part)
                break
        else:
            merged.append(part)
    return merged


def _touches(earlier: NumberRange, later: NumberRange) -> bool:
    """Whether nothing lies between two ranges of the same step, of which the second begins later."""
    if earlier.high is None or later.low is None or later.low < earlier.high:
        return True
    if later.low == earlier.high:
        return not (later.is_low_open and earlier.is_high_open)
    return earlier.step is not None and later.low - earlier.high == earlier.step


def _spanning(earlier: NumberRange, later: NumberRange) -> NumberRange:
    high, is_high_open = later.high, later.is_high_open
    if later.high is not None and (earlier.high is None or earlier.high > later.high):
        high, is_high_open = earlier.high, earlier.is_high_open
    elif earlier.high == later.high:
        is_high_open = earlier.is_high_open and later.is_high_open
    elif earlier.high is None:
        high, is_high_open = None, False
    return replace(
        earlier,
        high=high,
        is_high_open=is_high_open,
        excluded=tuple(sorted({*earlier.excluded, *later.excluded})),
    )


def _spans(outer: NumberRange, inner: NumberRange) -> bool:
    """Whether the bounds of one lie within those of the other. Only outwards of the inner range's own numbers."""
    if outer.low is not None and (
        inner.low is None or inner.low < outer.low or (inner.low == outer.low and outer.is_low_open > inner.is_low_open)
    ):
        return False
    return outer.high is None or not (
        inner.high is None
        or inner.high > outer.high
        or (inner.high == outer.high and outer.is_high_open > inner.is_high_open)
    )


def _is_within(part: NumberRange, other: NumberRange) -> bool:
    """Whether every number of a part is plainly in another one."""
    return (
        _spans(other, part)
        and (other.step is None or (part.step is not None and is_multiple(part.step, other.step)))
        and all(any(is_multiple(step, own) for own in part.avoided_steps) for step in other.avoided_steps)
        and not any(value in part for value in other.excluded)
    )
