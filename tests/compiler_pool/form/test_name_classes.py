"""Undeclared names fall into kinds: each into the one whose patterns and wishes it satisfies, and none is empty."""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.languages import both
from compiler_pool.form.maker import Maker
from compiler_pool.form.name_classes import NameClass, name_classes
from compiler_pool.form.pattern_glimpses import begin_apart, first_characters, sample
from compiler_pool.form.running import members
from compiler_pool.form.spending import ExpansionSpentError
from compiler_pool.form.strings import pattern_language
from policy.limits import UNLIMITED
from registry.algebra.budgeting import SolverBudget
from registry.algebra.formulas import Wants
from registry.algebra.terms import Terms
from registry.contract import JsonValue
from tests.compiler_pool.form.walks import spending

PATTERNS = (
    "^x", "1$", "^[ab]$", "y", "^$", "^[^x]*$", "^(x|y)-", "^\\d+$", "^x{2,3}$", "^.{3,}$", "[^a-z]", "^x1$", "^é",
    "^x?$",
)  # fmt: skip
NAMES = ["".join(letters) for length in range(4) for letters in product("ax1-é", repeat=length)]


def world(*schemas: JsonValue) -> tuple[Maker, list[Wants]]:
    terms = Terms()
    roots = terms.read(*schemas)
    maker = Maker(terms, spending=spending(), solving=SolverBudget(max_steps=UNLIMITED.expansion.max_steps))
    return maker, [Wants(term=root, positive=True) for root in roots]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(PATTERNS), max_size=5, unique=True),
    st.lists(st.sampled_from(NAMES), max_size=4, unique=True),
)
def test_every_undeclared_name_is_of_the_one_kind_that_its_matches_say(
    patterns: list[str], declared: list[str]
) -> None:
    maker, _ = world()
    classes = name_classes(patterns, [], declared=declared, making=maker, is_allowed=lambda _: True)
    assert len({one.patterns for one in classes}) == len(classes)
    kinds = {one.patterns: set(members(NAMES, one.language, spending())) for one in classes}
    for name in NAMES:
        matched = frozenset(pattern for pattern in patterns if re.search(pattern.replace("\\d", "[0-9]"), name))
        held = [patterns for patterns, names in kinds.items() if name in names]
        assert held == ([] if name in declared else [matched]), name
    assert not any(is_empty_language(one.language, spending()) for one in classes)


def test_wishes_tell_names_apart_too() -> None:
    maker, (short, listed) = world({"maxLength": 2}, {"enum": ["a", "xxx"]})
    classes = name_classes(["^x"], [short, listed], declared=["a"], making=maker, is_allowed=lambda _: True)
    names = ["a", "x", "b", "xxx", "xxxx", "bbb"]
    found = {(one.patterns, one.wishes): set(members(names, one.language, spending())) for one in classes}
    assert found == {
        (frozenset({"^x"}), frozenset({short})): {"x"},
        (frozenset({"^x"}), frozenset({listed})): {"xxx"},
        (frozenset({"^x"}), frozenset()): {"xxxx"},
        (frozenset(), frozenset({short})): {"b"},
        (frozenset(), frozenset()): {"bbb"},
    }


def test_kinds_that_no_member_may_have_are_left_out() -> None:
    def is_matched(one: NameClass) -> bool:
        return bool(one.patterns)

    maker, _ = world()
    classes = name_classes(["^x", "1$"], [], declared=[], making=maker, is_allowed=is_matched)
    assert {one.patterns for one in classes} == {frozenset({"^x"}), frozenset({"1$"}), frozenset({"^x", "1$"})}


def test_wishes_that_would_double_past_the_budget_are_refused_at_once() -> None:
    schemas: list[JsonValue] = [{"minLength": at + 1} for at in range(30)]
    maker, wishes = world(*schemas)
    with pytest.raises(ExpansionSpentError):
        name_classes([], wishes, declared=[], making=maker, is_allowed=lambda _: True)


def test_twenty_patterns_that_exclude_each_other_make_twenty_one_kinds() -> None:
    maker, _ = world()
    patterns = [f"^{letter}-.+" for letter in "abcdefghijklmnopqrst"]
    before = maker.spending.num_steps
    classes = name_classes(patterns, [], declared=[], making=maker, is_allowed=lambda _: True)
    assert len(classes) == 21
    assert maker.spending.num_steps - before < 20_000


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_sample_matches_its_pattern_and_begins_as_it_must(pattern: str) -> None:
    text = sample(pattern)
    assert text is not None
    assert re.search(pattern, text)
    first = first_characters(pattern)
    if first is not None:
        assert any(low <= ord(text[0]) <= high for low, high in first)


@pytest.mark.parametrize(("one", "other"), list(product(PATTERNS, repeat=2)))
def test_what_begins_apart_has_no_text_in_common(one: str, other: str) -> None:
    if begin_apart(one, other):
        assert is_empty_language(both(pattern_language(one), pattern_language(other)), spending())


def test_patterns_with_different_first_letters_begin_apart() -> None:
    assert begin_apart("^x-", "^y-")
    assert not begin_apart("^x-", "y-")
    assert not begin_apart("^x?$", "^y$")
