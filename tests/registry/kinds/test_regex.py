"""Regular expressions as contracts: the dialect of `pattern`, matched as a whole."""

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.limits import UNLIMITED
from policy.rejection import RejectionCode as Code
from registry.contract import ContractKind
from registry.full_match import full_match_pattern
from registry.patterns import translate_pattern
from tests.registry.kinds.contracts import read, refusal
from tests.registry.kinds.engine import Acceptor

SAME: list[tuple[str, str, str]] = [
    ("sets by name", r"\d\w", "[0-9][A-Za-z0-9_]"),
    ("anchors at the ends", "a|b", "^(?:a|b)$"),
    ("anchors in each branch", "a|b", "^a$|^b$"),
    ("anchors on one side", "a", "^a"),
    ("groups", "(?:a)(?:b)", "(a)(?<name>b)"),
    ("escapes", r"\-\/a", r"-/\x61"),
    ("laziness", "a*b+", "a*?b+?"),
    ("order in a class", "[a-cx]", "[xcba]"),
    ("bounds", "a{0,}b{1,}c{0,1}", "a*b+c?"),
    ("everything", r"[\s\S]", "[^]"),
]
DIFFERENT: list[tuple[str, str, str]] = [
    ("characters", "a", "b"),
    ("the dot is no line terminator", ".", "[^]"),
    ("order of branches is spelling, but no logic is done", "a|b", "b|a"),
    ("an anchor does not turn it into a search", "a", "[^]*a[^]*"),
]
REFUSED: list[tuple[str, Code, str]] = [
    ("(?=a)", Code.UNSUPPORTED_REGEX, "character 0"),
    (r"(a)\1", Code.UNSUPPORTED_REGEX, "character 3"),
    (r"a\b", Code.UNSUPPORTED_REGEX, "character 1"),
    ("(?i)a", Code.UNSUPPORTED_REGEX, "character 0"),
    ("a(", Code.UNSUPPORTED_REGEX, "character 1"),
    (r"\p{L}{250}" * 20, Code.UNSUPPORTED_REGEX, "too large for the validator"),
    ("a)|(b", Code.UNSUPPORTED_REGEX, "character 1"),
    ("a^b", Code.UNSATISFIABLE, "No text"),
    ("[]", Code.UNSATISFIABLE, "No text"),
    ("a[]|b[]", Code.UNSATISFIABLE, "No text"),
    ("\ud800", Code.LONE_SURROGATE, "surrogate"),
    (r"\ud800", Code.UNSUPPORTED_REGEX, "surrogate"),
]


@pytest.mark.parametrize(("reason", "one", "other"), SAME)
def test_one_contract(reason: str, one: str, other: str) -> None:
    assert read(ContractKind.REGEX, one).digest == read(ContractKind.REGEX, other).digest


@pytest.mark.parametrize(("reason", "one", "other"), DIFFERENT)
def test_two_contracts(reason: str, one: str, other: str) -> None:
    assert read(ContractKind.REGEX, one).digest != read(ContractKind.REGEX, other).digest


@pytest.mark.parametrize(("pattern", "code", "part"), REFUSED)
def test_it_is_refused_with_its_position(pattern: str, code: Code, part: str) -> None:
    found = refusal(ContractKind.REGEX, pattern)
    assert found.code == code
    assert part in found.message


_ATOMS = st.sampled_from(
    ["a", "b", ".", r"\d", r"\w", r"\s", "[ab]", "[^a]", "[a-]", r"\n", "é", "[^]", r"\u{62}", "/", "-"]
)
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}"])),
    ),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(_PATTERNS, st.lists(st.text("ab1 \n\ré_-/", max_size=5), min_size=20, max_size=20))
def test_the_canonical_text_is_its_own_and_means_the_full_match(pattern: str, samples: list[str]) -> None:
    text = read(ContractKind.REGEX, pattern).text
    assert read(ContractKind.REGEX, text, limits=UNLIMITED).text == text
    author = re2.compile(f"(?:{translate_pattern(pattern)})")
    engine = Acceptor(f"start: /{full_match_pattern(f'^(?:{text})$').replace('/', chr(92) + '/')}/")
    canonical = re2.compile(translate_pattern(f"^(?:{text})$"))
    for sample in samples:
        is_match = author.fullmatch(sample) is not None
        assert (canonical.search(sample) is not None) is is_match
        assert engine.accepts(sample) is is_match


def test_the_profile_says_what_was_measured() -> None:
    profile = read(ContractKind.REGEX, "(?:(?:a{2}){3}|bc)é").profile
    observed = {name: profile.observed[name] for name in profile.observed if name.startswith("max_pattern")}
    assert observed == {
        "max_pattern_bytes": 20, "max_pattern_depth": 2, "max_pattern_repeat": 3, "max_pattern_repeat_product": 6,
    }  # fmt: skip
    assert profile.observed["max_shortest_instance_bytes"] == 4
    assert profile.max_pattern_bytes == 20
