"""Strings in the real engine: each character in its one spelling, and no text but those of the language."""

import json
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.languages import (
    Among,
    Language,
    Lengths,
    both,
    either,
    excluding,
)
from compiler_pool.form.simplifying import simplified
from compiler_pool.form.spelling import spell_string
from compiler_pool.form.strings import pattern_language
from compiler_pool.lark.strings import literal, name_terminal, raw_terminal
from registry.pattern_program import pattern_program
from tests.compiler_pool.form.walks import CHARACTERS, mutated, run_of, spending, walk
from tests.compiler_pool.lark.engine_terminal import EngineTerminal

_CHARACTERS = [*map(chr, range(0x100)), "\u2028", "\u2029", "\ufeff", "\u1680", "\ud7ff", "\ue000", "😀", "\U0010ffff"]
_SHORT = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r", '"': '"', "\\": "\\"}


def one_spelling(character: str) -> str:
    """How the character must stand in a generated string, said apart from the code that does it."""
    if character in _SHORT:
        return "\\" + _SHORT[character]
    return f"\\u{ord(character):04x}" if character < " " or character == "\x7f" else character


def spellings(character: str) -> set[str]:
    """Ways to write a character, those that JSON does not have included."""
    ways = {character, f"\\{character}", f"\\u{ord(character):04x}", f"\\u{ord(character):04X}"}
    return ways | {"\\" + _SHORT.get(character, "x")}


@pytest.mark.parametrize("pattern", ["^[^]$", "^[\\s\\S]$", "^(.|\\n|\\r|\\u2028|\\u2029)$", "^[\\x00-\\u{10ffff}]$"])
def test_every_character_has_exactly_one_spelling(pattern: str) -> None:
    engine = EngineTerminal(pattern_language(pattern))
    for character in _CHARACTERS:
        ways = {way for way in spellings(character) if _reads_as(way, character) and engine.takes(f'"{way}"')}
        assert ways == {one_spelling(character)}, hex(ord(character))
        assert json.loads(f'"{one_spelling(character)}"') == character
        assert spell_string(character) == f'"{one_spelling(character)}"'


@pytest.mark.parametrize(
    "pattern",
    ["^.$", '^[^"\\\\]$', '^[^"]$', "^[^\\\\]$", "^\\s$", "^\\S$", "^\\w$", "^\\W$", "^\\p{Cc}$", "^\\P{Cc}$",
     "^\\P{L}$",
     "^[\\x00-\\x1f]$", "^\\x00$", "^[\\x00-\\x07\\x7f]$", "^[\\x7e-\\x80]$", "^[\\b\\v]$", "^[^\\x00-\\x1f]$",
     "^[^\\p{L}\\x00]$", "^(\\x00|[\\x01-\\x1f])$", "^[\\uD000-\\uE000]$"],
)  # fmt: skip
def test_a_set_and_its_opposite_hold_each_character_as_the_validator_says(pattern: str) -> None:
    program = pattern_program(pattern)
    language = pattern_language(pattern)
    for engine, positive in ((EngineTerminal(language), True), (EngineTerminal(excluding(language)), False)):
        for character in _CHARACTERS:
            held = program.search(character) is not None
            assert engine.takes(f'"{one_spelling(character)}"') is (held is positive), hex(ord(character))
            wrong = spellings(character) - {one_spelling(character)}
            assert not [way for way in wrong if _reads_as(way, character) and engine.takes(f'"{way}"')]


def _reads_as(spelling: str, character: str) -> bool:
    """Whether a reader that is not strict takes it for the character."""
    try:
        return bool(json.loads(f'"{spelling}"', strict=False) == character)
    except ValueError:
        return False


def test_a_name_ends_in_its_colon_and_a_raw_text_is_not_escaped() -> None:
    language = both(pattern_language("^a.*$"), excluding(Among(texts=('a"', "ab"))))
    name, raw = EngineTerminal(language, name_terminal), EngineTerminal(language, raw_terminal)
    assert name.takes('"a":')
    assert name.takes('"a\\"b":')
    assert not name.takes('"a"')
    assert not name.takes('"a\\"":')
    assert not name.takes('"ab":')
    assert raw.takes('a"b')
    assert raw.takes("a\x00")
    assert not raw.takes('a"')
    assert not raw.takes("ab")
    assert not raw.takes('"a"')


