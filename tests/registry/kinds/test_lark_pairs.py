"""Which spellings of a Lark grammar are one contract, and which are two."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.contract import ContractKind
from tests.registry.kinds.contracts import read

SAME: list[tuple[str, str, str]] = [
    ("comments", 'start: "a"', '# x\nstart: "a" // y\n'),
    ("white space", 'start: "a" | "b"', 'start :\t"a"|"b"'),
    ("a bar on the next line", 'start: "a" | "b"', 'start: "a"\n     | "b"'),
    ("comments between alternatives", 'start: "a" | "b"', 'start: "a"\n# or\n\n  | "b"'),
    ("carriage returns", 'start: a\na: "x"', 'start: a\r\na: "x"\r\n'),
    ("names of rules", 'start: one\none: "a" one?', 'start: two\ntwo: "a" two?'),
    ("names of terminals", "start: A\nA: /x/", "start: _B-1\n_B-1: /x/"),
    ("order of definitions", 'start: a b\na: "x"\nb: "y"', 'b: "y"\na: "x"\nstart: a b'),
    ("unused definitions", 'start: "a"', 'start: "a"\nB: "b"\nc: B'),
    ("names in syntax trees", 'start: "a"', 'start: "a" -> tree'),
    ("marks for syntax trees", 'start: a\na: "x"', '!start: a\n?a: "x"'),
    ("captures", 'start: a\na: "x"', 'start: a\na[capture="it"]: "x"'),
    ("escapes in strings", 'start: "a/\\n"', 'start: "\\u0061\\/\\x0A"'),
    ("braces and tildes", 'start: "a"{2,3}', 'start: "a"~2..3'),
    ("an open start of bounds", 'start: "a"{0,3}', 'start: "a"{,3}'),
    ("bounds with a sign of their own", 'start: "a"* "b"+ "c"?', 'start: "a"{0,} "b"{1,} "c"{0,1}'),
    ("brackets", 'start: ["a"]', 'start: ("a")?'),
    ("idle groups", 'start: "a" "b"', 'start: ("a" ("b"))'),
    ("the empty text", 'start: "" | "a"', 'start: | "a" ""'),
    ("imports", "%import common.INT\nstart: INT", "start: N\nN: /[0-9]+/"),
    ("imports in a list, under another name", "%import common.INT -> N\nstart: N", "%import common (INT)\nstart: INT"),
    ("ranges", "start: /[a-c]/", 'start: "a".."c"'),
    ("spelling of expressions", r"start: /(?:a)[cb]\x64/", r"start: /(a)[bc]d/"),
    ("the dot's flag", "start: /./s", "start: /(?s:.)/"),
    ("flags that change nothing", "start: /a/", "start: /a/u"),
    ("JSON in any spelling", 'start: %json {"type":"string","minLength":1}',
     'start: %json { "minLength": 1.0,\n "type": ["string"], "title": "x" }'),
    ("characters are chunks", 'start: %regex {"substring_chars":"ab"}', 'start: %regex {"substring_chunks":["a","b"]}'),
    ("spelling of parameters", 'start: p::16\np::_: "a" p::bit_or(1) %if lt(_,2) | "b"',
     'start: p::0x10\np::_: "a" p::bit_or(0x1) %if lt([0:64], 0x02) | "b" %if true'),
]  # fmt: skip

DIFFERENT: list[tuple[str, str, str]] = [
    ("another text", 'start: "a"', 'start: "b"'),
    ("any case", 'start: "a"', 'start: "a"i'),
    ("order of alternatives, which the lexer heeds", 'start: "a" | /[a-z]/', 'start: /[a-z]/ | "a"'),
    ("one lexeme or two, where something is ignored", 'start: "a" "b"\n%ignore " "', 'start: "ab"\n%ignore " "'),
    ("what is ignored", 'start: "a" "b"\n%ignore " "', 'start: "a" "b"'),
    ("laziness", "start: a\na: /x+/", "start: a\na[lazy]: /x+/"),
    ("a terminal or a rule", 'start: A\nA: "x" "y"', 'start: a\na: "x" "y"'),
    ("Unicode's digits", r"start: /\d/", "start: /[0-9]/"),
    ("the dot", "start: /./", "start: /./s"),
    ("bounds", 'start: "a"{2}', 'start: "a"{2,3}'),
    ("a complement", "start: A\nA: /a/ & ~/b/", "start: A\nA: /a/ & /b/"),
    ("conditions", 'start: p::0\np::_: "a" p::incr(_) %if lt(_,2) | ""',
     'start: p::0\np::_: "a" p::incr(_) %if lt(_,3) | ""'),
    ("schemas", 'start: %json {"type":"string"}', 'start: %json {"type":"null"}'),
]  # fmt: skip


def digest(text: str) -> str:
    return read(ContractKind.LARK, text).digest


@pytest.mark.parametrize(("reason", "one", "other"), SAME)
def test_one_contract(reason: str, one: str, other: str) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(("reason", "one", "other"), DIFFERENT)
def test_two_contracts(reason: str, one: str, other: str) -> None:
    assert digest(one) != digest(other)


_ITEMS = st.recursive(
    st.sampled_from(['"a"', '"b"i', "/[xy]+/", "A", "r", '%json {"type":"null"}', '"a".."f"']),
    lambda inner: st.one_of(
        st.builds("({} | {})".format, inner, inner),
        st.builds("({} {})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "~1..2"])),
        st.builds("[{}]".format, inner),
    ),
    max_leaves=5,
)


def grammar(start: str, inner: str, *, rule: str = "r", terminal: str = "A") -> str:
    """A grammar over the items above, whose rule and terminal may have other names."""
    text = f'start: {start}\nr: {inner} | "end"\nA: /z+/ | "q"'
    return re.sub(r"\bA\b(?!\")", terminal, re.sub(r"\br\b(?!\")", rule, text))


@settings(max_examples=300, deadline=None)
@given(_ITEMS, _ITEMS)
def test_any_canonical_text_is_its_own(start: str, inner: str) -> None:
    contract = read(ContractKind.LARK, grammar(start, inner))
    assert read(ContractKind.LARK, contract.text).digest == contract.digest


@settings(max_examples=200, deadline=None)
@given(_ITEMS, _ITEMS, st.sampled_from(["  ", "\t", " \t "]), st.sampled_from(["\n\n", " # n\n", "// m\n\r\n# o\n"]))
def test_blanks_comments_and_names_change_nothing(start: str, inner: str, blank: str, end: str) -> None:
    text = grammar(start, inner, rule="other-rule", terminal="_OTHER")
    assert digest(text.replace(" ", blank).replace("\n", end)) == digest(grammar(start, inner))
