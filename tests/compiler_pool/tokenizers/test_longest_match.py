"""Splitting bytes without the model's own split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.longest_match import LongestMatch


def test_the_longest_token_is_taken_at_each_place() -> None:
    match = LongestMatch.over({b"a": 0, b"b": 1, b"ab": 2, b"abab": 3})
    assert match.split(b"abababb", path="x") == [3, 2, 1]


def test_where_a_byte_has_no_token_a_shorter_one_is_taken_if_the_rest_needs_it() -> None:
    match = LongestMatch.over({b"a": 0, b"ab": 1, b"bc": 2})
    assert match.split(b"abc", path="x") == [0, 2]


def test_bytes_that_nothing_spells_are_refused_by_name() -> None:
    match = LongestMatch.over({b"a": 0, b"ab": 1})
    with pytest.raises(TokenizerError, match="0x63"):
        match.split(b"abca", path="x")
    with pytest.raises(TokenizerError, match="none fit together"):
        match.split(b"abba", path="x")


@given(
    tokens=st.sets(st.text("abc", min_size=1, max_size=3).map(str.encode), min_size=1),
    parts=st.lists(st.integers(min_value=0, max_value=50), max_size=12),
)
def test_whatever_is_made_of_tokens_can_be_split(tokens: set[bytes], parts: list[int]) -> None:
    ordered = sorted(tokens)
    data = b"".join(ordered[part % len(ordered)] for part in parts)
    match = LongestMatch.over({token: at for at, token in enumerate(ordered)})
    assert b"".join(ordered[index] for index in match.split(data, path="x")) == data


def test_a_rest_that_nothing_spells_is_found_without_trying_every_split() -> None:
    match = LongestMatch.over({b"a" * length: length for length in range(1, 20)} | {b"ab": 20})
    with pytest.raises(TokenizerError, match="0x63"):
        match.split(b"a" * 5_000 + b"c", path="x")  # 2^4,999 splits of what comes before
