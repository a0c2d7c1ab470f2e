"""Lookup proposes what followed before, adapts to how that fares, and holds no more than its limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_node.drafting.prompt_lookup import LookupLimits, PromptLookup, copied
from tests.inference_node.drafting.wants import want

FREE = 0.0
"""With rows that cost nothing every draft is worth proposing."""


def test_it_proposes_what_followed_the_last_tokens_before() -> None:
    source = PromptLookup(row_cost=FREE)
    assert source.propose([want([7, 1, 2, 3, 4, 5, 9, 1, 2], max_drafts=3)]) == [[3, 4, 5]]


def test_a_cycle_goes_on() -> None:
    source = PromptLookup(row_cost=FREE)
    assert source.propose([want([5, 6, 7, 5, 6], max_drafts=7)]) == [[7, 5, 6, 7, 5, 6, 7]]


def test_nothing_is_proposed_where_nothing_recurs_or_nothing_is_wanted() -> None:
    source = PromptLookup(row_cost=FREE)
    assert source.propose([want([1, 2, 3, 4]), want([1, 2, 3, 1, 2], key=2, max_drafts=0)]) == [[], []]


def test_sequences_do_not_see_each_other() -> None:
    source = PromptLookup(row_cost=FREE)
    first, second = want([1, 2, 3, 4, 5], key=1), want([8, 1, 2, 9, 1, 2], key=2)
    assert source.propose([first, second]) == [[], [9, 1, 2, 9, 1, 2, 9, 1]]
    assert source.propose([want([1, 2, 3, 4, 5, 1, 2], key=1, max_drafts=2)]) == [[3, 4]]


def test_a_sequence_whose_drafts_fail_is_drafted_for_seldom() -> None:
    source = PromptLookup(row_cost=0.1)
    token_ids = [1, 2, 3] * 4
    num_drafts = 0
    for _ in range(200):
        (drafts,) = source.propose([want(token_ids)])
        num_drafts += len(drafts)
        if drafts:
            source.observe(1, len(drafts), 0)
        token_ids = [*token_ids, 1, 2, 3]
    assert num_drafts < 20


def test_drafts_grow_while_they_are_taken() -> None:
    source = PromptLookup(row_cost=0.1)
    token_ids, lengths = [1, 2, 3] * 4, []
    for _ in range(10):
        (drafts,) = source.propose([want(token_ids, max_drafts=16)])
        source.observe(1, len(drafts), len(drafts))
        token_ids = [*token_ids, *drafts]
        lengths.append(len(drafts))
    assert lengths[-1] == 16
    assert token_ids == ([1, 2, 3] * 80)[: len(token_ids)]


def test_the_more_sequences_share_a_step_the_less_is_drafted() -> None:
    alone = PromptLookup(row_cost=0.2).propose([want([1, 2, 3] * 4, max_drafts=16)])
    together = PromptLookup(row_cost=0.2).propose([want([1, 2, 3] * 4, key=key, max_drafts=16) for key in range(64)])
    assert len(alone[0]) > 1 >= len(together[0])


def test_what_is_held_stays_within_the_limits_and_is_given_back() -> None:
    limits = LookupLimits(max_tokens_per_sequence=30, max_tokens=100, max_new_tokens=50)
    source = PromptLookup(row_cost=FREE, limits=limits)
    token_ids: dict[int, list[int]] = {key: list(range(key * 1000, key * 1000 + 20 * key)) for key in range(8)}
    for turn in range(60):
        source.propose([want(ids, key=key) for key, ids in token_ids.items()])
        assert source.num_tokens <= 100
        for key, ids in token_ids.items():
            ids.append(key * 1000 + turn)
    for key in token_ids:
        source.forget(key)
    assert source.num_tokens == 0


def test_a_key_that_was_forgotten_begins_anew() -> None:
    source = PromptLookup(row_cost=FREE)
    source.propose([want([1, 2, 3, 4, 1, 2])])
    source.forget(1)
    source.forget(1)
    assert source.propose([want([9, 1, 2])]) == [[]]


def test_a_row_costs_between_nothing_and_a_whole_step() -> None:
    with pytest.raises(ValueError, match=r"not 1\.5"):
        PromptLookup(row_cost=1.5)


@given(token_ids=st.lists(st.integers(0, 5), min_size=1, max_size=20), data=st.data(), count=st.integers(0, 30))
def test_a_copy_continues_as_if_what_it_copied_stood_there(
    token_ids: list[int], data: st.DataObject, count: int
) -> None:
    position = data.draw(st.integers(0, len(token_ids) - 1))
    expected = list(token_ids)
    for at in range(count):
        expected.append(expected[position + at])
    assert copied(token_ids, position, count) == expected[len(token_ids) :]
