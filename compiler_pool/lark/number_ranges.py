"""Ranges of decimal numbers as regular expressions over their texts, exact for any number of digits.

A bound is compared digit by digit from the left: as long as a text agrees with the bound it is "tight", the first digit
that differs decides, and everything after it is free. Behind the point each run of equal digits in a bound gives one
alternative, before it each digit does, so an expression is at most as long as the square of a bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Final

from compiler_pool.form.number_sets import NumberRange, mirrored
from compiler_pool.form.number_texts import Digits, Spelling, digits_of

_MIN_REPEATED: Final = 6
"""Equal digits in a row that are written as a count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tails:
    """What may follow the digits that decide, in one spelling."""

    spelling: Spelling

    @property
    def fraction(self) -> str:
        """Any fraction behind whole digits, or none."""
        if self.spelling.is_whole or self.spelling.max_decimals == 0:
            return ""
        return f"(?:\\.{self.some(0)})?"

    def zeros(self, num_decimals: int) -> str:
        """What changes nothing behind so many decimals."""
        left = self._left(num_decimals)
        if self.spelling.is_whole or not self.spelling.has_idle_zeros or left == 0:
            return ""
        return f"0{_repeated(0, left)}" if num_decimals else f"(?:\\.0{_repeated(1, left)})?"

    def rest(self, num_decimals: int) -> str:
        """What may follow a decimal that is not zero."""
        left = self._left(num_decimals)
        if left == 0:
            return ""
        return f"[0-9]{_repeated(0, left)}" if self.spelling.has_idle_zeros else f"(?:{self.positive(num_decimals)})?"

    def some(self, num_decimals: int) -> str:
        """One decimal or more."""
        if self.spelling.has_idle_zeros:
            left = self._left(num_decimals)
            return f"[0-9]{_repeated(1, None if left is None else max(left, 1))}"
        return self.positive(num_decimals)

    def positive(self, num_decimals: int) -> str:
        """Decimals that are not all zero."""
        left = self._left(num_decimals)
        before = _repeated(0, None if left is None else max(left - 1, 0))
        return f"{_any_digit(before)}[1-9]" + (_any_digit(before) if self.spelling.has_idle_zeros else "")

    def _left(self, num_decimals: int) -> int | None:
        return None if self.spelling.max_decimals is None else max(self.spelling.max_decimals - num_decimals, 0)


def range_expressions(part: NumberRange, spelling: Spelling) -> list[str]:
    """Alternatives that together match the texts of the numbers between the bounds of a part; none if there are none.

    Zero has no sign. Steps and exceptions are not looked at.
    """
    tails = _Tails(spelling=spelling)
    found = list(_above_zero(part, tails))
    if part.spans(Fraction(0)):
        found.append(f"0{tails.zeros(0)}")
    below = list(_above_zero(mirrored(part), tails))
    if below:
        found.append(f"-(?:{'|'.join(below)})")
    return found


def _above_zero(part: NumberRange, tails: _Tails) -> Iterator[str]:
    """The numbers of a part that are greater than zero."""
    low, is_low_open = (part.low, part.is_low_open) if part.low is not None else (Fraction(0), True)
    if low <= 0:
        low, is_low_open = (Fraction(1), False) if tails.spelling.is_whole else (Fraction(0), True)
    if part.high is None:
        bound = _Bound(digits_of(low), tails, is_open=is_low_open)
        yield from bound.above(0)
        yield f"[1-9]{_any_digit(_repeated(bound.num_whole, None))}{tails.fraction}"
    elif low < part.high or (low == part.high and not is_low_open and not part.is_high_open):
        yield from _between(
            _Bound(digits_of(low), tails, is_open=is_low_open),
            _Bound(digits_of(part.high), tails, is_open=part.is_high_open),
            tails,
        )


def _between(low: "_Bound", high: "_Bound", tails: _Tails) -> Iterator[str]:
    if low.num_whole < high.num_whole:
        yield from low.above(0)
        if low.num_whole + 1 < high.num_whole:
            repeated = _repeated(low.num_whole, high.num_whole - 2)
            yield f"[1-9]{_any_digit(repeated)}{tails.fraction}"
        yield from high.below(0)
        return
    length = max(len(low.digits), len(high.digits))
    pairs = zip(low.digits.ljust(length, "0"), high.digits.ljust(length, "0"), strict=True)
    at = next((index for index, (one, other) in enumerate(pairs) if one != other), None)
    if at is None:
        yield from low.itself()
        return
    if at < len(low.digits):
        yield from low.free(at, int(low.digits[at]) + 1, int(high.digits[at]) - 1)
        yield from low.above(at + 1)
    else:
        # The lower bound has ended: what agrees with the upper one so far is the lower bound itself.
        yield from low.itself()
        yield f"{high.text(at)}0{tails.positive(at + 1 - high.num_whole)}"
        yield from high.free(at, 1, int(high.digits[at]) - 1)
    yield from high.below(at + 1)


