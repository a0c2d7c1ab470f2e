"""How numbers are written: every digit in its place, no exponent, no idle zeros, zero without a sign.

A listed number of more digits than a reader takes has an exponent: `1e300`.
"""

from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Final

from compiler_pool.form.number_sets import is_multiple
from registry.parsing import MAX_NUMBER_DIGITS
from registry.text import canonical_number

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
MAX_TEXT_DIGITS: Final = MAX_NUMBER_DIGITS
"""Digits of one text that a reader takes, zeros included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits:
    """A number from zero upwards: digits before the point (never none), digits after it (no zero at the end)."""

    whole: str
    decimals: str = ""

    def text(self) -> str:
        """As JSON has it."""
        return f"{self.whole}.{self.decimals}" if self.decimals else self.whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Which texts of a number there are: without a fraction, with idle zeros after the point, with so many decimals.

    Texts that agree with a bound for some decimals may have that many more than `max_decimals`.
    """

    is_whole: bool = False
    has_idle_zeros: bool = False
    max_decimals: int | None = None


def num_decimals(value: Fraction) -> int:
    """How many digits after the point the number has. It must be a decimal number, as all of JSON's are."""
    if value.denominator == 1:
        return 0
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    assert rest == 1, "not a decimal number"
    return max(twos, fives)


def digits_of(value: Fraction) -> Digits:
    """The digits of a number from zero upwards."""
    places = num_decimals(value)
    scaled = str(value.numerator * 10**places // value.denominator).zfill(places + 1)
    return Digits(whole=scaled[: len(scaled) - places], decimals=scaled[len(scaled) - places :])


def is_readable(value: Fraction) -> bool:
    """Whether a reader takes the text without an exponent."""
    digits = digits_of(abs(value))
    return len(digits.whole) + len(digits.decimals) <= MAX_TEXT_DIGITS


def listed_text(value: Fraction) -> str:
    """The one text of a decimal number that is listed, not one of a range."""
    return number_text(value) if is_readable(value) else canonical_number(decimal_of(value))


def decimal_of(value: Fraction) -> int | Decimal:
    """The decimal number as JSON's values have it, exact: by itself `Decimal` rounds to 28 digits."""
    if value.denominator == 1:
        return value.numerator
    places = num_decimals(value)
    return Decimal(value.numerator * 10**places // value.denominator).scaleb(-places, _EXACT)


def number_text(value: Fraction) -> str:
    """The text of a decimal number without an exponent."""
    return ("-" if value < 0 else "") + digits_of(abs(value)).text()


def is_whole(value: Fraction) -> bool:
    """Whether the number is an integer."""
    return is_multiple(value, Fraction(1))
