"""Ends for numbers that would have none: so many digits before the point, and behind it."""

from dataclasses import replace
from fractions import Fraction

from compiler_pool.form.number_sets import NumberRange, intersection, is_empty_range, tidied
from compiler_pool.form.number_texts import MAX_TEXT_DIGITS, Spelling, digits_of, num_decimals


def is_of_integers(part: NumberRange) -> bool:
    """Whether the step leaves only integers."""
    return part.step is not None and part.step.denominator == 1


def capped(part: NumberRange, max_digits: int | None) -> NumberRange:
    """A range of the numbers with at most so many digits before the point, on sides where it has no bound.

    With more digits if nothing were left otherwise: it is never empty if `part` is not.
    """
    if max_digits is None or (part.low is not None and part.high is not None):
        return part
    bounds = [bound for bound in (part.low, part.high) if bound is not None]
    num_digits = max([max_digits, *map(_num_whole, bounds)])
    left_out = [*part.excluded, *part.avoided_steps, *(() if part.step is None else (part.step,))]
    if left_out and left_out != [1]:
        # Among a hundred multiples there is always one that is not left out, unless a great many steps are avoided.
        longest = max(_num_whole(value) for value in (*left_out, *bounds))
        num_digits = max(num_digits, longest + 2 + len(part.avoided_steps))
    ended = _ending(part, num_digits)
    return ended if ended is not None else _ending(part, num_digits + 1) or part


def has_short_text(part: NumberRange) -> bool:
    """Whether some number of the range has a text that readers take. Near the limit it may be denied wrongly."""
    nearest = min((abs(bound) for bound in (part.low, part.high) if bound is not None), default=Fraction(0))
    num_whole = 1 if part.spans(Fraction(0)) else _num_whole(nearest)
    if max(map(_num_places, (part.low, part.high, part.step))) < MAX_TEXT_DIGITS // 4:
        return True
    return any(_has_text(part, digits) for digits in (num_whole, num_whole + 1))


def _has_text(part: NumberRange, num_whole: int) -> bool:
    if num_whole > MAX_TEXT_DIGITS:
        return False
    limit = Fraction(10**num_whole)
    short = NumberRange(low=-limit, is_low_open=True, high=limit, is_high_open=True)
    return not is_empty_range(
        intersection(part, replace(short, step=Fraction(1, 10 ** (MAX_TEXT_DIGITS - num_whole)))), _uncharged
    )


def _num_places(value: Fraction | None) -> int:
    """Digits, on the side of the point with more of them."""
    return 0 if value is None else max(_num_whole(value), num_decimals(value))


def spelling_of(part: NumberRange, max_digits: int | None, *, has_idle_zeros: bool) -> Spelling:
    """How the numbers of a range are written: with no more decimals than multiples have, or than there may be."""
    limit = max_digits
    if part.step is not None:
        limit = num_decimals(part.step)
    elif limit is not None:
        # One more decimal than what is left out has is enough to be something else.
        limit = max([limit, *(num_decimals(value) + 1 for value in (*part.excluded, *part.avoided_steps))])
    return Spelling(is_whole=is_of_integers(part), has_idle_zeros=has_idle_zeros, max_decimals=limit)


def _ending(part: NumberRange, num_digits: int) -> NumberRange | None:
    limit = Fraction(10**num_digits)
    if part.low is None:
        part = replace(part, low=-limit, is_low_open=True)
    if part.high is None:
        part = replace(part, high=limit, is_high_open=True)
    return None if is_empty_range(part, _uncharged) else tidied(part, _uncharged)


def _num_whole(value: Fraction) -> int:
    return len(digits_of(abs(value)).whole)


def _uncharged(_count: int) -> None:
    """Such a range is never walked far: the first numbers behind all that is left out are within it."""
