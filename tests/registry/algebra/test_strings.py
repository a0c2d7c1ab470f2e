"""Strings by pattern, length and format: automata agree with the program that judges, and formats with the judge."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.validation.formats.table import FORMATS
from registry.algebra.alphabet import Alphabet, code_points
from registry.algebra.automata import Automaton, sets_of
from registry.algebra.budgeting import Spending
from registry.algebra.format_samples import BOUNDS, EXACT, WIDER, exact_format, format_bound, format_samples
from registry.algebra.formulas import Formula, InFormat, LongerOrEqual, Matches, OneOf, ShorterOrEqual
from registry.algebra.outcomes import Empty, Found, Outcome, Unsure
from registry.algebra.strings import solve_string
from registry.algebra.truth import Ternary, finds
from registry.compatibility.verdicts import ComparisonBudget
from registry.full_match import full_match_tree
from registry.keywords import KNOWN_FORMATS
from registry.pattern_syntax import Characters, PatternNode
from registry.text import value_text

_PIECES = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", "\\d", "(?:ab)", "é", "\\p{L}"])
_REPEATS = st.sampled_from(["", "*", "+", "?", "{2}", "{1,3}"])
_WORDS = st.lists(st.builds(str.__add__, _PIECES, _REPEATS), min_size=1, max_size=3).map("".join)
_PATTERNS = st.builds(
    lambda start, words, end: f"{start}(?:{'|'.join(words)}){end}",
    st.sampled_from(["", "^"]),
    st.lists(_WORDS, min_size=1, max_size=2),
    st.sampled_from(["", "$"]),
)
_TEXTS = st.text("ab0é \n", max_size=5)


def _holds(atom: Formula, text: str) -> Ternary:
    match atom:
        case Matches(pattern=pattern, positive=positive):
            return finds(pattern, text) == positive
        case LongerOrEqual(length=length):
            return len(text) >= length
        case ShorterOrEqual(length=length):
            return len(text) <= length
        case OneOf(texts=texts, positive=positive):
            return (value_text(text) in texts) == positive
        case InFormat(name=name, positive=positive):
            return FORMATS[name](text) == positive
        case _:
            raise AssertionError(atom)


def _solved(*atoms: Formula, max_steps: int = 100_000) -> Outcome:
    return solve_string(atoms, Spending(ComparisonBudget(max_steps=max_steps)), _holds)


def _accepts(tree: PatternNode, text: str) -> bool:
    alphabet = Alphabet((*sets_of(tree), *(Characters(ranges=((ord(c), ord(c)),)) for c in text)))
    automaton = Automaton(tree, alphabet, max_positions=3_000, spending=Spending(ComparisonBudget()))
    state = automaton.start
    for character in text:
        state = automaton.next(state, alphabet.group_of(character))
    return automaton.accepts(state)


@settings(deadline=None)
@given(_PATTERNS, _TEXTS)
def test_an_automaton_accepts_what_the_judging_program_finds(pattern: str, text: str) -> None:
    assert _accepts(full_match_tree(pattern), text) == finds(pattern, text)


@settings(deadline=None)
@given(
    st.lists(st.builds(Matches, pattern=_PATTERNS, positive=st.booleans()), max_size=3),
    st.integers(0, 3),
    st.integers(0, 5),
    st.lists(_TEXTS, max_size=3),
    st.lists(_TEXTS, max_size=30),
)
def test_what_is_found_fits_and_what_is_empty_is_empty(
    patterns: list[Matches], least: int, most: int, excluded: list[str], texts: list[str]
) -> None:
    listed = tuple(sorted({value_text(text) for text in excluded}))
    lengths: list[Formula] = [LongerOrEqual(length=least), ShorterOrEqual(length=most)]
    atoms: list[Formula] = [*patterns, *lengths, OneOf(texts=listed, positive=False)]

    outcome = _solved(*atoms)

    if isinstance(outcome, Found):
        assert isinstance(outcome.value, str)
        assert all(_holds(atom, outcome.value) for atom in atoms)
    else:
        assert isinstance(outcome, Empty)
        assert not any(all(_holds(atom, text) for atom in atoms) for text in texts)


def test_the_shortest_string_is_found_however_long_it_must_be() -> None:
    outcome = _solved(Matches(pattern="^(?:ab)*$", positive=True), LongerOrEqual(length=301))

    assert outcome == Found(value="ab" * 151)


def test_the_surrogates_are_no_characters_of_a_string() -> None:
    outcome = _solved(
        Matches(pattern="^[^]$", positive=True),
        Matches(pattern="^[\\u{0}-\\u{D7FF}\\u{E000}-\\u{10FFFF}]$", positive=False),
    )

    assert isinstance(outcome, Empty)


def test_a_pattern_too_large_for_an_automaton_leaves_the_question_open() -> None:
    outcome = _solved(Matches(pattern="^(?:[a-c]{1,90}){1,90}$", positive=True), LongerOrEqual(length=1))

    assert isinstance(outcome, Unsure)


def test_unicode_classes_are_those_of_the_judging_program() -> None:
    for written, name in (("\\p{Lu}", "\\p{Lu}"), ("\\p{Script=Greek}", "\\p{Greek}"), ("\\P{L}", "\\P{L}")):
        ranges = code_points(Characters(classes=(name,)))
        for code_point in (0x41, 0x61, 0x3B1, 0x4E00, 0x1F600, 0xD7FF, 0xE000):
            held = any(low <= code_point <= high for low, high in ranges)
            assert held == finds(f"^{written}$", chr(code_point)), (name, hex(code_point))


def test_every_format_has_samples_on_both_sides() -> None:
    for name in KNOWN_FORMATS:
        held = {FORMATS[name](text) for text in format_samples(name)}
        assert held == {True, False}, name


@settings(deadline=None, max_examples=400)
@given(st.data())
def test_a_format_lies_within_its_bound_and_an_exact_one_fills_it(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted({*BOUNDS, *EXACT})))
    sample = data.draw(st.sampled_from(format_samples(name)))
    characters = st.sampled_from(sorted({*sample, *"0129aZ:.-+@/~ %PTé"}))
    text = "".join(data.draw(st.lists(characters | st.sampled_from(list(sample) or [""]), max_size=3)))
    cut = data.draw(st.integers(0, len(sample)))
    changed = sample[:cut] + text + sample[cut + data.draw(st.integers(0, 3)) :]

    exact, bound = exact_format(name), format_bound(name)

    if exact is not None:
        assert _accepts(exact, changed) == FORMATS[name](changed), changed
    elif FORMATS[name](changed):
        assert bound is not None
        assert _accepts(bound, changed), changed


def test_bounds_hold_the_judges_own_kind_of_extremes() -> None:
    extremes = {
        "email": ['"a\\"b c"@x.y', "a@[127.0.0.1]", "a@[IPv6:::1]", "!#$%&'*+/=?^_`{|}~-@a"],
        "uri": ["a:", "a+b-.1://[::1]:80/%20?#!", "mailto:x@y"],
        "uri-reference": ["", "//[v1.a]", "?#", "./a:b"],
        "ipv6": ["1111:2222:3333:4444:5555:6666:255.255.255.255", "::"],
        "time": ["23:59:60Z", "00:00:60+00:01", "12:00:00.0000000001z"],
        "json-pointer": ["/\n", "/\u2028~0", "//"],
        "hostname": ["xn--bcher-kva.example", "a." * 126 + "a"],
    }
    for name, texts in extremes.items():
        bound = format_bound(name)
        assert bound is not None
        for text in texts:
            if FORMATS[name](text):
                assert _accepts(bound, text), (name, text)


@given(st.text("aZ0:/?#[]@!%2F.é~ \ue000\U000e1000", max_size=9))
def test_a_wider_format_holds_all_of_the_other(text: str) -> None:
    for name, wider in WIDER.items():
        for candidate in (text, *format_samples(name)):
            assert not FORMATS[name](candidate) or all(FORMATS[other](candidate) for other in wider), candidate
