"""Ranges of exact numbers: what lies in their intersections and unions, and whether anything does."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler_pool.form.number_sets import (
    NumberRange,
    common_multiple,
    intersection,
    is_empty_range,
    members,
    mirrored,
    num_members,
    only,
    tidied,
)
from compiler_pool.form.number_unions import NumberUnion, joined, met
from compiler_pool.form.spending import ExpansionSpentError


def _free(_count: int) -> None:
    """Work that nobody counts."""


def _values() -> st.SearchStrategy[Fraction]:
    return st.builds(Fraction, st.integers(-60, 60), st.sampled_from([1, 1, 2, 4, 10]))


@st.composite
def _ranges(draw: st.DrawFn) -> NumberRange:
    steps = st.sampled_from([Fraction(1), Fraction(1), Fraction(3), Fraction(1, 2), Fraction(3, 2), Fraction(6)])
    return NumberRange(
        low=draw(st.none() | _values()),
        is_low_open=draw(st.booleans()),
        high=draw(st.none() | _values()),
        is_high_open=draw(st.booleans()),
        step=draw(st.none() | steps),
        avoided_steps=tuple(sorted(draw(st.sets(steps, max_size=2)))),
        excluded=tuple(sorted(draw(st.sets(_values(), max_size=3)))),
    )


def _near(*ranges: NumberRange) -> set[Fraction]:
    marks = {Fraction(0), Fraction(2), Fraction(1, 3)}
    for part in ranges:
        marks |= {each for each in (part.low, part.high, part.step, *part.avoided_steps, *part.excluded) if each}
    return {mark + shift for mark in marks for shift in (0, 1, -1, Fraction(1, 2), Fraction(-1, 10), 3)}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(first=_ranges(), second=_ranges())
def test_an_intersection_holds_what_both_hold(first: NumberRange, second: NumberRange) -> None:
    both = intersection(first, second)
    for value in _near(first, second):
        assert (value in both) == (value in first and value in second), value


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(part=_ranges())
def test_a_tidied_range_holds_the_same_numbers_and_none_is_left_of_an_empty_one(part: NumberRange) -> None:
    neat = tidied(part, _free)
    assert (neat is None) == is_empty_range(part, _free)
    for value in _near(part):
        assert (value in part) == (neat is not None and value in neat), value


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(part=_ranges())
def test_a_mirrored_range_holds_the_opposite_numbers(part: NumberRange) -> None:
    for value in _near(part):
        assert (value in part) == (-value in mirrored(part)), value


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parts=st.lists(_ranges(), max_size=4), points=st.sets(_values(), max_size=4))
def test_a_union_holds_what_any_part_holds(parts: list[NumberRange], points: set[Fraction]) -> None:
    unions = [NumberUnion(points=frozenset(points)), *(NumberUnion(ranges=(part,)) for part in parts)]
    union = joined(unions, _free)
    for value in _near(*parts) | points:
        assert (value in union) == (value in points or any(value in part for part in parts)), value
        assert (value in union) == (value in union.as_set())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(first=st.lists(_ranges(), max_size=3), second=st.lists(_ranges(), max_size=3), points=st.sets(_values()))
def test_unions_meet_in_what_both_hold(
    first: list[NumberRange], second: list[NumberRange], points: set[Fraction]
) -> None:
    one = NumberUnion(points=frozenset(points), ranges=tuple(first))
    other = NumberUnion(ranges=tuple(second))
    both = met(one, other, _free)
    for value in _near(*first, *second) | points:
        assert (value in both) == (value in one and value in other), value


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([NumberRange(high=Fraction(3)), NumberRange(low=Fraction(3), is_low_open=True)], NumberRange()),
        ([NumberRange(excluded=(Fraction(3),)), only(Fraction(3))], NumberRange()),
        ([NumberRange(excluded=(Fraction(3),)), NumberRange(excluded=(Fraction(5),))], NumberRange()),
        ([NumberRange(avoided_steps=(Fraction(1),)), NumberRange(step=Fraction(1))], NumberRange()),
        (
            [
                NumberRange(low=Fraction(0), high=Fraction(4), step=Fraction(1)),
                NumberRange(low=Fraction(5), high=Fraction(9), step=Fraction(1)),
            ],
            NumberRange(low=Fraction(0), high=Fraction(9), step=Fraction(1)),
        ),
        (
            [only(Fraction(1)), NumberRange(low=Fraction(1), high=Fraction(2), is_low_open=True)],
            NumberRange(low=Fraction(1), high=Fraction(2)),
        ),
    ],
)
def test_parts_that_make_up_for_each_other_become_one(parts: list[NumberRange], expected: NumberRange) -> None:
    assert joined([NumberUnion(ranges=(part,)) for part in parts], _free) == NumberUnion(ranges=(expected,))


@pytest.mark.parametrize(
    ("part", "is_empty"),
    [
        (NumberRange(low=Fraction(1), high=Fraction(1), is_low_open=True), True),
        (NumberRange(low=Fraction(1, 10), high=Fraction(9, 10), step=Fraction(1)), True),
        (NumberRange(low=Fraction(1), high=Fraction(10**30), step=Fraction(6), avoided_steps=(Fraction(3),)), True),
        (NumberRange(step=Fraction(6), avoided_steps=(Fraction(4),)), False),
        (NumberRange(low=Fraction(6), high=Fraction(6), step=Fraction(2), excluded=(Fraction(6),)), True),
        (NumberRange(low=Fraction(0), high=Fraction(1, 10**300), is_low_open=True, is_high_open=True), False),
    ],
)
def test_emptiness_is_exact(part: NumberRange, *, is_empty: bool) -> None:
    assert is_empty_range(part, _free) == is_empty


def test_members_are_counted_up_to_a_limit_only() -> None:
    part = NumberRange(low=Fraction(0), high=Fraction(100), step=Fraction(7), excluded=(Fraction(14),))
    assert list(members(part, _free))[:3] == [0, 7, 21]
    assert num_members(part, _free, at_most=14) == 14
    assert num_members(part, _free, at_most=13) is None
    assert num_members(NumberRange(low=Fraction(0), high=Fraction(10**60), step=Fraction(1)), _free, at_most=9) is None


def test_a_search_among_numbers_that_are_all_left_out_is_charged_for() -> None:
    primes = [Fraction(prime) for prime in range(2, 200) if all(prime % each for each in range(2, prime))]
    part = NumberRange(low=Fraction(2), high=Fraction(198), step=Fraction(1), avoided_steps=tuple(primes))
    spent = 0

    def charge(count: int) -> None:
        nonlocal spent
        spent += count
        if spent > 100:
            raise ExpansionSpentError("max_steps", 100)

    with pytest.raises(ExpansionSpentError):
        is_empty_range(part, charge)


def test_the_common_multiple_of_decimal_steps_is_exact() -> None:
    assert common_multiple(Fraction(3, 10), Fraction(1, 4)) == Fraction(3, 2)
    assert common_multiple(Fraction(1, 10**8), Fraction(1)) == 1
