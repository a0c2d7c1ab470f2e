import itertools

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from registry.anchors import has_anchor
from registry.errors import UnsupportedPatternError
from registry.full_match import full_match_pattern, full_match_tree
from registry.pattern_syntax import Characters
from registry.patterns import translate_pattern

_WORDS = ["".join(word) for size in range(5) for word in itertools.product("abx\n", repeat=size)]


def assert_same_language(pattern: str) -> None:
    search, whole = re2.compile(translate_pattern(pattern)), re2.compile(full_match_pattern(pattern))
    for word in _WORDS:
        assert (search.search(word) is not None) == (whole.fullmatch(word) is not None), (pattern, word)


@pytest.mark.parametrize(
    "pattern",
    ["a", "^a", "a$", "^a$", "^a|b$", "^(a|b)$", "", "^", "$", "^$", "(^|x)a($|b)", "(?:^a)?b", "^(?:$|a)", "^(^a)",
     "(a|^b)x", "^(?:a|b$|)", "((^a|b)|x$)", "a^b", "a$b", "(^a)*", "(^a|b$)x", "$a", "(^a|b$|x)*", "(^|a){2}",
     "(^a?|b$){3}", "(^|b$|a){2,3}", "(a|^$){2}", "($|a)(^|b)", "x*^a|b$x*", "(?:(^|a)b){1,2}", "(^|$)+a?",
     "($|^a|b)*x"],
)  # fmt: skip
def test_the_whole_strings_in_which_the_pattern_is_found_are_matched(pattern: str) -> None:
    assert not has_anchor(full_match_tree(pattern))
    assert_same_language(pattern)


@pytest.mark.parametrize("pattern", ["a^b", "a$b", "$a", "(a^)+", "[^]^[^]"])
def test_an_anchor_that_can_never_hold_leaves_nothing_to_match(pattern: str) -> None:
    assert full_match_tree(pattern) == Characters()


def test_hundreds_of_anchored_alternatives_are_two_lines() -> None:
    pattern = "|".join([*(f"^a{{{n}}}" for n in range(300)), *["b$"] * 300])
    assert re2.compile(full_match_pattern(pattern)).fullmatch("xb") is not None


def test_anchors_that_multiply_are_refused() -> None:
    part = "(?:^a?|b?$|x?)"
    with pytest.raises(UnsupportedPatternError, match="too many alternatives"):
        full_match_tree(part * 200)


_SIMPLE = st.recursive(
    st.sampled_from(["a", "b", "x", "[^a]", "^", "$", "^a", "b$"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda branches: f"({'|'.join(branches)})"),
        st.sampled_from(["a*", "(?:ab)+", "b?"]),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0}"])).map(
            lambda repeated: f"({repeated[0]}){repeated[1]}"
        ),
    ),
    max_leaves=5,
)


@given(_SIMPLE)
def test_a_search_and_its_full_match_accept_the_same_words(pattern: str) -> None:
    assert_same_language(pattern)
