"""Sets of exact numbers, as unions of ranges that may be thinned out to multiples."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import ceil, floor, lcm
from typing import Final, TypeAlias

Bound: TypeAlias = tuple[Fraction | None, bool]
"""Where a range ends (`None`: nowhere), and whether it does so before that number."""

PER_STEP: Final = 50
"""Comparisons of ranges that cost about as much as one step of a budget."""
_MAX_STEP_BITS: Final = 8_192
"""About 2,400 digits. The common multiple of many steps has as many digits as they have all together."""


class StepTooLongError(Exception):
    """Steps that hold together have a common multiple of too many digits to go on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """Numbers between two bounds (`None`: without end).

    With `step`, only its whole multiples; without the multiples of any of `avoided_steps`, and without `excluded`.
    Steps are above zero; `excluded` are sorted.
    """

    low: Fraction | None = None
    is_low_open: bool = False
    high: Fraction | None = None
    is_high_open: bool = False
    step: Fraction | None = None
    avoided_steps: tuple[Fraction, ...] = ()
    excluded: tuple[Fraction, ...] = ()

    def __contains__(self, value: Fraction) -> bool:
        return (
            self.spans(value)
            and (self.step is None or is_multiple(value, self.step))
            and not any(is_multiple(value, step) for step in self.avoided_steps)
            and not _holds_sorted(self.excluded, value)
        )

    def spans(self, value: Fraction) -> bool:
        """Whether the value lies between the bounds, whatever is thinned out."""
        if self.low is not None and (value < self.low or (value == self.low and self.is_low_open)):
            return False
        return self.high is None or value < self.high or (value == self.high and not self.is_high_open)

    @property
    def point(self) -> Fraction | None:
        """The number, if the bounds leave room for one only."""
        return self.low if self.low is not None and self.low == self.high else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSet:
    """The numbers in any of the parts; none if there are none."""

    parts: tuple[NumberRange, ...]

    def __contains__(self, value: Fraction) -> bool:
        return any(value in part for part in self.parts)


EVERY_NUMBER = NumberSet(parts=(NumberRange(),))


def is_multiple(value: Fraction, step: Fraction) -> bool:
    """Whether the value is a whole number of steps."""
    return (value.numerator * step.denominator) % (value.denominator * step.numerator) == 0


def common_multiple(first: Fraction, second: Fraction) -> Fraction:
    """The least number above zero that is a whole multiple of both. Raises `StepTooLongError`."""
    denominator = lcm(first.denominator, second.denominator)
    numerator = lcm(int(first * denominator), int(second * denominator))
    if max(numerator.bit_length(), denominator.bit_length()) > _MAX_STEP_BITS:
        raise StepTooLongError
    return Fraction(numerator, denominator)


def only(value: Fraction) -> NumberRange:
    """One number."""
    return NumberRange(low=value, high=value)


def intersection(first: NumberRange, second: NumberRange) -> NumberRange:
    """The numbers in both. It may be empty: see `is_empty_range`."""
    low, is_low_open = _higher((first.low, first.is_low_open), (second.low, second.is_low_open))
    high, is_high_open = _lower((first.high, first.is_high_open), (second.high, second.is_high_open))
    steps = [step for step in (first.step, second.step) if step is not None]
    return NumberRange(
        low=low,
        is_low_open=is_low_open,
        high=high,
        is_high_open=is_high_open,
        step=common_multiple(*steps) if len(steps) == 2 else next(iter(steps), None),
        avoided_steps=tuple(sorted({*first.avoided_steps, *second.avoided_steps})),
        excluded=first.excluded
        if first.excluded == second.excluded
        else tuple(sorted({*first.excluded, *second.excluded})),
    )


