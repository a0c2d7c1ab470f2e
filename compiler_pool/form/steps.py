"""How the steps of a range can be counted on, and what is done about those that cannot."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from compiler_pool.form.digit_automata import DigitAutomaton, TooManyStatesError
from compiler_pool.form.making import Making
from compiler_pool.form.number_automata import num_automaton_states, number_automaton
from compiler_pool.form.number_caps import capped, is_of_integers, spelling_of
from compiler_pool.form.number_sets import (
    NumberRange,
    NumberSet,
    is_multiple,
    members,
    mirrored,
    num_members,
    only,
)
from compiler_pool.form.number_texts import Spelling, is_readable, number_text
from compiler_pool.form.step_expressions import step_expressions

MAX_LISTED: Final = 1_000
"""Multiples that are written one by one, where their step has no short expression."""
MAX_MULTIPLE: Final = 10_000
"""Integers of which an engine may be asked for multiples: each remainder is a state of its lexer."""
MAX_AUTOMATON_STATES: Final = 2_000
"""States of one range's automaton, before equivalent ones are made one; each may become a rule."""
MAX_EXACT_INTEGER: Final = 2**53
"""Up to here integers are exact for an engine that keeps numbers as doubles."""
_STEPS_PER_STATE: Final = 3
_ASSUMED_DIGITS: Final = 20
"""What a policy may grant numbers without a bound: with fewer digits, an automaton has fewer states."""


class StepWay(StrEnum):
    """How the multiples in a range are told from other numbers."""

    EXPRESSIONS = "expressions"
    """By short regular expressions; also if there is no step at all."""
    MULTIPLES = "multiples"
    """They are all integers that are multiples of a small one, between bounds that any engine keeps exact."""
    AUTOMATON = "automaton"
    """By an automaton of bearable size."""
    NONE = "none"


def step_way(values: NumberSet, charge: Callable[[int], None]) -> StepWay:
    """The way that is taken for a set, all of it: what is told in two ways overlaps, and one would hide the other."""
    if all(map(_is_short, values.parts)):
        return StepWay.EXPRESSIONS
    if len(values.parts) == 1 and is_plain_multiples(values.parts[0]):
        return StepWay.MULTIPLES
    # Bounded work, so that it may be charged for afterwards: as much where it was done before, for any contract.
    num_states, is_too_many = _num_states(values)
    charge(num_states * _STEPS_PER_STATE)
    return StepWay.NONE if is_too_many else StepWay.AUTOMATON


@lru_cache(maxsize=64)
def _num_states(values: NumberSet) -> tuple[int, bool]:
    """How many states the automata of both sides take before they are made small, and whether that is too many."""
    num_states = 0
    try:
        for spelled, points in _sides(values, _ASSUMED_DIGITS, has_idle_zeros=True):
            num_states += num_automaton_states(spelled, points, max_states=MAX_AUTOMATON_STATES)
    except TooManyStatesError:
        return num_states + MAX_AUTOMATON_STATES, True
    return num_states, False


def _is_short(part: NumberRange) -> bool:
    return all(step_expressions(step) is not None for step in _steps(part))


def _steps(part: NumberRange) -> tuple[Fraction, ...]:
    return part.avoided_steps if part.step is None else (part.step, *part.avoided_steps)


def is_plain_multiples(part: NumberRange) -> bool:
    """Whether the range is all multiples of a small integer between bounds of at most 2^53."""
    return (
        is_of_integers(part)
        and part.step is not None
        and part.step <= MAX_MULTIPLE
        and not part.avoided_steps
        and not part.excluded
        and all(bound is None or abs(bound) <= MAX_EXACT_INTEGER for bound in (part.low, part.high))
    )


def signed_automata(
    values: NumberSet, *, max_digits: int | None, has_idle_zeros: bool
) -> tuple[DigitAutomaton, DigitAutomaton]:
    """The texts of the numbers above zero, and those of the numbers below it without their sign.

    With at most 20 digits on sides without a bound, if `max_digits` is more. What it costs is charged for where the way
    is chosen. Raises `TooManyStatesError`, but for no set whose way this is.
    """
    max_digits = None if max_digits is None else min(max_digits, _ASSUMED_DIGITS)
    automata = [
        number_automaton(spelled, points, max_states=MAX_AUTOMATON_STATES)
        for spelled, points in _sides(values, max_digits, has_idle_zeros=has_idle_zeros)
    ]
    return automata[0], automata[-1]


_Side: TypeAlias = tuple[list[tuple[NumberRange, Spelling]], list[Fraction]]


def _sides(values: NumberSet, max_digits: int | None, *, has_idle_zeros: bool) -> list[_Side]:
    """The set and its mirror image, with all ranges ended; one of them if they are the same.

    Without listed numbers that are too long for a reader: they have an exponent, and stand beside the automata.
    """
    points = [part.point for part in values.parts if part.point is not None and is_readable(part.point)]
    ranges = [capped(part, max_digits) for part in values.parts if part.point is None]

    def side(parts: list[NumberRange], listed: list[Fraction]) -> _Side:
        return [(part, spelling_of(part, max_digits, has_idle_zeros=has_idle_zeros)) for part in parts], listed

    below, opposite = [mirrored(part) for part in ranges], [-point for point in points]
    is_symmetric = (set(below), set(opposite)) == (set(ranges), set(points))
    return [side(ranges, points)] + ([] if is_symmetric else [side(below, opposite)])


def bearable(values: NumberSet, making: Making) -> NumberSet:
    """The set in parts that can be written: few multiples one by one; steps that are too many to count on are left out.

    What is left out is told to `making`.
    """
    charge = making.spending.step
    if all(map(_is_short, values.parts)):
        return values
    parts: dict[NumberRange, None] = {}
    for part in values.parts:
        parts.update(dict.fromkeys(_listed(part, charge)))
    listed = NumberSet(parts=tuple(parts))
    if step_way(listed, charge) is not StepWay.NONE:
        return listed
    worst = max((step for part in listed.parts for step in _steps(part)), key=_weight)
    reason = f"multiples of {number_text(worst)} have too many remainders to be counted on"
    making.cannot("multipleOf", reason)
    return NumberSet(parts=tuple(dict.fromkeys(map(_without_long_steps, listed.parts))))


def _listed(part: NumberRange, charge: Callable[[int], None]) -> list[NumberRange]:
    if _is_short(part) or num_members(part, charge, at_most=MAX_LISTED) is None:
        return [part]
    return [only(value) for value in members(part, charge)]


def _weight(step: Fraction) -> int:
    return step.numerator * len(str(step.denominator))


def _without_long_steps(part: NumberRange) -> NumberRange:
    """More numbers, with steps that have short expressions only."""
    if _is_short(part):
        return part
    step = part.step
    if step is not None and step_expressions(step) is None:
        step = Fraction(1) if step.denominator == 1 else None
    # What is avoided may be every multiple of a wider step; then nothing is avoided.
    avoided = tuple(
        each
        for each in part.avoided_steps
        if step_expressions(each) is not None and (step is None or not is_multiple(step, each))
    )
    return replace(part, step=step, avoided_steps=avoided)
