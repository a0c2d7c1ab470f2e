"""The index finds what a naive search finds, however it was fed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_node.drafting.ngram_index import NO_MATCH, Match, NgramIndex, NoMatch

FEW_TOKENS = st.lists(st.integers(0, 3), max_size=60)


def naive(token_ids: list[int], *, shortest: int, longest: int, first_place: int = 0) -> Match | NoMatch:
    """By trying every place."""
    for length in range(longest, shortest - 1, -1):
        for position in range(len(token_ids) - 1, max(length, first_place) - 1, -1):
            if token_ids[position - length : position] == token_ids[len(token_ids) - length :]:
                return Match(position=position, length=length)
    return NO_MATCH


@given(token_ids=FEW_TOKENS, shortest=st.integers(1, 3), more=st.integers(0, 3), cuts=st.lists(st.integers(1, 20)))
def test_it_finds_the_longest_run_that_recurs_and_its_latest_place(
    token_ids: list[int], shortest: int, more: int, cuts: list[int]
) -> None:
    index = NgramIndex(shortest=shortest, longest=shortest + more)
    end = 0
    for cut in [*cuts, len(token_ids)]:
        end = min(len(token_ids), end + cut)
        assert index.extend(token_ids[:end], max_new=1000, max_held=1000)
        assert index.match(token_ids[:end]) == naive(token_ids[:end], shortest=shortest, longest=shortest + more)


@given(token_ids=FEW_TOKENS, max_held=st.integers(0, 20), cut=st.integers(1, 60))
def test_with_a_window_it_finds_what_the_held_places_offer(token_ids: list[int], max_held: int, cut: int) -> None:
    index = NgramIndex(shortest=2, longest=4)
    for end in [*range(cut, len(token_ids), cut), len(token_ids)]:
        assert index.extend(token_ids[:end], max_new=1000, max_held=max_held)
        assert index.num_tokens <= max_held
        found = index.match(token_ids[:end])
        assert found == naive(token_ids[:end], shortest=2, longest=4, first_place=index.start)


def test_what_falls_out_of_the_window_is_freed() -> None:
    token_ids = list(range(500))
    index = NgramIndex(shortest=2, longest=4)
    for end in range(1, 501):
        index.extend(token_ids[:end], max_new=10, max_held=16)
    assert [len(places) for _, _, places in index._levels] == [16, 16, 16]


def test_a_long_prompt_is_seen_piece_by_piece_and_matched_once_it_was_seen() -> None:
    token_ids = [1, 2, 3, 4] * 10
    index = NgramIndex()
    assert not index.extend(token_ids, max_new=25, max_held=100)
    assert index.match(token_ids) == NO_MATCH
    assert index.extend(token_ids, max_new=25, max_held=100)
    assert index.match(token_ids) == Match(position=36, length=4)


def test_a_sequence_that_became_shorter_is_an_error() -> None:
    index = NgramIndex()
    index.extend([1, 2, 3], max_new=10, max_held=10)
    with pytest.raises(ValueError, match="a sequence of 3 tokens has 2 now"):
        index.extend([1, 2], max_new=10, max_held=10)


def test_runs_are_of_one_token_or_more() -> None:
    with pytest.raises(ValueError, match="runs of 0 to 4"):
        NgramIndex(shortest=0)
    with pytest.raises(ValueError, match="runs of 3 to 2"):
        NgramIndex(shortest=3, longest=2)
