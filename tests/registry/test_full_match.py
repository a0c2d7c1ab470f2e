import itertools

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import UnsupportedPatternError
from registry.full_match import full_match_pattern
from registry.patterns import translate_pattern

_WORDS = ["".join(word) for size in range(5) for word in itertools.product("abx\n", repeat=size)]


def assert_same_language(pattern: str) -> None:
    search, whole = re2.compile(translate_pattern(pattern)), re2.compile(full_match_pattern(pattern))
    for word in _WORDS:
        assert (search.search(word) is not None) == (whole.fullmatch(word) is not None), (pattern, word)


@pytest.mark.parametrize(
    "pattern",
    ["a", "^a", "a$", "^a$", "^a|b$", "^(a|b)$", "", "^", "$", "^$", "(^|x)a($|b)", "(?:^a)?b", "^(?:$|a)", "^(^a)",
     "(a|^b)x", "^(?:a|b$|)", "((^a|b)|x$)"],
)  # fmt: skip
def test_the_whole_strings_in_which_the_pattern_is_found_are_matched(pattern: str) -> None:
    assert "^" not in full_match_pattern(pattern)
    assert "$" not in full_match_pattern(pattern)
    assert_same_language(pattern)


@pytest.mark.parametrize("pattern", ["a^b", "a$b", "(^a)*", "(^a|b$)x", "$a"])
def test_an_anchor_that_would_have_to_be_proven_idle_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError):
        full_match_pattern(pattern)


def test_anchors_in_too_many_alternatives_are_refused() -> None:
    with pytest.raises(UnsupportedPatternError):
        full_match_pattern("|".join(f"^a{{{n}}}" for n in range(300)) + "|" + "|".join(["b$"] * 300))


_SIMPLE = st.recursive(
    st.sampled_from(["a", "b", "x", "[^a]", "^", "$", "^a", "b$"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda branches: f"({'|'.join(branches)})"),
        st.sampled_from(["a*", "(?:ab)+", "b?"]),
    ),
    max_leaves=5,
)


@given(_SIMPLE)
def test_a_search_and_its_full_match_accept_the_same_words(pattern: str) -> None:
    try:
        full_match_pattern(pattern)
    except UnsupportedPatternError:
        return
    assert_same_language(pattern)
