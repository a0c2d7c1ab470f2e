"""Patterns are searched in names within a budget; what is above it stays open, and nothing is refused for it."""

import re2

from registry.name_search import MAX_PROGRAM_BYTES, MAX_STEPS, NameSearch
from tests.registry.reading import read, refusal

WIDE = "(((a?b?c?){10}){10}){10}x"
"""Twenty bytes, six thousand instructions, and no automaton that would fit."""


def test_a_plain_pattern_is_decided() -> None:
    search = NameSearch()
    assert search.finds("^b", "ab") is False
    assert search.finds("^b", "ba") is True


def test_a_pattern_whose_program_would_be_megabytes_stays_open() -> None:
    pattern = r"(\p{L}?){250}"
    assert re2.compile(pattern).programsize * 8 > 8 * MAX_PROGRAM_BYTES
    assert NameSearch().finds(pattern, "é") is None


def test_a_long_walk_through_a_wide_program_is_not_begun_and_costs_nothing() -> None:
    search = NameSearch()
    assert search.finds(WIDE, "ab" * (MAX_STEPS // 6_000)) is None
    assert search.finds("^b", "ba") is True


def test_many_short_walks_end_with_the_budget() -> None:
    search = NameSearch()
    found = [search.finds(WIDE, f"{number:04}x") for number in range(2_000)]
    decided = found.index(None)
    assert 0 < decided < 2_000
    assert found == [True] * decided + [None] * (2_000 - decided)


def test_many_different_programs_end_with_the_budget() -> None:
    search = NameSearch()
    found = [search.finds(f"x{number}", "x") for number in range(1_000)]
    assert found[0] is False
    assert found[-1] is None


def test_a_contract_of_hundreds_of_wide_patterns_is_read() -> None:
    schema = {
        "allOf": [
            {
                "required": ["ab" * 400 + str(number)],
                "patternProperties": {f"{WIDE}{'a?' * index}{number}": False for index in range(8)},
            }
            for number in range(40)
        ]
    }
    assert len(read(schema).text) > 40_000


def test_a_pattern_that_is_open_is_never_taken_to_have_found_a_name_nor_to_have_missed_it() -> None:
    wide = r"(\p{L}?){250}"
    impossible = {"required": ["a"], "patternProperties": {wide: False}}
    assert "required" in read(impossible).text
    closed = {"required": ["a"], "patternProperties": {wide: {}}, "additionalProperties": False, "type": "object"}
    assert "required" in read(closed).text
    narrow = {"required": ["a"], "patternProperties": {"^b": {}}, "additionalProperties": False, "type": "object"}
    assert refusal(narrow) == ("unsatisfiable", "/required")
