"""Texts against grammars: recursion of every kind, ambiguity, and what may stand between lexemes."""

from itertools import product

import pytest
import re2
from hypothesis import given, settings

from gateway.validation.kinds.grammar_networks import grammar_networks
from gateway.validation.kinds.recogniser import recognises
from policy.enforcement import EnforcementPolicy
from policy.limits import UNLIMITED
from registry.algebra.alphabet import matched_code_points
from registry.contract import ContractKind
from registry.errors import ContractRejectedError
from registry.kinds.rereading import gbnf_definitions, lark_definitions
from registry.pattern_syntax import MAX_CODE_POINT
from registry.reading import read_contract
from tests.compiler_pool.kinds.grammars import gbnf_texts
from tests.registry.kinds.derivations import texts_of


def gbnf(grammar: str, text: str) -> bool:
    return recognises(grammar_networks(gbnf_definitions(grammar)), "root", text)


def lark(grammar: str, text: str) -> bool:
    found = lark_definitions(grammar)
    return recognises(grammar_networks(found.definitions, tuple(each for _, each in found.ignores)), "start", text)


@pytest.mark.parametrize(
    ("grammar", "valid", "invalid"),
    [
        ('root ::= root "+" n | n\nn ::= [0-9]', ["1", "1+2+3"], ["", "1+", "+1"]),
        ('root ::= "a" root | "a"', ["a", "aaa"], ["", "b"]),
        ('root ::= root root | "a" | ""', ["", "a", "aaaaaa"], ["b"]),
        ('root ::= e e e "x"\ne ::= f f\nf ::= "" | "y"', ["x", "yx", "yyyyyyx"], ["yyyyyyyx", "y"]),
        ('root ::= a | root\na ::= root "!" | "z"', ["z", "z!!"], ["!", ""]),
        ('root ::= ("ab" | "a"){2,3}', ["aa", "aab", "ababab"], ["a", "aaaa", "abb"]),
    ],
)
def test_recursion_empty_rules_and_cycles_are_all_the_same(grammar: str, valid: list[str], invalid: list[str]) -> None:
    assert [text for text in valid if not gbnf(grammar, text)] == []
    assert [text for text in invalid if gbnf(grammar, text)] == []


@settings(max_examples=6, deadline=None)
@given(grammar=gbnf_texts)
def test_exactly_the_derived_texts_are_recognised(grammar: str) -> None:
    try:
        contract = read_contract(ContractKind.GBNF, grammar, limits=UNLIMITED.contract, policy=EnforcementPolicy())
    except ContractRejectedError:
        return
    networks = grammar_networks(gbnf_definitions(contract.text))
    texts = ["".join(letters) for size in range(4) for letters in product("abe", repeat=size)]
    derived = texts_of(grammar, max_length=3)
    assert {text for text in texts if recognises(networks, "root", text)} == {
        text for text in derived if set(text) <= set("abe")
    }


def test_lexemes_are_read_in_any_way_and_may_be_kept_apart_by_what_is_ignored() -> None:
    grammar = 'start: "a" r1 "c"\nr1: T0{2,}\nT0: /b+/\n%ignore / /'
    assert [lark(grammar, text) for text in ("abbc", "a b bb c", "abc", " abbc", "abbc ")] == [
        True,
        True,
        False,
        False,
        True,
    ]


def test_terminals_intersect_complement_repeat_and_name_each_other() -> None:
    grammar = 'start: T0\nT0: T1 & ~/.*aa.*/ & (/[ab]/ | "c")+\nT1: /[^d]{1,4}/'
    assert [lark(grammar, text) for text in ("abab", "aab", "cab", "d", "ababa", "")] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]


def test_case_is_ignored_where_a_flag_says_so() -> None:
    grammar = 'start: "stra\u00dfe"i | /[k-m]/i'
    assert [lark(grammar, text) for text in ("STRA\u1e9eE", "strase", "L", "\u212a", "n")] == [
        True,
        False,
        True,
        True,
        False,
    ]


def test_a_lazy_rule_ends_where_it_first_can_and_a_suffix_too() -> None:
    assert [lark('start: r1 "b"\nr1[lazy]: /a+/', text) for text in ("ab", "aab")] == [True, False]
    grammar = 'start: r1 "!"\nr1[suffix="</t>"]: /(?s:.)*/'
    assert [lark(grammar, text) for text in ("x</t>!", "x</t>y</t>!", "</t>!")] == [True, False, True]


