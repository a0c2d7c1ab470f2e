"""Regexes, choices and Lark through the engine."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.kinds.kind_grammar import kind_grammar
from compiler_pool.lowering.outcome import Refused
from policy.enforcement import EnforcementPolicy
from policy.limits import UNLIMITED
from registry.contract import ContractKind
from tests.compiler_pool.kinds.generation import Generation, codes
from tests.compiler_pool.kinds.grammars import short_texts


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"\d{2,3}", {"12": True, "1": False, "\u0967\u0968": False}),
        (r"a.b", {"a\u00e9b": True, "a\nb": False, "a\u2028b": False}),
        (r"\u{1F600}|[^\0-~]", {"\U0001f600": True, "\u00e9": True, "a": False}),
        (r"(?:|x)\/", {"/": True, "x/": True, "": False}),
    ],
)
def test_an_expression_means_to_the_engine_what_ecma_262_means(pattern: str, texts: dict[str, bool]) -> None:
    contract = Generation("regex", pattern)
    assert {text: contract.generates(text) for text in texts} == texts
    assert contract.disagreements([*texts]) == []


@settings(max_examples=40, deadline=None)
@given(parts=st.lists(st.sampled_from(["a", "b", "[ab]", "(?:a|bb)", "."]), min_size=1, max_size=4), data=st.data())
def test_engine_and_judge_agree_on_expressions(parts: list[str], data: st.DataObject) -> None:
    marks = data.draw(st.lists(st.sampled_from(["", "*", "+", "?", "{2}"]), min_size=len(parts), max_size=len(parts)))
    contract = Generation("regex", "".join(part + mark for part, mark in zip(parts, marks, strict=True)))
    assert contract.disagreements(short_texts("ab\n", 5)) == []


@settings(max_examples=30, deadline=None)
@given(members=st.lists(st.text('ab.\n\u00e9/"\\[', max_size=4), min_size=1, max_size=8))
def test_a_choice_is_its_members_and_nothing_else(members: list[str]) -> None:
    contract = Generation("choice", [*members])
    assert [member for member in members if not contract.generates(member)] == []
    assert contract.disagreements([*short_texts("ab.", 3), *members]) == []


def test_a_choice_is_one_lexeme_however_many_members_it_has() -> None:
    contract = Generation("choice", [f"item {number}" for number in range(5_000)])
    assert contract.grammar.count("\n") == 2
    assert contract.generates("item 4999")
    assert not contract.generates("item 5000")


def test_an_expression_that_could_not_be_judged_is_refused() -> None:
    pattern = r"(?:\p{L}{1,200}x){1,200}"
    outcome = kind_grammar(ContractKind.REGEX, pattern, limits=UNLIMITED, policy=EnforcementPolicy())
    assert isinstance(outcome, Refused)
    assert [(each.code, each.pointer) for each in outcome.rejections] == [("unsupported_regex", "")]


def test_what_leads_nowhere_is_left_out_of_a_lark_grammar() -> None:
    contract = Generation("lark", 'start: "y" | a | /[^\\x00-\\U0010FFFF]/ | (a "q")? "z"\na: "x" a\n')
    assert {text: contract.generates(text) for text in ("y", "z", "x")} == {"y": True, "z": True, "x": False}
    assert {contract.walk(seed) for seed in range(20)} == {"y", "z"}


@pytest.mark.parametrize(
    "terminal",
    ["/a+/ & /b+/", "/[a-z]/ & ~(/[a-m]/ | /[n-z]/)", "~/(?s:.)*/", "B & /aa/\nB: /[ab]/", "(/a/ & /b/) /c/"],
)
def test_a_terminal_that_matches_nothing_is_left_out_with_what_needs_it(terminal: str) -> None:
    assert codes("lark", f'start: A "x"\nA: {terminal}\n') == [("unsatisfiable", "")]
    contract = Generation("lark", f'start: A "x" | A? "y" | "z"\nA: {terminal}\n')
    assert {contract.walk(seed) for seed in range(20)} == {"y", "z"}


def test_complements_and_intersections_with_texts_stay() -> None:
    contract = Generation("lark", 'start: A\nA: /[ab]+/ & ~/a*/ & ~(/b*/ | "ab")\n')
    assert [text for text in short_texts("ab", 2) if contract.generates(text)] == ["ba"]
    assert contract.disagreements(short_texts("ab", 4)) == []


def test_schemas_in_a_lark_grammar_are_reported_by_their_number() -> None:
    grammar = 'start: %json {"type":"integer","minimum":3} "," %json {"type":"array","maxItems":0}\n'
    report = Generation("lark", grammar).report
    assert report["", "%json 0#/minimum"] == report["", "%json 1#/maxItems"] == "enforced"


def test_the_engine_takes_fewer_texts_than_the_grammar_has_and_never_others() -> None:
    contract = Generation("lark", "start: A B\nA: /[ab]+/\nB: /b?x/\n")
    assert contract.generates("abx")
    assert contract.disagreements(short_texts("abx", 5)) == []
    narrower = Generation("lark", 'start: A B\nA: /[ab]+/\nB: "bx"\n')
    assert narrower.disagreements(["abx"]) == [("abx", False)]


def test_a_condition_that_could_not_be_met_later_is_seen_before() -> None:
    # Two of three members, in order: without looking ahead, skipping the first two would lead to a dead end.
    members = " | ".join(f'"{name}" r{at + 1}::set_bit({at})' for at, name in enumerate("a"))
    grammar = f"""start: r0::0
r0::_: {members} | r1::_
r1::_: "b" r2::set_bit(1) | r2::_
r2::_: "c" r3::set_bit(2) | r3::_
r3::_: "." %if bit_count_ge([0:3],2)
"""
    contract = Generation("lark", grammar)
    texts = ["ab.", "ac.", "bc.", "abc."]
    assert [text for text in short_texts("abc.", 4) if contract.generates(text)] == sorted(
        texts, key=lambda t: (len(t), t)
    )
    assert {contract.walk(seed) for seed in range(40)} == {*texts}
    assert contract.disagreements(short_texts("abc.", 4)) == []
    assert "%if" not in contract.grammar


def test_a_grammar_with_very_many_parameters_keeps_them() -> None:
    contract = Generation("lark", 'start: r::0\nr::_: "a" r::incr([0:12]) | "b" %if gt([0:12],3)\n')
    assert "%if" in contract.grammar
    assert [contract.generates(text) for text in ("aaaab", "aaab")] == [True, False]
