"""GBNF: what its texts mean, which are one contract, and what is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.rejection import RejectionCode as Code
from registry.contract import ContractKind
from tests.registry.kinds.contracts import read, refusal
from tests.registry.kinds.derivations import texts_of

SAME: list[tuple[str, str, str]] = [
    ("comments and blanks", 'root ::= "a" | "b"', '# x\nroot  ::=\n "a"|"b" # y\n'),
    ("a line that ends in a bar", 'root ::= "a" | "b"', 'root ::= "a" |\n  "b"'),
    ("lines in parentheses", 'root ::= ("a" | "b")', 'root ::= (\n"a"\n| # or\n"b"\n)'),
    ("carriage returns", 'root ::= x\nx ::= "a"', 'root ::= x\r\nx ::= "a"\r\n'),
    ("names", 'root ::= x\nx ::= "a"', 'root ::= some-Name_2\nsome-Name_2 ::= "a"'),
    ("order of rules", 'root ::= x y\nx ::= "a"\ny ::= "b"', 'y ::= "b"\nx ::= "a"\nroot ::= x y'),
    ("unused rules", 'root ::= "a"', 'root ::= "a"\nx ::= root'),
    ("texts in a row", 'root ::= "abc"', 'root ::= "a" ("b") [c]'),
    ("escapes", 'root ::= "a\\n\\\\"', 'root ::= "\\x61\\u000a\\U0000005c"'),
    ("classes", "root ::= [a-c_]", "root ::= [_abbc]"),
    ("a dash at the end", "root ::= [a-]", "root ::= [\\x2Da]"),
    ("bounds", 'root ::= "a"{0,} "b"{1,} "c"{0,1}', 'root ::= "a"* "b"+ "c"?'),
    ("nothing, repeated", 'root ::= "a"', 'root ::= ""* "a" (("") "")+'),
]
DIFFERENT: list[tuple[str, str, str]] = [
    ("texts", 'root ::= "a"', 'root ::= "A"'),
    ("a negated class", "root ::= [ab]", "root ::= [^ab]"),
    ("what is repeated", 'root ::= "ab"*', 'root ::= "a" "b"*'),
    ("bounds", 'root ::= "a"{2}', 'root ::= "a"{2,}'),
    ("stacked repetitions are kept as they are", 'root ::= "a"{2}{3}', 'root ::= "a"{6}'),
]
REFUSED: list[tuple[str, Code, str]] = [
    ('x ::= "a"', Code.UNRESOLVED_REFERENCE, "`root`"),
    ("", Code.UNRESOLVED_REFERENCE, "`root`"),
    ("root ::= nothing", Code.UNRESOLVED_REFERENCE, "line 1, column 10"),
    ('root ::= "a"\nx ::= nothing', Code.UNRESOLVED_REFERENCE, "line 2, column 7"),
    ('root ::= "a"\nroot ::= "b"', Code.DUPLICATE_NAME, "line 2, column 1"),
    ("root ::= <think>", Code.UNSUPPORTED_KEYWORD, "line 1, column 10"),
    ("root ::= !<[1000]>", Code.UNSUPPORTED_KEYWORD, "tokenizer"),
    ("root ::= root", Code.UNSATISFIABLE, "finite"),
    ('root ::= "(" x ")"\nx ::= root | x "a"', Code.UNSATISFIABLE, "finite"),
    ("root ::= []", Code.INVALID_GRAMMAR, "without characters"),
    ("root ::= [^]", Code.INVALID_GRAMMAR, "without characters"),
    ("root ::= [c-a]", Code.INVALID_GRAMMAR, "line 1, column 11"),
    ("root ::= [\\d]", Code.INVALID_GRAMMAR, "escape"),
    ('root ::= "\\uD800"', Code.INVALID_GRAMMAR, "UTF-8"),
    ('root ::= "\\U00110000"', Code.INVALID_GRAMMAR, "UTF-8"),
    ('root ::= "a', Code.INVALID_GRAMMAR, "not closed"),
    ("root ::= [a", Code.INVALID_GRAMMAR, "not closed"),
    ('root ::= "a"\n| "b"', Code.INVALID_GRAMMAR, "line 2, column 1"),
    ('root ::= ("a"', Code.INVALID_GRAMMAR, "`)`"),
    ('root ::= "a")', Code.INVALID_GRAMMAR, "end here"),
    ('root = "a"', Code.INVALID_GRAMMAR, "line 1, column 6"),
    ("root ::= *", Code.INVALID_GRAMMAR, "line 1, column 10"),
    ('root ::= "a"{,3}', Code.INVALID_GRAMMAR, "whole number"),
    ('root ::= "a"{3,2}', Code.INVALID_GRAMMAR, "allow nothing"),
    ('root ::= "a"{0}', Code.INVALID_GRAMMAR, "only nothing"),
    ('root ::= "a"{99999999999}', Code.INVALID_GRAMMAR, "absurd"),
    ('root ::= "a\x00"', Code.INVALID_GRAMMAR, "null"),
    ('\ufeffroot ::= "a"', Code.INVALID_GRAMMAR, "byte-order mark"),
    ('start: "a"', Code.INVALID_GRAMMAR, "line 1, column 6"),
]


@pytest.mark.parametrize(("reason", "one", "other"), SAME)
def test_one_contract(reason: str, one: str, other: str) -> None:
    assert read(ContractKind.GBNF, one).text == read(ContractKind.GBNF, other).text


@pytest.mark.parametrize(("reason", "one", "other"), DIFFERENT)
def test_two_contracts(reason: str, one: str, other: str) -> None:
    assert read(ContractKind.GBNF, one).digest != read(ContractKind.GBNF, other).digest


@pytest.mark.parametrize(("text", "code", "part"), REFUSED)
def test_it_is_refused_by_name_and_place(text: str, code: Code, part: str) -> None:
    found = refusal(ContractKind.GBNF, text)
    assert found.code == code
    assert part in found.message


_ITEMS = st.recursive(
    st.sampled_from(['"a"', '"b\\"c"', "[ez]", "[^a-e]", ".", "x", '""']),
    lambda inner: st.one_of(
        st.builds("({} | {})".format, inner, inner),
        st.builds("({} {})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}"])),
    ),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None)
@given(_ITEMS, _ITEMS)
def test_a_canonical_text_is_its_own_and_means_the_same(root: str, inner: str) -> None:
    text = f'root ::= {root}\nx ::= {inner} | "e"'
    contract = read(ContractKind.GBNF, text)
    assert read(ContractKind.GBNF, contract.text).text == contract.text
    assert texts_of(contract.text, max_length=3) == texts_of(text, max_length=3)
