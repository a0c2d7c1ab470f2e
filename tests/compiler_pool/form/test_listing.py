"""Patterns that are lists of words, and those that are not."""

import pytest

from compiler_pool.form.listing import list_texts
from registry.patterns import parse_pattern


@pytest.mark.parametrize(
    ("expression", "texts"),
    [("", [""]), ("a", ["a"]), ("red|green|[Bb]lue", ["red", "green", "Blue", "blue"]), ("a{2}b?", ["aa", "aab"]),
     ("(?:a|b){1,2}", ["a", "b", "aa", "ab", "ba", "bb"]), ("(?:a|a)", ["a"]), ("[]", []), ("a[]|b", ["b"]),
     ("x{3,4}", ["xxx", "xxxx"]), ("(?:ab{0,2}){1}", ["a", "ab", "abb"])],
)  # fmt: skip
def test_a_list_of_words_is_listed_in_its_order(expression: str, texts: list[str]) -> None:
    assert list_texts(parse_pattern(expression)[0]) == tuple(texts)


@pytest.mark.parametrize(
    "expression",
    ["[a-z]", "[^a]", ".", "\\p{Lu}", "a*", "a+", "(?:a|b){7}", "[ab][cd][ef][gh][ij][kl][mn]", "(?:a{60}){60}",
     "(?:(?:a{0,64}){0,64}){0,64}", "(?:a{0,64}b{0,64}){9}"],
)  # fmt: skip
def test_what_is_long_or_endless_or_a_set_is_none(expression: str) -> None:
    assert list_texts(parse_pattern(expression)[0]) is None
