"""Sets of exact numbers, as unions of ranges that may be thinned out to multiples."""

from dataclasses import dataclass
from fractions import Fraction


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSet:
    """The numbers in any of the parts; none if there are none."""

    parts: tuple[NumberRange, ...]


EVERY_NUMBER = NumberSet(parts=(NumberRange(),))
NO_NUMBER = NumberSet(parts=())
