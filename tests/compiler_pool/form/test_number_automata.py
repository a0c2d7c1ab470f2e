"""The texts of numbers by automaton, against exact arithmetic, and how many states it may take."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.form.digit_automata import DigitAutomaton, TooManyStatesError
from compiler_pool.form.number_automata import number_automaton
from compiler_pool.form.number_sets import NumberRange, NumberSet
from compiler_pool.form.number_texts import Spelling, number_text
from compiler_pool.form.steps import step_way


def _accepts(automaton: DigitAutomaton, text: str) -> bool:
    state: int | None = 0
    for character in text:
        state = None if state is None else automaton.moves[state].get(character)
    return state in automaton.finals


def _values() -> st.SearchStrategy[Fraction]:
    return st.builds(Fraction, st.integers(0, 2_000), st.sampled_from([1, 1, 10, 100]))


@st.composite
def _ranges(draw: st.DrawFn) -> NumberRange:
    low = draw(_values())
    steps = st.sampled_from([Fraction(1), Fraction(7), Fraction(7, 100), Fraction(30), Fraction(3, 2)])
    return NumberRange(
        low=draw(st.none() | st.just(low)),
        is_low_open=draw(st.booleans()),
        high=draw(st.none() | st.just(low + draw(_values()))),
        is_high_open=draw(st.booleans()),
        step=draw(st.none() | steps),
        avoided_steps=draw(st.just(()) | steps.map(lambda step: (step,))),
        excluded=tuple(sorted(draw(st.sets(_values(), max_size=3)))),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    parts=st.lists(_ranges(), max_size=2),
    points=st.sets(_values(), max_size=3),
    has_idle_zeros=st.booleans(),
)
def test_an_automaton_accepts_the_numbers_above_zero(
    parts: list[NumberRange], points: set[Fraction], *, has_idle_zeros: bool
) -> None:
    spelling = Spelling(has_idle_zeros=has_idle_zeros)
    automaton = number_automaton([(part, spelling) for part in parts], points, max_states=10**6)
    marks = {
        Fraction(1),
        *points,
        *(bound for part in parts for bound in (part.low, part.high, *part.excluded) if bound),
    }
    for value in {mark + shift for mark in marks for shift in map(Fraction, ("0", "1", "-1", "0.1", "0.07", "14"))}:
        if value <= 0:
            continue
        is_within = value in points or any(value in part for part in parts)
        text = number_text(value)
        longer = text + ("0" if "." in text else ".0")
        assert _accepts(automaton, text) == is_within, text
        assert _accepts(automaton, longer) == (has_idle_zeros and any(value in part for part in parts)), longer
        assert not _accepts(automaton, f"0{text}")
    assert not _accepts(automaton, "0")


def test_every_state_can_still_end() -> None:
    part = NumberRange(low=Fraction(10), high=Fraction(99), step=Fraction(7), excluded=(Fraction(98),))
    automaton = number_automaton([(part, Spelling(is_whole=True))], (), max_states=1_000)
    assert all(moves or state in automaton.finals for state, moves in enumerate(automaton.moves))
    assert not _accepts(automaton, "98")
    assert _accepts(automaton, "91")


def test_an_automaton_of_nothing_has_no_final_state() -> None:
    part = NumberRange(high=Fraction(0), step=Fraction(7))
    automaton = number_automaton([(part, Spelling())], [Fraction(-3)], max_states=10)
    assert automaton.finals == frozenset()


def test_there_are_no_more_states_than_are_asked_for() -> None:
    part = NumberRange(step=Fraction(1009), excluded=(Fraction(1009),))
    with pytest.raises(TooManyStatesError):
        number_automaton([(part, Spelling(is_whole=True))], (), max_states=500)


def test_states_cost_the_same_however_often_the_same_numbers_are_met() -> None:
    values = NumberSet(
        parts=(NumberRange(low=Fraction(1), step=Fraction(61)), NumberRange(low=Fraction(5), step=Fraction(59)))
    )
    first: list[int] = []
    again: list[int] = []
    assert step_way(values, first.append) == step_way(values, again.append)
    assert sum(first) == sum(again) > 100