class _Bound:
    """A number from zero upwards, and the texts on either side of it that agree with it up to some digit."""

    def __init__(self, digits: Digits, tails: _Tails, *, is_open: bool) -> None:
        assert not (tails.spelling.is_whole and digits.decimals)
        self.digits = digits.whole + digits.decimals
        self.num_whole = len(digits.whole)
        self._tails = tails
        self._is_open = is_open

    def text(self, num_digits: int) -> str:
        """The first digits, with the point before those behind it, for one more digit to follow."""
        whole, decimals = self.digits[: min(num_digits, self.num_whole)], self.digits[self.num_whole : num_digits]
        return _literal(whole) + (f"\\.{_literal(decimals)}" if num_digits >= self.num_whole else "")

    def free(self, at: int, first: int, last: int) -> Iterator[str]:
        """Texts that agree up to the digit `at`, have one from `first` (above zero) to `last` there, and then any."""
        if first <= last:
            yield self.text(at) + _digit(first, last) + self._rest(at + 1)

    def itself(self) -> Iterator[str]:
        """The bound, unless it is open."""
        if not self._is_open:
            whole, decimals = self.digits[: self.num_whole], self.digits[self.num_whole :]
            point = "\\." if decimals else ""
            yield f"{_literal(whole)}{point}{_literal(decimals)}{self._tails.zeros(len(decimals))}"

    def above(self, start: int) -> Iterator[str]:
        """Texts that agree up to the digit `start`, from the bound upwards."""
        for at in range(start, self.num_whole):
            if not self._is_open and not self.digits[at:].strip("0"):
                yield self.text(at) + _any_digit(_repeated(self.num_whole - at, self.num_whole - at)) + self._fraction
                return
            yield from self.free(at, int(self.digits[at]) + 1, 9)
        for at, digit, count in self._decimal_runs(start):
            if digit < 9:
                agreeing = f"{digit}{_repeated(0, count - 1)}" if count > 1 else ""
                yield self.text(at) + agreeing + _digit(digit + 1, 9) + self._rest(at + 1)
        yield from self.itself()
        if not self._tails.spelling.is_whole:
            yield self.text(len(self.digits)) + self._tails.positive(len(self.digits) - self.num_whole)

    def below(self, start: int) -> Iterator[str]:
        """Texts that agree up to the digit `start`, up to the bound."""
        for at in range(start, self.num_whole):
            if self._tails.spelling.is_whole and not self._is_open and not self.digits[at:].strip("9"):
                left = self.num_whole - at
                yield from self.free(at, 1, 9) if at == 0 else [self.text(at) + _any_digit(_repeated(left, left))]
                return
            # A first digit is zero only where it is the only one; then both bounds agree in it.
            first = 1 if at == 0 else 0
            if first < int(self.digits[at]):
                yield self.text(at) + _digit(first, int(self.digits[at]) - 1) + self._rest(at + 1)
        if len(self.digits) > max(start, self.num_whole):
            yield from self._shorter(start)
        for at, digit, count in self._decimal_runs(start):
            if digit > 0:
                agreeing = f"{digit}{_repeated(0, count - 1)}" if count > 1 else ""
                num_decimals = at + 1 - self.num_whole
                if self._tails.spelling.has_idle_zeros:
                    yield self.text(at) + agreeing + _digit(0, digit - 1) + self._tails.rest(num_decimals)
                else:
                    yield f"{self.text(at)}{agreeing}0{self._tails.positive(num_decimals)}"
                    if digit > 1:
                        yield self.text(at) + agreeing + _digit(1, digit - 1) + self._tails.rest(num_decimals)
        yield from self.itself()

    def _shorter(self, start: int) -> Iterator[str]:
        """The bound without some of its last decimals."""
        if start <= self.num_whole:
            yield _literal(self.digits[: self.num_whole])
        elif self._tails.spelling.has_idle_zeros or self.digits[start - 1] != "0":
            yield self.text(start)
        for at, digit, count in self._decimal_runs(start):
            kept = count - (at + count == len(self.digits))
            if kept and (digit > 0 or self._tails.spelling.has_idle_zeros):
                yield f"{self.text(at)}{digit}{_repeated(1, kept)}"

    def _decimal_runs(self, start: int) -> Iterator[tuple[int, int, int]]:
        """Equal decimals in a row, from the digit `start`: where they begin, which, and how many."""
        at = max(start, self.num_whole)
        for digit, run in groupby(self.digits[at:]):
            count = sum(1 for _ in run)
            yield at, int(digit), count
            at += count

    @property
    def _fraction(self) -> str:
        return self._tails.fraction

    def _rest(self, num_digits: int) -> str:
        """Anything behind a digit that is not the first to be zero: `num_digits` are there."""
        if num_digits <= self.num_whole:
            left = self.num_whole - num_digits
            return (_any_digit(_repeated(left, left)) if left else "") + self._fraction
        return self._tails.rest(num_digits - self.num_whole)


def _digit(first: int, last: int) -> str:
    return str(first) if first == last else f"[{first}-{last}]"


def _any_digit(repeated: str) -> str:
    return "" if repeated == "{0}" else f"[0-9]{repeated}"


def _repeated(least: int, most: int | None) -> str:
    if most is None:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    if least == most:
        return "" if least == 1 else f"{{{least}}}"
    return "?" if (least, most) == (0, 1) else f"{{{least},{most}}}"


def _literal(digits: str) -> str:
    """Digits as they are, long rows of one digit as a count."""
    runs = ((digit, sum(1 for _ in run)) for digit, run in groupby(digits))
    return "".join(f"{digit}{{{count}}}" if count >= _MIN_REPEATED else digit * count for digit, count in runs)
