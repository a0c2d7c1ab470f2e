"""Flat formulas of strings as nodes: the strings that the validator's pieces allow, and what cannot be said is said."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.form.languages import EVERY_STRING, Among, Lengths
from compiler_pool.form.maker import Maker
from compiler_pool.form.nodes import Literals, Strings
from compiler_pool.form.strings import string_language, string_nodes
from gateway.validation.formats.table import FORMATS
from registry.algebra.budgeting import SolverBudget
from registry.algebra.formulas import (
    FALSE,
    TRUE,
    All,
    Any,
    Formula,
    InFormat,
    LongerOrEqual,
    Matches,
    OneOf,
    ShorterOrEqual,
    negated,
)
from registry.algebra.keyword_formulas import KeywordFormulas
from registry.algebra.terms import Terms
from registry.algebra.truth import Truth
from registry.contract import JsonValue
from tests.compiler_pool.form.walks import mutated, run_of, spending, walk


def maker() -> Maker:
    """One without a schema: it counts, and takes note of what cannot be said."""
    terms = Terms()
    terms.read(True)
    return Maker(terms, spending=spending(), solving=SolverBudget())


def listed(*values: str) -> OneOf:
    return OneOf(texts=tuple(sorted(json.dumps(value, ensure_ascii=False) for value in values)), positive=True)


def test_a_formula_that_nothing_satisfies_has_no_node() -> None:
    for formula in (
        FALSE,
        All(parts=(LongerOrEqual(length=3), ShorterOrEqual(length=2))),
        All(parts=(Matches(pattern="^a", positive=True), Matches(pattern="^b", positive=True))),
        All(parts=(listed("a", "bb"), LongerOrEqual(length=3))),
        All(parts=(Matches(pattern="^(a|b)+$", positive=True), Matches(pattern="[ab]", positive=False))),
        Matches(pattern="[]", positive=True),
        Matches(pattern="", positive=False),
        All(parts=(InFormat(name="date", positive=True), Matches(pattern="31$", positive=True),
                   Matches(pattern="-02-", positive=True))),
    ):  # fmt: skip
        assert string_nodes(formula, maker()) == [], formula


def test_a_list_of_strings_is_literals_held_to_all_the_rest() -> None:
    formula = All(parts=(listed("a", "bb", 'c"\x7f\n', "dd"), Matches(pattern="[b-d]", positive=True),
                         negated(listed("dd"))))  # fmt: skip
    assert string_nodes(formula, maker()) == [Literals(texts=('"bb"', '"c\\"\\u007f\\n"'))]


def test_values_of_other_types_are_no_strings() -> None:
    formula = OneOf(texts=("1", '"a"', "null", "{}"), positive=True)
    assert string_nodes(formula, maker()) == [Literals(texts=('"a"',))]


def test_a_pattern_of_a_few_words_is_a_list_of_them() -> None:
    formula = All(parts=(Matches(pattern="^(?:red|green|[Bb]lue)$", positive=True), ShorterOrEqual(length=4)))
    assert string_nodes(formula, maker()) == [Literals(texts=('"red"', '"Blue"', '"blue"'))]


def test_no_wish_is_every_string() -> None:
    assert string_nodes(TRUE, maker()) == [Strings(contents=EVERY_STRING)]
    covering = Any(
        parts=(LongerOrEqual(length=2), Matches(pattern="a", positive=False), Matches(pattern="a", positive=True))
    )
    assert string_language(covering, maker()) == EVERY_STRING


def test_lengths_that_a_pattern_implies_are_left_out_and_others_become_its_bounds() -> None:
    implied = All(parts=(Matches(pattern="^[a-z]{2,4}$", positive=True), LongerOrEqual(length=1)))
    assert string_language(implied, maker()) == string_language(Matches(pattern="^[a-z]{2,4}$", positive=True), maker())
    bounded = All(parts=(Matches(pattern="^x[a-z]+y$", positive=True), ShorterOrEqual(length=5)))
    assert string_language(bounded, maker()) == string_language(
        Matches(pattern="^x[a-z]{1,3}y$", positive=True), maker()
    )
    long = All(parts=(InFormat(name="uri", positive=True), LongerOrEqual(length=1)))
    assert string_language(long, maker()) == string_language(InFormat(name="uri", positive=True), maker())


def test_a_length_that_is_refused_is_a_length() -> None:
    assert string_language(negated(LongerOrEqual(length=3)), maker()) == Lengths(maximum=2)
    assert string_language(ShorterOrEqual(length=0), maker()) == Among(texts=("",))


@pytest.mark.parametrize("pattern", ["(a)\\1", "a\\b", "(?<=a)b", "x{1000}{1000}{1000}"])
def test_a_pattern_that_nobody_can_run_is_reported_and_left_out(pattern: str) -> None:
    making = maker()
    formula = All(parts=(Matches(pattern=pattern, positive=False), ShorterOrEqual(length=3)))
    assert string_language(formula, making) == Lengths(maximum=3)
    assert [inability.keyword for inability in making.inabilities] == ["pattern"]


@pytest.mark.parametrize(
    ("name", "positive", "is_reported"),
    [("date", True, False), ("date", False, False), ("email", True, False), ("email", False, True),
     ("hostname", False, True), ("idn-email", True, True), ("idn-hostname", False, True),
     ("regex", True, False), ("regex", False, True)],
)  # fmt: skip
def test_a_format_that_the_grammar_does_not_hold_exactly_is_reported(
    name: str,
    *,
    positive: bool,
    is_reported: bool,
) -> None:
    making = maker()
    language = string_language(InFormat(name=name, positive=positive), making)
    assert bool(making.inabilities) is is_reported
    run = run_of(language)
    random = Random(name)
    for text in (walk(run, random) for _ in range(40)):
        if run.contains(text) and not is_reported:
            assert FORMATS[name](text) is positive, text


_ATOMS = st.one_of(
    st.builds(LongerOrEqual, length=st.integers(0, 5)),
    st.builds(ShorterOrEqual, length=st.integers(0, 5)),
    st.builds(Matches, pattern=st.sampled_from(["^a", "b$", "^[a-c]*$", "\\d", "^.$", "^(ab|c)?$", "a^|b"]),
              positive=st.booleans()),
    st.builds(InFormat, name=st.sampled_from(["ipv4", "date", "json-pointer", "uri-reference"]),
              positive=st.booleans()),
    st.builds(lambda values, positive: listed(*values) if positive else negated(listed(*values)),
              st.lists(st.sampled_from(["", "a", "ab", "c", "1.2.3.4", "/a"]), unique=True), st.booleans()),
)  # fmt: skip
_FORMULAS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.builds(All, parts=st.lists(inner, max_size=3).map(tuple)),
        st.builds(Any, parts=st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(formula=_FORMULAS, seed=st.integers(0, 2**32))
def test_a_formula_holds_for_exactly_the_texts_of_its_language(formula: Formula, seed: int) -> None:
    random = Random(seed)
    terms = Terms()
    terms.read(True)
    truth = Truth(terms, KeywordFormulas(terms), lambda name, text: FORMATS[name](text))
    making = maker()
    language = string_language(formula, making)
    assert not making.inabilities
    run = run_of(language)
    texts = ["", "a", "ab", "c", "1.2.3.4", "/a", "2026-01-31", *(walk(run, random, longest=12) for _ in range(8))]
    texts += [mutated(text, random) for text in texts]
    held = {text for text in texts if truth.of(formula, text)}
    assert {text for text in texts if run.contains(text)} == held
    nodes = string_nodes(formula, making)
    assert nodes or not held


def test_a_listed_object_is_held_to_the_formats_of_its_members() -> None:
    terms = Terms()
    constants: list[JsonValue] = [{"day": "2024-02-29"}, {"day": "2023-02-29"}]
    [root] = terms.read({"enum": constants, "properties": {"day": {"format": "date"}}})
    making = Maker(terms, spending=spending(), solving=SolverBudget())
    form = making.form(root)
    assert form.nodes[form.root] == Literals(texts=('{"day":"2024-02-29"}',))
    assert not making.inabilities
