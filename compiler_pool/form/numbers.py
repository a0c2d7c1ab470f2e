"""Numbers that satisfy a formula, as an exact set."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Final

from compiler_pool.form.making import Making
from compiler_pool.form.nodes import Literals, Node, Numbers
from compiler_pool.form.number_caps import has_short_text
from compiler_pool.form.number_sets import NumberRange, NumberSet, StepTooLongError
from compiler_pool.form.number_texts import MAX_TEXT_DIGITS, listed_text
from compiler_pool.form.number_unions import NumberUnion, joined, met
from compiler_pool.form.spending import ExpansionSpentError
from compiler_pool.form.steps import bearable
from registry.algebra.formulas import TRUE, All, Any, AtLeast, AtMost, Formula, Multiple, OneOf

_EVERY: Final = NumberUnion(ranges=(NumberRange(),))


def number_nodes(flat: Formula, making: Making) -> list[Node]:
    """The nodes of all numbers that satisfy a flat formula; none if there are none.

    What no engine could write of it, steps that are too many to count on, is told to `making` and left out. Raises
    `ExpansionSpentError`, also where no reader would take any number of a range.
    """
    values = bearable(_bearable_set(flat, making), making)
    points = [part.point for part in values.parts]
    if not values.parts:
        return []
    if not all(point is not None or has_short_text(part) for point, part in zip(points, values.parts, strict=True)):
        raise ExpansionSpentError("max_generated_digits", MAX_TEXT_DIGITS)
    if None in points:
        return [Numbers(values=values)]
    return [Literals(texts=tuple(listed_text(point) for point in points if point is not None))]


def _bearable_set(flat: Formula, making: Making) -> NumberSet:
    try:
        return number_set(flat, making.spending.step)
    except StepTooLongError:
        making.cannot("multipleOf", "the common multiple of its steps has thousands of digits")
        return number_set(_without_steps(flat), making.spending.step)


def _without_steps(flat: Formula) -> Formula:
    """The formula as though only integers were told from other numbers by a step: it holds for more numbers."""
    match flat:
        case All(parts=parts):
            return All(parts=tuple(map(_without_steps, parts)))
        case Any(parts=parts):
            return Any(parts=tuple(map(_without_steps, parts)))
        case Multiple(step=step) if step != 1:
            return TRUE
        case _:
            return flat


def number_set(flat: Formula, charge: Callable[[int], None]) -> NumberSet:
    """The numbers that satisfy a flat formula, exactly. `charge` is told of the steps it takes.

    Raises `StepTooLongError`.
    """
    return _union(flat, charge).as_set()


def _union(flat: Formula, charge: Callable[[int], None]) -> NumberUnion:
    charge(1)
    match flat:
        case All(parts=parts):
            # Few numbers first: what is met with them stays few.
            unions = sorted((_union(part, charge) for part in parts), key=lambda each: len(each.ranges))
            return reduce(lambda first, second: met(first, second, charge), unions, _EVERY)
        case Any(parts=parts):
            return joined([_union(part, charge) for part in parts], charge)
        case AtLeast(bound=bound, is_open=is_open):
            return NumberUnion(ranges=(NumberRange(low=bound, is_low_open=is_open),))
        case AtMost(bound=bound, is_open=is_open):
            return NumberUnion(ranges=(NumberRange(high=bound, is_high_open=is_open),))
        case Multiple(step=step, positive=True):
            return NumberUnion(ranges=(NumberRange(step=step),))
        case Multiple(step=step):
            return NumberUnion(ranges=(NumberRange(avoided_steps=(step,)),))
        case OneOf(texts=texts, positive=positive):
            charge(len(texts) // 16)
            listed = frozenset(map(_number, filter(_is_number, texts)))
            if positive:
                return NumberUnion(points=listed)
            return NumberUnion(ranges=(NumberRange(excluded=tuple(sorted(listed))),))
        case _:
            raise AssertionError(flat)


def _is_number(text: str) -> bool:
    """Whether the JSON text of a value is that of a number."""
    return text[0] in "-0123456789"


def _number(text: str) -> Fraction:
    return Fraction(Decimal(text))
