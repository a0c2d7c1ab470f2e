"""The texts of numbers above zero as an automaton: bounds, steps and exceptions at once."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import repeat
from typing import Final, TypeAlias

from compiler_pool.form.digit_automata import CHARACTERS, DigitAutomaton, Rows, explored, reached
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
_NOWHERE: Final = (None,) * len(CHARACTERS)


def number_automaton(
    ranges: Sequence[tuple[NumberRange, Spelling]],
    points: Iterable[Fraction],
    *,
    max_states: int,
) -> DigitAutomaton:
    """The texts of the numbers above zero in any range, and of the points above zero. No state is final if none is.

    Raises `TooManyStatesError`, of the states before equivalent ones are made one.
    """
    joint = _JointReading(ranges, points)
    if joint.is_nothing:
        return DigitAutomaton(moves=({},), finals=frozenset())
    return explored(joint.start, joint.row, joint.holds, max_states=max_states)


def num_automaton_states(
    ranges: Sequence[tuple[NumberRange, Spelling]],
    points: Iterable[Fraction],
    *,
    max_states: int,
) -> int:
    """How many states it takes before equivalent ones are made one, which costs as much again.

    Raises `TooManyStatesError`.
    """
    joint = _JointReading(ranges, points)
    if joint.is_nothing:
        return 0
    states, _ = reached(joint.start, joint.row, max_states=max_states)
    return len(states)


class _JointReading:
    """All ranges at once, and the points."""

    def __init__(self, ranges: Sequence[tuple[NumberRange, Spelling]], points: Iterable[Fraction]) -> None:
        self._readings = [_Reading(part, spelling) for part, spelling in ranges if part.high is None or part.high > 0]
        self._listed = ExceptionReading(tuple(digits_of(point) for point in points if point > 0))
        self._listings: Rows[ExceptionState] = Rows(self._read_listed)
        self.is_nothing = not self._readings and self._listed.start is None

    @property
    def start(self) -> _Joint:
        """Nothing is read."""
        return (tuple(reading.start for reading in self._readings), self._listed.start)

    def row(self, state: _Joint) -> list[_Joint | None]:
        """What each character leads to; `None` if no number begins so."""
        rows = [
            _NOWHERE if at is None else reading.row(at) for reading, at in zip(self._readings, state[0], strict=True)
        ]
        founds: Iterable[tuple[_State | None, ...]] = zip(*rows, strict=True) if rows else repeat((), len(_NOWHERE))
        return [
            None if listing is None and not any(found) else (found, listing)
            for found, listing in zip(founds, self._listings.of(state[1]), strict=True)
        ]

    def _read_listed(self, state: ExceptionState, character: str) -> ExceptionState:
        listing = self._listed.read(state, character)
        # Idle zeros: a listed number is written in one way.
        return None if listing is not None and listing[1] else listing

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
        self._spelled_rows: Rows[_Spelled | None] = Rows(self._read_spelled)
        self._low_rows: Rows[BoundState] = Rows(self._low.read)
        self._high_rows: Rows[BoundState | None] = Rows(self._read_high)
        self._step_rows: list[Rows[StepState]] = [Rows(step.read) for step in self._steps]
        self._avoided_rows: list[Rows[StepState]] = [Rows(step.read) for step in self._avoided]
        self._excluded_rows: Rows[ExceptionState] = Rows(self._excluded.read)
        self._known: dict[_State, list[_State | None]] = {}

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

    def row(self, state: _State) -> list[_State | None]:
        """What each character leads to; `None` if no number of the range begins so.

        A state is what all parts remember, and each part has far fewer of its own: their rows are worked out once.
        """
        if state in self._known:
            return self._known[state]
        spelled, low, high, steps, avoided, excluded = state
        step_rows = [rows.of(at) for rows, at in zip(self._step_rows, steps, strict=True)]
        avoided_rows = [rows.of(at) for rows, at in zip(self._avoided_rows, avoided, strict=True)]
        columns = zip(
            self._spelled_rows.of(spelled),
            self._low_rows.of(low),
            self._high_rows.of(high) if self._high is not None else repeat(None, len(CHARACTERS)),
            zip(*step_rows, strict=True) if step_rows else repeat((), len(CHARACTERS)),
            zip(*avoided_rows, strict=True) if avoided_rows else repeat((), len(CHARACTERS)),
            self._excluded_rows.of(excluded),
            strict=True,
        )
        found: list[_State | None] = [
            None
            if next_spelled is None or None in next_steps or (next_high is None and self._high is not None)
            else (next_spelled, next_low, next_high, next_steps, next_avoided, next_excluded)
            for next_spelled, next_low, next_high, next_steps, next_avoided, next_excluded in columns
        ]
        self._known[state] = found
        return found

    def _read_high(self, state: BoundState | None, character: str) -> BoundState | None:
        """`None` past the bound, whatever follows."""
        if self._high is None or state is None:
            return None
        read = self._high.read(state, character)
        return None if self._high.is_passed(read) else read

    def _read_spelled(self, spelled: _Spelled | None, character: str) -> _Spelled | None:
        return None if spelled is None else self._spell(spelled, character)

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
