"""The canonical text of a Lark grammar, run by the engine, accepts exactly what its author's text does."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.contract import ContractKind
from registry.errors import UnsupportedPatternError
from registry.kinds.lark_common import COMMON_TERMINALS
from registry.kinds.rust_patterns import parse_rust_pattern, write_rust_pattern
from tests.registry.kinds.contracts import read
from tests.registry.kinds.engine import Acceptor

# Each grammar with the characters its sample texts are made of.
GRAMMARS: list[tuple[str, str]] = [
    ('start: "a" | "b" start', "abc"),
    ('start: a B? // comment\n  | C{1,2} "x"\na: "b".."c" [C] -> name\nB: /a.\\/?b/s\nC: "c"+', "abcx/"),
    ('start: (A | b)* "."\nA: /[ab]+/ & ~/(?s:.*)ab(?s:.*)/\nb: "c"~2', "abc."),
    ('start: w ("," w)*\nw: WORD\n%import common.WORD\n%ignore " "', "ab ,"),
    ('start: "x\\x41\\u0062" "q"i', "xAbqQ"),
    ('start: p::0\np::_: "" %if is_ones([0:2]) | "a" p::set_bit(0) %if bit_clear(0) | "b" p::set_bit(1)', "abc"),
    ('start: n::0\nn::_: "a" n::incr(_) %if lt(_, 3) | b\nb: ""', "ab"),
    ('start: head "b"\nhead[lazy]: /(.|\\n)*/ "a"', "ab\n"),
    ('start: head "b"\nhead[suffix="a"]: /.*/', "abc"),
    ('start: %json {"type": "integer", "minimum": 1, "title": "n"} ";"', "01-;"),
    ('start: "<" %regex {"substring_chars": "aba"} ">"', "ab<>"),
    ('start: "<" %regex {"substring_words": "a b a"} ">"', "ab <>"),
    ('%import common (INT, WS_INLINE)\nstart: INT "+" INT\n%ignore WS_INLINE', "1 +"),
    ('start: expr\nexpr: expr "+" term | term\nterm: /[ab]/ | "(" expr ")"', "ab+("),
    ("start: /a|b/ /c{2}|[^a-c]/", "abcd"),
    ('start: "" | ["a"] ("b" "c")', "abc"),
    ('start: ("a" ("b") | "c")+', "abc"),
    ("start: /\\d+\\.?/ | /[\\w-]/", "1a.-"),
    ("start: ~/a*/ ", "ab"),
    ("start: /AB/i", "abAB"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "alphabet"), GRAMMARS)
def test_the_canonical_text_accepts_what_the_original_does(text: str, alphabet: str) -> None:
    original, canonical = Acceptor(text), Acceptor(read(ContractKind.LARK, text).text)
    samples = ["".join(c) for n in range(6) for c in itertools.product(alphabet, repeat=n)][:2_000]
    verdicts = [original.accepts(sample) for sample in samples]
    assert [canonical.accepts(sample) for sample in samples] == verdicts
    assert True in verdicts
    assert False in verdicts


@pytest.mark.parametrize(("text", "alphabet"), GRAMMARS)
def test_a_canonical_text_is_its_own(text: str, alphabet: str) -> None:
    contract = read(ContractKind.LARK, text)
    assert read(ContractKind.LARK, contract.text).text == contract.text


@pytest.mark.parametrize("name", sorted(COMMON_TERMINALS))
def test_an_imported_terminal_is_the_engine_s_own(name: str) -> None:
    text = f"%import common.{name}\nstart: {name}"
    original, canonical = Acceptor(text), Acceptor(read(ContractKind.LARK, text).text)
    samples = [*map(chr, range(128)), "12", "1.", ".5", "1.5e3", "+1", "-1.0", "e5", "E-5", '"a\\"b"', '"a', "ab_1",
               "\r\n", "  ", "#x", "//x", "/* x */", "/*x*", "--x", "AbC", "1e", "+", "0x1F", "\n\n", "é"]  # fmt: skip
    assert [canonical.accepts(s) for s in samples] == [original.accepts(s) for s in samples]


_ATOMS = st.sampled_from(
    ["a", "b", ".", "\\d", "\\w", "\\s", "[ab]", "[^a]", "[a-c-]", "\\n", "\\x61", "\\u{62}", "(?s:.)", "é"]
)
_EXPRESSIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}"])),
    ),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(_EXPRESSIONS, st.lists(st.text("ab1 \n\ré_", max_size=5), min_size=20, max_size=20))
def test_an_expression_keeps_its_language(pattern: str, samples: list[str]) -> None:
    written = write_rust_pattern(parse_rust_pattern(pattern)[0])
    original, canonical = Acceptor(f"start: /{pattern}/"), Acceptor(f"start: /{written}/")
    assert [canonical.accepts(s) for s in samples] == [original.accepts(s) for s in samples]
    assert write_rust_pattern(parse_rust_pattern(written)[0]) == written


@settings(max_examples=500, deadline=None)
@given(st.text("ab[]^-\\&~{}()|*+?.,1dwx<>/ $", min_size=1, max_size=8))
def test_an_expression_that_is_read_is_one_that_the_engine_reads_alike(pattern: str) -> None:
    try:
        written = write_rust_pattern(parse_rust_pattern(pattern)[0])
    except UnsupportedPatternError:
        return
    escaped = pattern if "/" not in pattern else ""
    if not escaped or not written or escaped.endswith("\\"):
        return
    original = Acceptor(f"start: /{escaped}/")
    canonical = Acceptor(f"start: /{written}/")
    if not original.error:
        samples = ["", *"ab[]^-\\&~{}()|*+?.,1dwx<> $\n", "ab", "aa", "a-", "a]", "1x", "{1}", "a{", "ab1"]
        assert [canonical.accepts(s) for s in samples] == [original.accepts(s) for s in samples]
