"""Each limit of these kinds, at its value and past it."""

from dataclasses import replace
from typing import Any

import pytest

from policy.limits import TENANT, limit_names
from policy.rejection import RejectionCode
from registry.contract import ContractKind as Kind
from tests.registry.kinds.contracts import read, refusal

CASES: list[tuple[str, int, Kind, Any, Any, int]] = [
    # limit, value, contract at it, contract past it, observed
    ("max_grammar_bytes", 10, Kind.LARK, 'start: "a"', 'start: "ab"', 11),
    ("max_grammar_bytes", 12, Kind.GBNF, 'root ::= "a"', 'root ::= "ab"', 13),
    ("max_grammar_rules", 2, Kind.LARK, 'start: A\nA: "a"', 'start: A\nA: "a"\nB: "b"', 3),
    ("max_grammar_rules", 1, Kind.GBNF, 'root ::= "a"', 'root ::= x\nx ::= "a"', 2),
    ("max_grammar_alternatives", 2, Kind.LARK, 'start: "a" | ("b" | "c")', 'start: "a" | "b" | "c"', 3),
    ("max_grammar_alternatives", 2, Kind.GBNF, 'root ::= "a" | ("b" | "c")', 'root ::= "a" | "b" | "c"', 3),
    ("max_grammar_depth", 2, Kind.LARK, 'start: ("a" ["b"])', 'start: ("a" ["b" ("c")])', 3),
    ("max_grammar_depth", 2, Kind.GBNF, 'root ::= ("a" ("b"))', 'root ::= ("a" ("b" ("c")))', 3),
    ("max_grammar_repeat_product", 6, Kind.LARK, 'start: ("a"{2} "b"){3}', 'start: ("a"{2} "b"){4}', 8),
    ("max_grammar_repeat_product", 6, Kind.GBNF, 'root ::= "a"{2}{3}', 'root ::= ("a"{2} "b"){4}', 8),
    ("max_grammar_optionals", 2, Kind.LARK, 'start: "a"? ["b"] "c" "d"*', 'start: "a"? ["b"] "c"*', 3),
    ("max_grammar_optionals", 1, Kind.GBNF, 'root ::= "a"? "b" "c"*', 'root ::= "a"? "b"?', 2),
    ("max_path", 2, Kind.LARK, 'start: a\na: "x"', 'start: a\na: B\nB: "x"', 3),
    ("max_path", 2, Kind.GBNF, 'root ::= a\na ::= "x"', 'root ::= a\na ::= b\nb ::= "x"', 3),
    ("max_literal_bytes", 2, Kind.LARK, 'start: "é"', 'start: "éa"', 3),
    ("max_literal_bytes", 2, Kind.GBNF, 'root ::= "é"', 'root ::= "éa"', 3),
    ("max_literal_bytes", 2, Kind.CHOICE, ["é"], ["éa"], 3),
    ("max_pattern_bytes", 2, Kind.LARK, "start: /ab/", "start: /abc/", 3),
    ("max_pattern_bytes", 2, Kind.REGEX, "ab", "abc", 3),
    ("max_pattern_repeat", 4, Kind.LARK, "start: /a{4}/", "start: /a{5}/", 5),
    ("max_pattern_repeat", 4, Kind.REGEX, "a{4}", "a{5}", 5),
    ("max_pattern_repeat_product", 4, Kind.LARK, "start: /(a{2}){2}/", "start: /(a{2}){3}/", 6),
    ("max_pattern_depth", 1, Kind.REGEX, "(a)", "((a))", 2),
    ("max_shortest_instance_bytes", 3, Kind.LARK, 'start: "abcd" | "é" A\nA: /x+/',
     'start: "abcd" | "é" A A\nA: /x+/', 4),
    ("max_shortest_instance_bytes", 3, Kind.GBNF, 'root ::= "a"{3}', 'root ::= "a"{4}', 4),
    ("max_shortest_instance_bytes", 3, Kind.REGEX, "a{3}", "a{4}", 4),
    ("max_enum_scalars", 2, Kind.CHOICE, ["a", "b"], ["a", "b", "a"], 3),
    ("max_enum_bytes", 9, Kind.CHOICE, ["a", "b"], ["a", "bc"], 10),
    ("max_contract_bytes", 9, Kind.CHOICE, ["a", "b"], ["a", "bc"], 10),
    ("max_tools", 1, Kind.TOOL_SET, [{"type": "function", "name": "a"}],
     [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}], 2),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}")
def test_a_limit_lets_its_value_pass_and_no_more(case: tuple[str, int, Kind, Any, Any, int]) -> None:
    name, value, kind, within, past, observed = case
    limits = replace(TENANT, contract=replace(TENANT.contract, **{name: value}))
    assert read(kind, within, limits=limits).profile.observed[name] <= value
    found = refusal(kind, past, limits=limits)
    assert (found.code, found.limit_name) == (RejectionCode.LIMIT_EXCEEDED, name)
    assert (found.limit, found.observed) == (value, observed)


def test_every_limit_of_grammars_and_tools_has_a_case() -> None:
    own = {name for name in limit_names() if name.startswith("max_grammar_") or name == "max_tools"}
    assert own <= {name for name, *_ in CASES}


def test_a_profile_counts_rules_references_and_recursion() -> None:
    profile = read(Kind.LARK, 'start: "(" start ")" | A a\na: A\nA: /x/\nunused: A').profile
    assert (profile.num_rules, profile.num_references, profile.is_recursive) == (3, 4, True)
    assert profile.depth == 2
    assert profile.observed["max_grammar_rules"] == 4
    flat = read(Kind.GBNF, 'root ::= x x\nx ::= "a"').profile
    assert (flat.num_rules, flat.num_references, flat.is_recursive) == (2, 2, False)