def tidied(part: NumberRange, charge: Callable[[int], None]) -> NumberRange | None:
    """The same numbers, said in the fewest words; `None` if there are none. Exact."""
    if part.step is not None:
        part = _on_step(part, part.step)
    if not _has_room(part):
        return None
    point = part.point
    if point is not None:
        return only(point) if point in part else None
    excluded = tuple(value for value in part.excluded if value in replace(part, excluded=()))
    avoided = part.avoided_steps
    if part.step is not None:
        if any(is_multiple(part.step, step) for step in avoided):
            return None
        avoided = tuple(sorted({common_multiple(part.step, step) for step in avoided}))
    avoided = tuple(
        step for step in avoided if not any(step != other and is_multiple(step, other) for other in avoided)
    )
    charge(len(part.excluded) // PER_STEP)
    part = replace(part, excluded=excluded, avoided_steps=avoided)
    return None if is_empty_range(part, charge) else part


def is_empty_range(part: NumberRange, charge: Callable[[int], None]) -> bool:
    """Whether no number is in the range. Exact: between two different bounds numbers are dense, or they are counted."""
    if not _has_room(part):
        return True
    if part.point is not None:
        return part.point not in part
    if part.step is None:
        return False
    if any(is_multiple(part.step, step) for step in part.avoided_steps):
        return True
    if part.low is None or part.high is None:
        # One more than a multiple of all that is avoided is no multiple of any, so there is no last one.
        return False
    return next(members(part, charge), None) is None


def members(part: NumberRange, charge: Callable[[int], None]) -> Iterator[Fraction]:
    """The numbers of a range that has a step and two bounds, in order. Each that is looked at is charged for."""
    assert part.step is not None
    assert part.low is not None
    assert part.high is not None
    excluded = frozenset(part.excluded)
    for count in range(ceil(part.low / part.step), floor(part.high / part.step) + 1):
        charge(1)
        value = count * part.step
        if part.spans(value) and value not in excluded and not _is_avoided(part, value):
            yield value


def num_members(part: NumberRange, charge: Callable[[int], None], *, at_most: int) -> int | None:
    """How many numbers there are, if they are at most so many."""
    if part.point is not None:
        return 1
    if part.step is None or part.low is None or part.high is None or (part.high - part.low) / part.step > 2 * at_most:
        return None
    count = sum(1 for _ in islice(members(part, charge), at_most + 1))
    return count if count <= at_most else None


def mirrored(part: NumberRange) -> NumberRange:
    """The range between the negated bounds, with the same steps and the negated exceptions."""
    return NumberRange(
        low=None if part.high is None else -part.high,
        is_low_open=part.is_high_open,
        high=None if part.low is None else -part.low,
        is_high_open=part.is_low_open,
        step=part.step,
        avoided_steps=part.avoided_steps,
        excluded=tuple(-value for value in reversed(part.excluded)),
    )


def _holds_sorted(values: tuple[Fraction, ...], value: Fraction) -> bool:
    at = bisect_left(values, value)
    return at < len(values) and values[at] == value


def _is_avoided(part: NumberRange, value: Fraction) -> bool:
    return any(is_multiple(value, step) for step in part.avoided_steps)


def _on_step(part: NumberRange, step: Fraction) -> NumberRange:
    """The bounds moved inwards to the next multiples, closed."""
    low, high = part.low, part.high
    if low is not None:
        first = ceil(low / step)
        low = (first + (part.is_low_open and first * step == low)) * step
    if high is not None:
        last = floor(high / step)
        high = (last - (part.is_high_open and last * step == high)) * step
    return replace(part, low=low, high=high, is_low_open=False, is_high_open=False)


def _has_room(part: NumberRange) -> bool:
    if part.low is None or part.high is None or part.low < part.high:
        return True
    return part.low == part.high and not part.is_low_open and not part.is_high_open


def _higher(first: Bound, second: Bound) -> Bound:
    if first[0] is None or second[0] is None:
        return second if first[0] is None else first
    return max((first[0], first[1]), (second[0], second[1]))


def _lower(first: Bound, second: Bound) -> Bound:
    if first[0] is None or second[0] is None:
        return second if first[0] is None else first
    return min((first[0], not first[1]), (second[0], not second[1]))[0], (
        first[1] if first[0] < second[0] else second[1] if second[0] < first[0] else first[1] or second[1]
    )
