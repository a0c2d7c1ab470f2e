import contextlib
import re

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import UnsupportedPatternError
from registry.patterns import pattern_profile, translate_pattern


def finds(pattern: str, text: str) -> bool:
    return re2.search(translate_pattern(pattern), text) is not None


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"^\d$", "7", "\u0667"),  # ARABIC-INDIC DIGIT SEVEN is a digit to Rust
        (r"^\w$", "_", "é"),
        (r"^\W$", "é", "a"),
        (r"^\s$", "\ufeff", "\u0085"),
        (r"^\S$", "\u0085", "\u2003"),
        (r"^[^\S\n]$", "\t", "\n"),
        (r"^.$", "\u0085", "\u2028"),
        (r"^.$", "\U0001f600", "\r"),
        (r"^a$", "a", "a\n"),
        (r"^[^]$", "\n", ""),
        (r"^[]?$", "", "a"),
        (r"^[\b]$", "\x08", "b"),
        (r"^\cJ$", "\n", "J"),
        (r"^\0$", "\x00", "0"),
        (r"^\x41\u0042\u{43}$", "ABC", "ABD"),
        (r"^\uD83D\uDE00$", "\U0001f600", "\ud7ff"),
        (r"^[\uD83D\uDE00-\u{1F602}]$", "\U0001f601", "\U0001f603"),
        (r"^[\w-.]$", "-", "/"),
        (r"^[a-]$", "-", "b"),
        (r"^[+--]$", ",", "."),
        (r"^[a&&b]$", "&", "ab"),
        (r"^[[a]$", "[", "]"),
        (r"^\$\{x\}$", "${x}", "x"),
        (r"^{x}$", "{x}", "x"),
        (r"^\p{Lu}$", "É", "é"),
        (r"^\P{Letter}$", "1", "a"),
        (r"^[\p{Script=Greek}\d]$", "λ", "l"),
        (r"^(?<year>\d{4})-(?:a|b)+?$", "2024-ab", "2024-"),
        (r"^(|a)b$", "b", "aab"),
        (r"a|^b$", "xax", "bb"),
        (r"\/\-\_\@\ ", "/-_@ ", "/-_@"),
    ],
)
def test_what_ecma_262_means_is_what_re2_finds(pattern: str, matching: str, other: str) -> None:
    assert finds(pattern, matching)
    assert not finds(pattern, other)


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("a(?=b)", 1), ("(?!b)", 0), ("(?<=b)", 0), ("(?<!b)", 0), (r"(a)\1", 3), (r"(?<n>a)\k<n>", 7), (r"a\b", 1),
        (r"\B", 0), ("(?i)a", 0), ("(?i:a)", 0), ("(?x) a", 0), (r"\Aa", 0), (r"a\z", 1), (r"a\Z", 1), (r"\a", 0),
        ("(?P<n>a)", 0), ("(?>a)", 0), ("a++", 2), ("a**", 2), ("*a", 0), ("^*", 1), ("(*a)", 1), ("a|*", 2),
        ("a{2}{3}", 4), ("a{3,2}", 1), ("a{,2}", 1), ("a{9999999999}", 1), ("[b-a]", 2), ("[a", 0), ("(a", 0),
        ("a)", 1), ("a\\", 1), (r"\x4", 0), (r"\u12", 0), (r"\u{}", 0), (r"\u{110000}", 0), (r"\u{12", 0), (r"\c1", 0),
        (r"\uD800", 0), (r"[\uDC00-\uDFFF]", 1), (r"\01", 0), (r"[\1]", 1), (r"\p{Alphabetic}", 0), (r"\pL", 0),
        (r"\p{C}", 0), (r"\p{Script=Klingon}", 0), ("[[:alpha:]]", 1), ("(?<n>a)(?<n>b)", 7), ("(?<1>a)", 0),
    ],
)  # fmt: skip
def test_what_engines_read_differently_is_refused_with_its_place(pattern: str, position: int) -> None:
    with pytest.raises(UnsupportedPatternError) as caught:
        translate_pattern(pattern)
    assert caught.value.position == position
    assert caught.value.code == "unsupported_regex"


def test_the_profile_multiplies_repeats_within_each_other_only() -> None:
    profile = pattern_profile(r"^(a{3}(b{1,4}|c{2,}){5}){2}d{7}$")
    assert (profile.repeat_product, profile.max_repeat, profile.depth) == (4 * 5 * 2, 7, 2)
    assert pattern_profile("é").num_bytes == 2


def test_depth_costs_no_stack() -> None:
    assert pattern_profile("(" * 50_000 + ")" * 50_000).depth == 50_000
    with pytest.raises(UnsupportedPatternError):
        translate_pattern("(" * 50_000 + ")" * 50_000)


@pytest.mark.parametrize("pattern", ["[[:" * 20_000, r"\p{" * 20_000, "{1" * 50_000, "(?<a" * 20_000, "a{0" * 30_000])
def test_hostile_patterns_are_read_in_one_pass(pattern: str) -> None:
    with contextlib.suppress(UnsupportedPatternError):
        translate_pattern(pattern)


# Only what Python's `re` and ECMA-262 mean alike: on ASCII, without `$` (which may stand before a last line feed).
_ATOMS = st.sampled_from(
    ["a", "b", "0", "_", " ", "-", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\.", r"\-", "[ab]", "[^a0]",
     r"[\d_]", r"[^\w]", r"[\s\S]", "[a-c]", "[-b]", r"\x61", r"\n", "[&~]"]
)  # fmt: skip
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: f"(?:{'|'.join(branches)})"),
        inner.map(lambda node: f"({node})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,2}", "{0,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@given(_PATTERNS, st.sampled_from(["", "^"]), st.lists(st.text("ab0_ -.&~\n", max_size=8), min_size=1, max_size=8))
def test_re2_agrees_with_python_wherever_python_agrees_with_ecma_262(
    pattern: str, anchor: str, texts: list[str]
) -> None:
    whole = anchor + pattern
    compiled = re2.compile(translate_pattern(whole))
    reference = re.compile(whole, re.ASCII)
    for text in texts:
        assert (compiled.search(text) is not None) == (reference.search(text) is not None), (whole, text)
