"""The texts of numbers above zero as an automaton: bounds, steps and exceptions at once."""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from compiler_pool.form.digit_automata import DigitAutomaton, explored, reached
from compiler_pool.form.number_readings import (
    BoundReading,
    BoundState,
    ExceptionReading,
    ExceptionState,
    StepReading,
    StepState,
)
from compiler_pool.form.number_sets import NumberRange
from compiler_pool.form.number_texts import Spelling, digits_of

_BEGUN, _ZERO, _WHOLE, _POINT, _DECIMAL, _IDLE = range(6)
_Spelled: TypeAlias = tuple[int, int]
"""Which kind of character was the last, and how many decimals were counted."""
_State: TypeAlias = tuple[
    _Spelled, BoundState, BoundState | None, tuple[StepState, ...], tuple[StepState, ...], ExceptionState
]
_Joint: TypeAlias = tuple[tuple[_State | None, ...], ExceptionState]

_ABOVE_ZERO: Final = (Fraction(0), True)


def number_automaton(
    ranges: Sequence[tuple[NumberRange, Spelling]],
    points: Iterable[Fraction],
    *,
    max_states: int,
    charge: Callable[[int], None],
) -> DigitAutomaton:
    """The texts of the numbers above zero in any range, and of the points above zero. No state is final if none is.

    Raises `TooManyStatesError`, of the states before equivalent ones are made one.
    """
    joint = _JointReading(ranges, points)
    if joint.is_nothing:
        return DigitAutomaton(moves=({},), finals=frozenset())
    return explored(joint.start, joint.read, joint.holds, max_states=max_states, charge=charge)


def num_automaton_states(
    ranges: Sequence[tuple[NumberRange, Spelling]],
    points: Iterable[Fraction],
    *,
    max_states: int,
    charge: Callable[[int], None],
) -> int:
    """How many states it takes before equivalent ones are made one, which costs as much again.

    Raises `TooManyStatesError`.
    """
    joint = _JointReading(ranges, points)
    if joint.is_nothing:
        return 0
    states, _ = reached(joint.start, joint.read, max_states=max_states, charge=charge)
    return len(states)


class _JointReading:
    """All ranges at once, and the points."""

    def __init__(self, ranges: Sequence[tuple[NumberRange, Spelling]], points: Iterable[Fraction]) -> None:
        self._readings = [_Reading(part, spelling) for part, spelling in ranges if part.high is None or part.high > 0]
        self._listed = ExceptionReading(tuple(digits_of(point) for point in points if point > 0))
        self.is_nothing = not self._readings and self._listed.start is None

    @property
    def start(self) -> _Joint:
        """Nothing is read."""
        return (tuple(reading.start for reading in self._readings), self._listed.start)

    def read(self, state: _Joint, character: str) -> _Joint | None:
        """`None` if no number begins so."""
        found = tuple(
            None if at is None else reading.read(at, character)
            for reading, at in zip(self._readings, state[0], strict=True)
        )
        listing = self._listed.read(state[1], character)
        if listing is not None and listing[1]:
            # Idle zeros: a listed number is written in one way.
            listing = None
        return None if listing is None and not any(found) else (found, listing)

    def holds(self, state: _Joint) -> bool:
        """Whether the text so far is a number of the set."""
        return not self._listed.holds(state[1]) or any(
            at is not None and reading.holds(at) for reading, at in zip(self._readings, state[0], strict=True)
        )


class _Reading:
    """One range."""

    def __init__(self, part: NumberRange, spelling: Spelling) -> None:
        low, is_low_open = (part.low, part.is_low_open) if part.low is not None and part.low > 0 else _ABOVE_ZERO
        self._low, self._is_low_open = BoundReading(digits_of(low)), is_low_open
        self._high = BoundReading(digits_of(part.high)) if part.high is not None else None
        self._is_high_open = part.is_high_open
        self._steps = [StepReading(part.step)] if part.step is not None else []
        self._avoided = [StepReading(step) for step in part.avoided_steps]
        self._excluded = ExceptionReading(tuple(digits_of(value) for value in part.excluded if value > 0))
        self._spelling = spelling

    @property
    def start(self) -> _State:
        """Nothing is read."""
        return (
            (_BEGUN, 0),
            self._low.start,
            self._high.start if self._high else None,
            tuple(step.start for step in self._steps),
            tuple(step.start for step in self._avoided),
            self._excluded.start,
        )

    def read(self, state: _State, character: str) -> _State | None:
        """`None` if no number of the range begins so."""
        spelled, low, high, steps, avoided, excluded = state
        next_spelled = self._spell(spelled, character)
        if next_spelled is None:
            return None
        next_steps = tuple(step.read(at, character) for step, at in zip(self._steps, steps, strict=True))
        if None in next_steps:
            return None
        next_high = None
        if self._high is not None and high is not None:
            next_high = self._high.read(high, character)
            if self._high.is_passed(next_high):
                return None
        return (
            next_spelled,
            self._low.read(low, character),
            next_high,
            next_steps,
            tuple(step.read(at, character) for step, at in zip(self._avoided, avoided, strict=True)),
            self._excluded.read(excluded, character),
        )

    def _spell(self, spelled: _Spelled, character: str) -> _Spelled | None:
        kind, count = spelled
        if character == ".":
            return (_POINT, 0) if kind in {_ZERO, _WHOLE} and not self._spelling.is_whole else None
        match kind:
            case 0:
                return (_ZERO if character == "0" else _WHOLE, 0)
            case 1:
                return None
            case 2:
                return spelled
            case _:
                limit = self._spelling.max_decimals
                if limit is not None and count >= limit:
                    return None
                return (_IDLE if character == "0" else _DECIMAL, 0 if limit is None else count + 1)

    def holds(self, state: _State) -> bool:
        """Whether the text so far is a number of the range."""
        (kind, _), low, high, steps, avoided, excluded = state
        if kind in {_BEGUN, _POINT} or (kind == _IDLE and not self._spelling.has_idle_zeros):
            return False
        above = self._low.order(low)
        if above < 0 or (above == 0 and self._is_low_open):
            return False
        if self._high is not None and high is not None:
            below = self._high.order(high)
            if below > 0 or (below == 0 and self._is_high_open):
                return False
        return (
            all(step.holds(at) for step, at in zip(self._steps, steps, strict=True))
            and not any(step.holds(at) for step, at in zip(self._avoided, avoided, strict=True))
            and self._excluded.holds(excluded)
        )
