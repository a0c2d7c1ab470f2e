"""Contracts written to hurt: each gets its typed answer, in work that grows with its size and no faster."""

from typing import Any

import pytest

from policy.limits import GOVERNED, TENANT, UNLIMITED, LimitClass
from policy.rejection import RejectionCode as Code
from registry.contract import ContractKind as Kind
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from tests.registry.kinds.contracts import read, refusal

_MIB = 1024 * 1024
TEXTS: list[tuple[str, str]] = [
    ("a megabyte of parentheses", "start: " + "(" * _MIB),
    ("groups as deep as the bytes allow", "start: " + "(" * 4_000 + '"a"' + ")" * 4_000),
    ("brackets", "start: " + "[" * 4_000),
    ("complements", "start: " + "~" * 4_000),
    ("complements in groups", "start: " + "~(" * 2_000 + '"a"' + ")" * 2_000),
    ("a rule that is named and named", "start: " + "a " * 4_000),
    ("null bytes", "\x00" * 4_000),
    ("an open string", 'start: "' + "\\\\" * 4_000),
    ("an open expression", "start: /" + "\\" * 4_001),
    ("open JSON", "start: %json {" + '"a":{' * 1_500),
    ("a hundred open JSON objects", ("start: %json {" + '"a' * 40) * 100),
    ("deep JSON", 'start: %json {"a":' + "[" * 3_000 + "]" * 3_000 + "}"),
    ("groups in an expression", "start: /" + "(" * 4_000 + ")" * 4_000 + "/"),
    ("a huge bound", 'start: "a"{999999999}'),
    ("a bound of a thousand digits", 'start: "a"{' + "9" * 1_000 + "}"),
    ("nested bounds", 'start: (("a"{100}){100}){100}'),
    ("a huge bound in an expression", "start: /a{999999999}/"),
    ("conditions in each other", "start: p::0\np::_: p::_ %if " + "not(" * 1_000 + "true" + ")" * 1_000),
    ("a condition of one word", "start: p::0\np::_: p::_ %if " + "x" * 5_000),
    ("a parameter of a thousand digits", "start: p::" + "9" * 1_000 + "\np::_: p::_"),
    ("special tokens", "start: " + "<a>" * 2_000),
    ("alternatives of nothing", "start: " + "|" * 20_000),
    ("blank lines before a bar", "start: x" + "\n" * 7_000 + "y"),
]


@pytest.mark.parametrize(("what", "text"), TEXTS)
@pytest.mark.parametrize("limits", [TENANT, GOVERNED, UNLIMITED], ids=lambda limits: limits.name)
def test_a_hostile_lark_text_is_refused(what: str, text: str, limits: LimitClass) -> None:
    assert refusal(Kind.LARK, text, limits=limits).message


GBNF_TEXTS: list[tuple[str, str]] = [
    ("a megabyte of parentheses", "root ::= " + "(" * _MIB),
    ("groups", "root ::= " + "(" * 4_000 + '"a"' + ")" * 4_000),
    ("quantifiers in a row", 'root ::= "a"' + "*" * 4_000),
    ("counted quantifiers in a row", 'root ::= "a"' + "{2}" * 2_000),
    ("a huge bound", 'root ::= "a"{999999999}'),
    ("a bound of a thousand digits", 'root ::= "a"{' + "9" * 1_000 + "}"),
    ("null bytes", "\x00" * 4_000),
    ("an open class", "root ::= [" + "\\" * 4_001),
    ("an open string", 'root ::= "' + "\\" * 4_001),
    ("bars", "root ::= " + "|" * 4_000 + ")"),
    ("line feeds", "root ::= x" + "\n" * 7_000 + "y"),
]


@pytest.mark.parametrize(("what", "text"), GBNF_TEXTS)
@pytest.mark.parametrize("limits", [TENANT, GOVERNED, UNLIMITED], ids=lambda limits: limits.name)
def test_a_hostile_gbnf_text_is_refused(what: str, text: str, limits: LimitClass) -> None:
    assert refusal(Kind.GBNF, text, limits=limits).message


