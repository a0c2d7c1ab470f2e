"""GBNF through the engine: characters stay characters, whatever the lexer would rather read."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from policy.limits import GOVERNED, TENANT, UNLIMITED
from registry.errors import ContractRejectedError
from tests.compiler_pool.kinds.generation import Generation, codes
from tests.compiler_pool.kinds.grammars import gbnf_texts, short_texts

TEXTS = short_texts("abe", 4)


@pytest.mark.parametrize(
    ("grammar", "made", "not_made"),
    [
        ('root ::= a b\na ::= "x"*\nb ::= "x" "y"', ["xy", "xxxy"], ["y", "xx", ""]),
        ('root ::= [a-z]* "x" root | "y"', ["y", "xy", "abxxy"], ["x", "ay", ""]),
        ('root ::= "a" root "a" | "b" | ""', ["", "b", "aba", "aa", "aabaa"], ["ab", "aaa"]),
        (
            'root ::= item (" "* "," " "* item)*\nitem ::= "(" root ")" | [a-z]+ " "*',
            ["a", "a ,b", "(a , b) , c"],
            ["a,", "( a"],
        ),
        ('root ::= root "+" n | n\nn ::= [0-9]+', ["1", "12+3+4"], ["+", "1+", ""]),
        ('root ::= ("a" | "ab") ("c" | "bc") | root "!"', ["ac", "abc", "abbc!"], ["ab", "bc"]),
        ('root ::= e e "z"\ne ::= "" | "x" e', ["z", "xz", "xxxz"], ["", "x", "zz"]),
    ],
)
def test_a_grammar_makes_its_texts_and_no_others(grammar: str, made: list[str], not_made: list[str]) -> None:
    contract = Generation("gbnf", grammar)
    assert [text for text in made if not contract.generates(text)] == []
    assert [text for text in not_made if contract.generates(text)] == []
    assert contract.disagreements([*made, *not_made]) == []


def test_what_is_regular_and_ends_where_something_else_begins_is_one_lexeme() -> None:
    contract = Generation("gbnf", 'root ::= "[" (string ("," root)*)? "]"\nstring ::= "\\"" [^"]* "\\""')
    assert '/(?:"[^"]*")/' in contract.grammar
    assert contract.generates('["a,]",["b"]]')


def test_an_alternative_from_which_nothing_is_derived_is_left_out() -> None:
    contract = Generation("gbnf", 'root ::= "y" | a "z"\na ::= "x" a')
    assert contract.generates("y")
    assert {contract.walk(seed) for seed in range(20)} == {"y"}


def test_the_report_says_that_the_grammar_is_enforced() -> None:
    assert Generation("gbnf", 'root ::= "a"').report == {("", "gbnf"): "enforced"}


def test_rules_that_double_each_other_do_not_grow_into_one_expression() -> None:
    doubled = "\n".join(f"r{n} ::= r{n + 1} r{n + 1}" for n in range(16))
    contract = Generation("gbnf", f'root ::= r0\n{doubled}\nr16 ::= "a"')
    assert len(contract.grammar) < 60_000
    assert not contract.generates("a")


def test_a_grammar_whose_lexemes_cost_too_much_to_find_is_refused_by_its_limit() -> None:
    bodies = " | ".join(f'"{n:03}" [a-z]{{1,90}} "{n}" root' for n in range(200))
    limits = replace(UNLIMITED, expansion=GOVERNED.expansion)
    assert codes("gbnf", f'root ::= {bodies} | "x"', limits)[0][0] == "limit_exceeded"


def test_asking_which_lexemes_get_in_each_others_way_is_paid_for() -> None:
    # Fifteen thousand questions: a second of a tenant's half.
    bodies = " | ".join(f'[a-z]* "{n}" root' for n in range(100))
    assert codes("gbnf", f'root ::= {bodies} | "x"', TENANT) == [("limit_exceeded", "")]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(grammar=gbnf_texts, seeds=st.lists(st.integers(0, 2**16), min_size=3, max_size=3))
def test_engine_and_judge_agree_on_every_short_text_and_on_what_masks_lead_to(grammar: str, seeds: list[int]) -> None:
    try:
        contract = Generation("gbnf", grammar)
    except ContractRejectedError:
        assume(False)
    assert contract.disagreements(TEXTS) == []
    walks = [text for seed in seeds if (text := contract.walk(seed, 30)) is not None]
    assert contract.disagreements(walks) == []
