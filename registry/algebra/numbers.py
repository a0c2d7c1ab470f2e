"""A number within bounds, on steps and off others: exact."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, lcm
from typing import Final

from registry.algebra.formulas import AtLeast, AtMost, Formula, Multiple, OneOf
from registry.algebra.outcomes import Empty, Found, Outcome, Unsure
from registry.contract import JsonValue
from registry.text import value_text

MAX_TRIED: Final = 4_096
"""Multiples that are looked at one after the other."""
_MAX_DECIMALS: Final = 60


def solve_number(atoms: Iterable[Formula]) -> Outcome:
    """A number for which all atoms hold."""
    return _Numbers(list(atoms)).solve()


def exact_json(value: Fraction) -> int | Decimal | None:
    """The number as JSON writes it, if it has a finite decimal spelling of bearable length."""
    if value.denominator == 1:
        return value.numerator
    places = _num_decimals(value)
    if places > _MAX_DECIMALS:
        return None
    digits = value.numerator * 10**places // value.denominator
    return Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -places))


def _num_decimals(value: Fraction) -> int:
    """How many decimals the number has; more than are ever written, if they do not end."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else _MAX_DECIMALS + 1


class _Numbers:
    def __init__(self, atoms: list[Formula]) -> None:
        self._low: tuple[Fraction, bool] | None = None
        self._high: tuple[Fraction, bool] | None = None
        steps: list[Fraction] = []
        self._off: list[Fraction] = []
        self._excluded: set[str] = set()
        for atom in atoms:
            match atom:
                case AtLeast(bound=bound, is_open=is_open):
                    self._low = max(self._low or (bound, is_open), (bound, is_open))
                case AtMost(bound=bound, is_open=is_open):
                    known = self._high or (bound, is_open)
                    self._high = min(known, (bound, is_open), key=lambda end: (end[0], not end[1]))
                case Multiple(step=step, positive=True):
                    steps.append(step)
                case Multiple(step=step):
                    self._off.append(step)
                case OneOf(texts=texts):
                    self._excluded |= set(texts)
                case _:
                    raise AssertionError(atom)
        self._step = _common_multiple(steps) if steps else None

    def solve(self) -> Outcome:
        if self._low and self._high:
            (low, is_low_open), (high, is_high_open) = self._low, self._high
            if low > high or (low == high and (is_low_open or is_high_open)):
                return Empty(reason=f"no number lies between {_text(low)} and {_text(high)}")
            if low == high:
                return self._first([low], is_all=True)
        return self._dense() if self._step is None else self._stepped(self._step)

    def _stepped(self, step: Fraction) -> Outcome:
        for off in self._off:
            if (step / off).denominator == 1:
                return Empty(reason=f"every multiple of {_text(step)} is a multiple of {_text(off)}")
        first = None if self._low is None else ceil(self._low[0] / step)
        if first is not None and self._low == (first * step, True):
            first += 1
        last = None if self._high is None else floor(self._high[0] / step)
        if last is not None and self._high == (last * step, True):
            last -= 1
        if first is not None and last is not None and first > last:
            return Empty(reason=f"no multiple of {_text(step)} lies between the bounds")
        is_all = first is not None and last is not None and last - first < MAX_TRIED
        return self._first((k * step for k in _from_the_middle(first, last)), is_all=is_all)

    def _dense(self) -> Outcome:
        """Between two different bounds lie decimals that are off any finite number of steps."""
        low = self._low[0] if self._low else (self._high[0] - 16 if self._high else Fraction(-8))
        high = self._high[0] if self._high else low + 16
        width = high - low
        candidates = [Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), low, high]
        candidates += [Fraction(floor(low) + k) for k in range(3)] + [Fraction(ceil(high) - k) for k in range(3)]
        # With more decimals than any step has, a number is off all of them.
        num_decimals = max((_num_decimals(off) for off in self._off), default=0)
        places = 10 ** max(1, len(str(ceil(1 / width))) + 1, num_decimals + 1)
        near = Fraction(floor(low * places), places)
        candidates += [near + Fraction(k, places) for k in (1, 2, 3, 7)]
        candidates += [low + width * Fraction(k, 1024) for k in (512, 1, 1023, 331, 17, 613)]
        outcome = self._first(candidates, is_all=False)
        return outcome if isinstance(outcome, Found) else Unsure(reason="no number was found between the bounds")

    def _first(self, candidates: Iterable[Fraction], *, is_all: bool) -> Outcome:
        for candidate in candidates:
            if not self._holds(candidate):
                continue
            value = exact_json(candidate)
            if value is None:
                is_all = False
            elif value_text(value) not in self._excluded:
                return Found(value=value)
        return Empty(reason="every number that is left is excluded") if is_all else Unsure(reason="no number was found")

    def _holds(self, value: Fraction) -> bool:
        if self._low and (value < self._low[0] or (value == self._low[0] and self._low[1])):
            return False
        if self._high and (value > self._high[0] or (value == self._high[0] and self._high[1])):
            return False
        if self._step is not None and (value / self._step).denominator != 1:
            return False
        return all((value / off).denominator != 1 for off in self._off)


def _from_the_middle(first: int | None, last: int | None) -> Iterator[int]:
    """Whole numbers between two bounds: from zero outwards if it lies between, else from the bound next to it."""
    if first is not None and first > 0:
        yield from range(first, min(last if last is not None else first + MAX_TRIED, first + MAX_TRIED) + 1)
    elif last is not None and last < 0:
        yield from range(last, max(first if first is not None else last - MAX_TRIED, last - MAX_TRIED) - 1, -1)
    else:
        for distance in range(MAX_TRIED):
            if last is None or distance <= last:
                yield distance
            if distance and (first is None or -distance >= first):
                yield -distance


def _common_multiple(steps: list[Fraction]) -> Fraction:
    """The least number that is a whole multiple of each."""
    denominator = lcm(*(step.denominator for step in steps))
    return Fraction(lcm(*(int(step * denominator) for step in steps)), denominator)


def _text(value: Fraction) -> str:
    exact: JsonValue = exact_json(value)
    return str(value) if exact is None else value_text(exact)