def test_parameters_count_no_further_than_their_bits_go() -> None:
    grammar = 'start: r1::0\nr1::_: "a" r1::incr([1:3]) | "b" %if eq([1:3],3) | "c" %if eq(_,4)'
    texts = ("b", "aab", "aaab", "aaaaaab", "aac", "ac")
    assert [lark(grammar, text) for text in texts] == [False, False, True, True, True, False]


def test_neighbouring_words_of_a_text_may_stand_for_it() -> None:
    grammar = 'start: %regex {"substring_words":"the quick, fox"}'
    assert [lark(grammar, text) for text in ("", "quick, fox", "the", "he", "the fox", ",")] == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]


def test_json_inside_is_judged_by_its_schema_wherever_it_ends() -> None:
    grammar = 'start: "=" %json {"maximum":20,"type":"integer"} /[0-9;]/'
    assert [lark(grammar, text) for text in ("=7;", "=123", "=21;", "=2", "=;")] == [True, True, False, False, False]
    nested = 'start: %json {"items":{"type":"string"},"type":"array"} "]"'
    assert [lark(nested, text) for text in ('["]",""]]', '["\\"]"]]', "[1]]", '["]]')] == [True, True, False, False]


def test_long_and_ambiguous_texts_come_to_an_end() -> None:
    grammar = 'root ::= item*\nitem ::= [a-z]+ | [a-m]+ "!" | item "?"'
    assert gbnf(grammar, "abc!x?" * 60)
    assert not gbnf(grammar, "abc!x?" * 60 + "!!")


def test_a_set_in_any_case_is_what_its_characters_are_one_by_one() -> None:
    sets = ((r"\p{Lu}", "a\u01c6\u00df1"), ("[^k]", "ab\u2603kK\u212a"), ("[\U0001efff-\U0010ffff]", "a"))
    for letters, others in sets:
        program = re2.compile(f"(?i){letters}")
        grammar = f"start: /{letters}/i"
        for text in (*others, "\U0001efff", "\U0001f000", "\U0010ffff"):
            assert lark(grammar, text) is (program.fullmatch(text) is not None), (letters, text)


def test_nothing_has_cases_where_none_are_looked_for() -> None:
    beyond = "[\\x{1f000}-\\x{10ffff}]"
    assert matched_code_points(f"(?i){beyond}") == ((0x1F000, MAX_CODE_POINT),)
    assert matched_code_points(f"(?i)[^{beyond[1:]}")[-1][1] == 0x1EFFF


@pytest.mark.parametrize(
    ("expression", "inside", "outside"),
    [
        (r"\d", "0\u06f6\uff14", "a \u00b2"),
        (r"\D", "a \u00b2", "0\u06f6\uff14"),
        (r"\s", " \x0b\x85\u00a0\u3000", "a\ufeff"),
        (r"\S", "a\ufeff", " \x0b\x85\u00a0\u3000"),
        (r"\w", "a_\u00e9\u06f6\u0301\u24b6\u200d\u2160", "-\u00b2 "),
        (r"\W", "-\u00b2 ", "a_\u00e9\u06f6\u0301\u24b6\u200d\u2160"),
        (r"[^\D0-9]", "\u06f6", "0a"),
        (r"[^\w\s]", "-\u00b2", "a \u00e9\u3000"),
    ],
)
def test_the_sets_of_an_expression_are_unicodes_as_the_engine_takes_them(
    expression: str, inside: str, outside: str
) -> None:
    for ending in ("/", "/i"):
        grammar = f"start: /{expression}{ending}"
        assert [character for character in inside if not lark(grammar, character)] == []
        assert [character for character in outside if lark(grammar, character)] == []


def test_something_may_be_skipped_after_an_empty_lexeme_but_not_before_the_first() -> None:
    texts = (" b", "b", " a b", "a b", "  b")
    for grammar, allowed in (
        ('start: /a?/ "b"', (True, True, False, True, True)),
        ('start: r1 "b"\nr1: "a"?', (False, True, False, True, False)),
        ('start: r1 "b"\nr1: "a" | ""', (False, True, False, True, False)),
        ('start: start "b" | T0\nT0: "a"?', (True, True, False, True, True)),
    ):
        assert tuple(lark(f"{grammar}\n%ignore / +/", text) for text in texts) == allowed