@pytest.mark.parametrize("text", ["", '"', "\\", "a/b", "\x00\x1f\x7f\n", "é\u2028😀", '{"a":[1,2]}'])
def test_a_literal_is_exactly_its_text(text: str) -> None:
    rules = EngineTerminal(Among(texts=("x",)), lambda _language, rules: rules.rule("whole", literal(text) + ' "!"'))
    assert rules.takes(f"{text}!")
    assert not rules.takes(f"{text}x!")


def test_many_words_are_one_terminal() -> None:
    words = tuple(f"word {number} 😀\n" for number in range(3_000))
    engine = EngineTerminal(Among(texts=words))
    assert engine.takes('"word 2999 😀\\n"')
    assert not engine.takes('"word 3000 😀\\n"')


def _patterns() -> st.SearchStrategy[str]:
    items = st.sampled_from(
        ["a", "b", "\\d", "\\w", "\\s", ".", "[^a]", "[a-f]", "[^\\x00-\\x1f]", "\\x00", '"', "\\\\", "/", "\\n",
         "\\p{L}", "\\P{L}", "[\\p{Nd}_-]", "é", "😀", "\\u2028", "[^]", "\\x7f", '[\\x00-\\x0f"]']
    )  # fmt: skip
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"])
    repeated = st.builds(lambda item, quantifier: item + quantifier, items, quantifiers)

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("".join, st.lists(inner, min_size=1, max_size=3)),
            st.builds(lambda parts: f"(?:{'|'.join(parts)})", st.lists(inner, min_size=2, max_size=3)),
            st.builds(lambda part, quantifier: f"({part}){quantifier}", inner, quantifiers),
        )

    bodies = st.recursive(st.one_of(items, repeated), grown, max_leaves=5)
    return st.builds(lambda start, body, end: start + body + end, st.sampled_from(["", "^"]), bodies,
                     st.sampled_from(["", "$"]))  # fmt: skip


def _languages() -> st.SearchStrategy[Language]:
    lengths = st.builds(
        lambda least, more: Lengths(minimum=least, maximum=None if more is None else least + more),
        st.integers(0, 4),
        st.one_of(st.none(), st.integers(0, 4)),
    )
    words = st.builds(
        lambda texts: Among(texts=tuple(texts)), st.lists(st.text(alphabet='ab"\\\x00é1 ', max_size=3), max_size=3)
    )
    leaves = st.one_of(_patterns().map(pattern_language), lengths, words)
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            inner.map(excluding),
            st.lists(inner, max_size=3).map(lambda parts: both(*parts)),
            st.lists(inner, max_size=3).map(lambda parts: either(*parts)),
        ),
        max_leaves=4,
    )


@settings(max_examples=150, deadline=None)
@given(pattern=_patterns(), seed=st.integers(0, 2**32))
@example(pattern="\\d(\\P{L}{2}){1,3}", seed=0)  # uses up its lexer
def test_grammar_and_validator_agree_on_patterns(pattern: str, seed: int) -> None:
    random = Random(seed)
    program = pattern_program(pattern)
    language = pattern_language(pattern)
    run = run_of(language)
    engine = EngineTerminal(simplified(language, spending()))
    opposite = simplified(excluding(language), spending())
    refusing = None if is_empty_language(opposite, spending()) else EngineTerminal(opposite)
    texts = ["", *(walk(run, random, longest=8) for _ in range(6))]
    texts += [mutated(text, random) for text in texts for _ in range(2)]
    for text in texts:
        found = program.search(text) is not None
        assert engine.takes(spell_string(text)) is found, (text, engine.grammar)
        assert (refusing is not None and refusing.takes(spell_string(text))) is not found, text


@settings(max_examples=200, deadline=None)
@given(language=_languages(), seed=st.integers(0, 2**32))
def test_a_simpler_language_is_the_same_and_the_engine_takes_its_texts_alone(language: Language, seed: int) -> None:
    random = Random(seed)
    run = run_of(language)
    simple = simplified(language, spending())
    simple_run = run_of(simple)
    texts = ["", *CHARACTERS, *(walk(run, random, longest=8) for _ in range(6))]
    texts += [mutated(text, random) for text in texts[-6:] for _ in range(3)]
    held = {text for text in texts if run.contains(text)}
    assert {text for text in texts if simple_run.contains(text)} == held
    is_empty = is_empty_language(simple, spending())
    assert is_empty == is_empty_language(language, spending())
    if is_empty:
        assert not held
        return
    engine = EngineTerminal(simple)
    assert {text for text in texts if engine.takes(spell_string(text))} == held, engine.grammar
