"""Programs that the validator runs: the pattern's own language, whatever RE2 says of its repeats."""

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import UnsupportedPatternError
from registry.pattern_program import MAX_KEPT, _Splitting, pattern_program
from registry.pattern_syntax import Characters, Choice, PatternNode, Repeat, Sequence
from registry.patterns import write_pattern

_LETTERS = st.sampled_from([Characters(ranges=((ord(letter), ord(letter)),)) for letter in "ab"])


def _compound(inner: st.SearchStrategy[PatternNode]) -> st.SearchStrategy[PatternNode]:
    bounds = st.tuples(st.integers(0, 4), st.none() | st.integers(0, 4))
    return (
        st.lists(inner, max_size=3).map(lambda parts: Sequence(parts=tuple(parts)))
        | st.lists(inner, min_size=2, max_size=3).map(lambda branches: Choice(branches=tuple(branches)))
        | st.builds(
            lambda node, limits: Repeat(
                node=node, minimum=limits[0], maximum=None if limits[1] is None else limits[0] + limits[1]
            ),
            inner,
            bounds,
        )
    )


_TREES: st.SearchStrategy[PatternNode] = st.recursive(_LETTERS, _compound, max_leaves=6)


@given(_TREES, st.integers(1, 6), st.lists(st.text("ab", max_size=12), min_size=5, max_size=20))
def test_splitting_repeats_keeps_the_language(tree: PatternNode, budget: int, texts: list[str]) -> None:
    whole = re2.compile(write_pattern(tree))
    split = re2.compile(write_pattern(_Splitting().split(tree, budget)))
    for text in texts:
        assert (whole.fullmatch(text) is None) is (split.fullmatch(text) is None)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("^a{1500}$", ["a" * 1500], ["a" * 1499, "a" * 1501]),
        ("^a{1500,}$", ["a" * 1500, "a" * 4000], ["a" * 1499]),
        ("^a{3,2500}$", ["aaa", "a" * 2500, "a" * 1234], ["aa", "a" * 2501]),
        ("^(a{40}){40}$", ["a" * 1600], ["a" * 1599, "a" * 1640]),
        ("^(a{1500}b){0,2}$", ["", "a" * 1500 + "b", ("a" * 1500 + "b") * 2], ["b", ("a" * 1500 + "b") * 3]),
    ],
)
def test_repeats_beyond_what_re2_takes_are_written_out(pattern: str, matching: list[str], other: list[str]) -> None:
    with pytest.raises(re2.error):
        re2.compile(pattern, _quiet())
    program = pattern_program(pattern)
    assert all(program.search(text) for text in matching)
    assert not any(program.search(text) for text in other)


def _quiet() -> "re2.Options":
    options = re2.Options()
    options.log_errors = False
    return options


@pytest.mark.parametrize("pattern", ["((a{1,60}){1,60}){1,60}", r"^[^\p{L}]{2000}$", "(?=a)", "a{99999}" * 20])
def test_a_pattern_too_large_to_run_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError):
        pattern_program(pattern)


def test_programs_that_went_out_of_use_are_made_again() -> None:
    for number in range(3 * MAX_KEPT):
        assert pattern_program(f"^x{number}$").search(f"x{number}")
    assert pattern_program("^x0$").search("x0")
