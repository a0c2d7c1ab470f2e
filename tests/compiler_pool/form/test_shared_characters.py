"""Languages are told apart by their characters, and never where they have a text in common."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler_pool.form.formats.table import format_language
from compiler_pool.form.languages import Among, Language, Lengths, either, excluding
from compiler_pool.form.running import members
from compiler_pool.form.shared_characters import share_no_text
from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.form.strings import pattern_language
from policy.limits import TENANT

_TIME, _DATE_TIME = format_language("time").language, format_language("date-time").language
_HOST_NAME = format_language("hostname").language
_PIECES = ["a", "b", "[ab]", "[^a]", ".", "a?", "b*", "(?:a|bc)", "(?:ab){1,2}", "c+", "a{0}", "[]", "^", "$"]
_WORDS = ["", "a", "b", "c", "ab", "ba", "bc", "abc", "abab", "cab", "bcbc", "\n", "a\n"]


def tenant() -> ExpansionSpending:
    return ExpansionSpending(TENANT.expansion)


@pytest.mark.parametrize(
    ("one", "other"),
    [(_TIME, pattern_language("`$")), (_DATE_TIME, pattern_language("T$")), (_HOST_NAME, pattern_language("[/=]\\(")),
     (pattern_language("^[ab]+$"), pattern_language("c")), (pattern_language("^a*$"), pattern_language("[^a]")),
     (pattern_language("a$"), pattern_language("b$")), (pattern_language("[]"), pattern_language("a")),
     (pattern_language("^(?:ax|b)*$"), either(pattern_language("^[cx]*a$"), Among(texts=("xc", "c")))),
     (pattern_language("^(?:ab|cd)+$"), pattern_language("^[acd]*a$"))],
)  # fmt: skip
def test_what_needs_a_character_that_the_other_lacks_shares_no_text_with_it(one: Language, other: Language) -> None:
    assert share_no_text([one, other], tenant())
    assert share_no_text([other, Lengths(minimum=1), one], tenant())


@pytest.mark.parametrize(
    "languages",
    [[pattern_language("^a*$"), pattern_language("^b*$")], [_DATE_TIME, pattern_language("Z$")],
     [_HOST_NAME, excluding(pattern_language("a"))], [pattern_language("b"), Among(texts=("", "ab"))],
     [pattern_language("^(?:ab|c)$"), pattern_language("^[^b]$")]],
)  # fmt: skip
def test_what_has_a_text_in_common_is_never_told_apart(languages: list[Language]) -> None:
    assert not share_no_text(languages, tenant())


@given(st.lists(st.lists(st.sampled_from(_PIECES), max_size=4), min_size=2, max_size=3))
def test_patterns_that_match_one_word_share_a_text(drawn: list[list[str]]) -> None:
    patterns = ["".join(pieces) for pieces in drawn]
    languages = [pattern_language(pattern) for pattern in patterns]
    shared = [word for word in _WORDS if all(members([word], language, tenant()) for language in languages)]
    assert not (shared and share_no_text(languages, tenant())), (patterns, shared)