def chain(length: int) -> str:
    return "start: r0\n" + "\n".join(f"r{n}: r{n + 1}" for n in range(length)) + f'\nr{length}: "a"'


def test_a_hundred_thousand_rules_in_a_chain_are_refused_by_size() -> None:
    assert refusal(Kind.LARK, chain(100_000)).limit_name == "max_grammar_bytes"
    assert refusal(Kind.LARK, chain(100_000), limits=UNLIMITED).limit_name == "max_grammar_bytes"


def test_thousands_of_rules_in_a_chain_are_walked_without_recursion() -> None:
    found = refusal(Kind.LARK, chain(9_000), limits=UNLIMITED)
    assert (found.limit_name, found.observed) == ("max_path", 9_002)
    terminals = chain(9_000).replace("r", "R").replace("staRt: R0", "start: R0")
    assert refusal(Kind.LARK, terminals, limits=UNLIMITED).limit_name == "max_path"


def test_a_ring_of_thousands_of_terminals_is_found() -> None:
    ring = "start: A0\n" + "\n".join(f"A{n}: A{(n + 1) % 5_000}" for n in range(5_000))
    assert refusal(Kind.LARK, ring, limits=UNLIMITED).code == Code.UNGUARDED_REF_CYCLE


def test_rules_that_use_each_other_in_every_way_are_judged() -> None:
    names = [f"r{n}" for n in range(60)]
    rules = "\n".join(f"{name}: {' | '.join(names)}" for name in names)
    assert refusal(Kind.LARK, f"start: r0\n{rules}", limits=UNLIMITED).code == Code.UNSATISFIABLE
    contract = read(Kind.LARK, f'start: r0\n{rules} | "a"', limits=UNLIMITED)
    assert contract.profile.observed["max_shortest_instance_bytes"] == 1


def test_doublings_of_the_shortest_text_are_counted_and_not_written() -> None:
    rules = "\n".join(f"r{n} ::= r{n + 1} r{n + 1}" for n in range(30))
    found = refusal(Kind.GBNF, f'root ::= r0\n{rules}\nr30 ::= "a"', limits=GOVERNED)
    assert found.limit_name == "max_shortest_instance_bytes"


def test_a_hostile_tree_of_formats_is_refused_without_recursion() -> None:
    tree: Any = {"type": "any_text"}
    for _ in range(100_000):
        tree = {"type": "optional", "content": tree}
    value: JsonValue = {"type": "structural_tag", "format": tree}
    assert refusal(Kind.STRUCTURAL_TAG, value).limit_name == "max_nesting"
    assert refusal(Kind.TOOL_SET, [value]).limit_name == "max_nesting"
    inner: Any = value
    while isinstance(inner, dict):  # taken apart by hand: the interpreter would recurse
        inner = inner.pop("content", None) or inner.pop("format", None)


@pytest.mark.parametrize("kind", [Kind.STRUCTURAL_TAG, Kind.TOOL_SET])
def test_lone_surrogates_are_refused_wherever_they_stand(kind: Kind) -> None:
    text: JsonValue = {"type": "structural_tag", "format": {"type": "const_string", "value": "\udc00"}}
    tool: JsonValue = [{"type": "function", "function": {"name": "a", "description": "\udc00"}}]
    value = text if kind is Kind.STRUCTURAL_TAG else tool
    assert refusal(kind, value).code == Code.LONE_SURROGATE


def test_every_position_of_a_damaged_grammar_gets_an_answer() -> None:
    first = 'start: a B? "x"i | C{1,3} %json {"type":"null"}'
    text = f'{first}\na[lazy]: /a.b/ & ~"7"\nB: "x".."z"\nC: "c"+\n%ignore " "'
    for at in range(len(text)):
        for damaged in (text[:at], text[:at] + text[at + 1 :], f"{text[:at]}({text[at:]}", f'{text[:at]}"{text[at:]}'):
            try:
                read(Kind.LARK, damaged)
            except ContractRejectedError:
                continue  # any other exception fails the test
