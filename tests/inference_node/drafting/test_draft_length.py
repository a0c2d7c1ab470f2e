"""The length that is drafted is the one that pays."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_node.drafting.draft_length import DraftLength, best_length, cost_beside


def rate(chance: float, cost: float, length: int) -> float:
    """Tokens for the time of one."""
    return sum(chance**at for at in range(length + 1)) / (1 + cost * length)


@given(chance=st.floats(0.0, 1.0), cost=st.floats(0.0, 2.0), most=st.integers(0, 20))
def test_no_other_length_has_a_better_rate(chance: float, cost: float, most: int) -> None:
    length = best_length(chance, cost=cost, most=most)
    assert 0 <= length <= most
    assert rate(chance, cost, length) >= max(rate(chance, cost, other) for other in range(most + 1)) * (1 - 1e-12)


def test_alone_a_row_costs_what_was_measured_and_in_company_more() -> None:
    assert cost_beside(0.25, 1) == 0.25
    assert cost_beside(0.25, 3) == pytest.approx(0.5)
    assert cost_beside(0.0, 100) == 0.0
    assert cost_beside(1.0, 100) == 1.0


@given(row_cost=st.floats(0.0, 1.0), num_sequences=st.integers(1, 256))
def test_a_row_is_never_dearer_than_a_token_without_drafts(row_cost: float, num_sequences: int) -> None:
    assert row_cost - 1e-9 <= cost_beside(row_cost, num_sequences) <= 1.0 + 1e-9


def test_it_grows_while_drafts_are_taken_whole() -> None:
    length = DraftLength()
    lengths = []
    for _ in range(10):
        lengths.append(length.next(cost=0.1, most=16))
        length.observe(proposed=lengths[-1], accepted=lengths[-1])
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1] == 16


def test_it_stops_where_they_fail_and_tries_ever_more_seldom() -> None:
    length = DraftLength()
    tried = []
    for call in range(400):
        num_drafts = length.next(cost=0.1, most=16)
        if num_drafts:
            tried.append(call)
            length.observe(proposed=num_drafts, accepted=0)
    gaps = [later - earlier for earlier, later in pairwise(tried)]
    assert gaps[-1] == 65
    assert len(tried) < 20


def test_it_comes_back_when_drafts_are_taken_again() -> None:
    length = DraftLength()
    for _ in range(300):
        num_drafts = length.next(cost=0.1, most=16)
        if num_drafts:
            length.observe(proposed=num_drafts, accepted=0)
    calls_until_long = 0
    while (num_drafts := length.next(cost=0.1, most=16)) < 4:
        calls_until_long += 1
        assert calls_until_long < 200
        if num_drafts:
            length.observe(proposed=num_drafts, accepted=num_drafts)


def test_where_a_row_costs_a_token_nothing_is_ever_drafted() -> None:
    length = DraftLength()
    assert {length.next(cost=1.0, most=16) for _ in range(200)} == {0}


def test_what_the_grammar_cut_off_counts_as_not_taken() -> None:
    cut, taken = DraftLength(), DraftLength()
    for _ in range(20):
        cut.observe(proposed=4, accepted=1)
        taken.observe(proposed=1, accepted=1)
    assert cut.chance == pytest.approx(0.5, abs=0.01)
    assert taken.chance == pytest.approx(1.0, abs=0.01)
