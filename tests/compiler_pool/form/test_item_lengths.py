"""Lengths of arrays that a machine can end with."""

from itertools import count, islice

from hypothesis import assume, given
from hypothesis import strategies as st

from compiler_pool.form.item_lengths import ends_within


def ends_by_walking(finals: list[bool], steps: list[list[int]], at_least: int, at_most: int | None) -> bool:
    reached = {0}
    for length in islice(count(), (at_least + 20 if at_most is None else at_most) + 1):
        if length >= at_least and any(finals[state] for state in reached):
            return True
        reached = {target for state in reached for target in steps[state]}
    return False


@given(st.data(), st.integers(1, 5), st.integers(0, 12), st.none() | st.integers(0, 15))
def test_a_length_is_found_exactly_if_walking_finds_one(
    data: st.DataObject, num_states: int, at_least: int, at_most: int | None
) -> None:
    targets = st.lists(st.integers(0, num_states - 1), max_size=2)
    steps = data.draw(st.lists(targets, min_size=num_states, max_size=num_states))
    finals = data.draw(st.lists(st.booleans(), min_size=num_states, max_size=num_states))
    ending = {at for at, is_final in enumerate(finals) if is_final}
    for _ in range(num_states):
        ending |= {at for at in range(num_states) if ending.intersection(steps[at])}
    assume(0 in ending)
    steps = [[target for target in way if target in ending] for way in steps]
    expected = ends_by_walking(finals, steps, at_least, at_most)
    assert ends_within(finals, steps, at_least=at_least, at_most=at_most) == expected


def test_a_great_length_is_not_walked() -> None:
    finals, steps = [False, True], [[0, 1], [1]]
    assert ends_within(finals, steps, at_least=10**15, at_most=10**15)
    assert ends_within(finals, steps, at_least=10**15, at_most=None)
    assert not ends_within([False], [[0]], at_least=5, at_most=10**15)
