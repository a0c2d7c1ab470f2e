"""A string of a given length, in and off some patterns, and off some values: exact, by running automata together.

Formats are the judge's: all that is assumed of one is that it is not its own opposite. Where formats are asked for,
samples are tried; an answer "empty" never rests on them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from registry.algebra.alphabet import Alphabet
from registry.algebra.automata import DEAD, Automaton, PatternTooLargeError, State, WordList, sets_of
from registry.algebra.budgeting import Spending
from registry.algebra.format_samples import WIDER, exact_format, format_bound, format_samples
from registry.algebra.formulas import (
    Formula,
    InFormat,
    LongerOrEqual,
    Matches,
    OneOf,
    ShorterOrEqual,
)
from registry.algebra.outcomes import Empty, Found, Outcome, Unsure
from registry.algebra.truth import Ternary
from registry.errors import UnsupportedPatternError
from registry.full_match import full_match_tree
from registry.parsing import parse_json
from registry.pattern_syntax import Characters, PatternNode

MAX_WITNESS_LENGTH: Final = 110_000
"""Code points; a longer string is not built."""
CHARACTERS_PER_STEP: Final = 16
"""Characters of excluded words that cost about as much as one step."""
MOVES_PER_STEP: Final = 12
"""Moves of one automaton by one group of characters that cost about as much as one step."""

Holds: TypeAlias = Callable[[Formula, str], Ternary]


def solve_string(atoms: Iterable[Formula], spending: Spending, holds: Holds) -> Outcome:
    """A string for which all atoms hold."""
    wish = _wish(atoms)
    if wish.least > wish.most:
        return Empty(reason=f"no string has at least {wish.least} and at most {wish.most} characters")
    contradicted = next((name for name in wish.formats if name in wish.off_formats), None)
    if contradicted is not None:
        return Empty(reason=f"no string is in the format {contradicted} and is not")
    for name in wish.formats:
        held = next((wider for wider in sorted(wish.off_formats) if wider in WIDER.get(name, ())), None)
        if held is not None:
            return Empty(reason=f"every string in the format {name} is in the format {held}")
    outcome = _without_formats(wish, spending)
    if isinstance(outcome, Empty) or not (wish.formats or wish.off_formats or wish.opaque):
        return outcome
    candidates = [outcome.value] if isinstance(outcome, Found) else []
    for name in (*wish.formats, *wish.off_formats):
        candidates += format_samples(name)
    for candidate in candidates:
        assert isinstance(candidate, str)
        if all(holds(atom, candidate) is True for atom in wish.atoms):
            return Found(value=candidate)
    return Unsure(reason="no string was found in the formats or patterns that are asked for")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    atoms: tuple[Formula, ...]
    least: int
    most: int
    patterns: tuple[tuple[PatternNode, bool], ...]
    opaque: bool
    """A pattern could not be made an automaton, so it was left out."""
    excluded: frozenset[str]
    formats: frozenset[str]
    off_formats: frozenset[str]


_ENDLESS: Final = 1 << 60


def _wish(atoms: Iterable[Formula]) -> _Wish:
    kept = tuple(atoms)
    least, most, opaque = 0, _ENDLESS, False
    patterns: dict[tuple[PatternNode, bool], None] = {}
    excluded: set[str] = set()
    formats: dict[bool, set[str]] = {True: set(), False: set()}
    for atom in kept:
        match atom:
            case LongerOrEqual(length=length):
                least = max(least, length)
            case ShorterOrEqual(length=length):
                most = min(most, length)
            case Matches(pattern=pattern, positive=positive):
                try:
                    patterns[_tree(pattern), positive] = None
                except UnsupportedPatternError:
                    opaque = True
            case InFormat(name=name, positive=positive):
                exact, bound = exact_format(name), format_bound(name)
                if exact is not None:
                    patterns[exact, positive] = None
                    continue
                formats[positive].add(name)
                if positive and bound is not None:
                    patterns[bound, True] = None
            case OneOf(texts=texts):
                excluded.update(_string_of(text) for text in texts)
            case _:
                raise AssertionError(atom)
    return _Wish(
        atoms=kept, least=least, most=most, patterns=tuple(patterns), opaque=opaque, excluded=frozenset(excluded),
        formats=frozenset(formats[True]), off_formats=frozenset(formats[False]),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _tree(pattern: str) -> PatternNode:
    """Names of members ask for the same patterns again and again."""
    return full_match_tree(pattern)


@lru_cache(maxsize=8_192)
def _string_of(text: str) -> str:
    value = parse_json(text, max_bytes=1 << 26, max_nesting=1)
    assert isinstance(value, str)
    return value


def _without_formats(wish: _Wish, spending: Spending) -> Outcome:
    if wish.least > MAX_WITNESS_LENGTH:
        return Unsure(reason="the string would be too long")
    excluded = frozenset(word for word in wish.excluded if wish.least <= len(word) <= wish.most)
    is_complete = True
    if not wish.patterns and not excluded:
        return Found(value="a" * wish.least)
    spending.step(sum(map(len, excluded)) // CHARACTERS_PER_STEP)
    alphabet = Alphabet((*(c for tree, _ in wish.patterns for c in sets_of(tree)), *_characters(excluded)))
    automata: list[tuple[Automaton | WordList, bool]] = [(WordList(excluded, alphabet), False)] if excluded else []
    for tree, positive in wish.patterns:
        try:
            automaton = Automaton(tree, alphabet, max_positions=spending.budget.max_automaton_states, spending=spending)
        except PatternTooLargeError:
            is_complete = False
        else:
            automata.append((automaton, positive))
    outcome = _Product(automata, alphabet, spending).shortest(wish.least, wish.most)
    if isinstance(outcome, Found) and not is_complete:
        return Unsure(reason="a pattern is too large to be made an automaton")
    return outcome


def _characters(words: frozenset[str]) -> set[Characters]:
    return {Characters(ranges=((ord(character),) * 2,)) for word in words for character in word}


_States: TypeAlias = tuple[State, ...]
_Layer: TypeAlias = "dict[_States, tuple[_States, int] | None]"
"""The states that texts of one length lead to, each with the state and the character before it."""


class _Product:
    """Several automata on one text."""

    def __init__(
        self, automata: list[tuple[Automaton | WordList, bool]], alphabet: Alphabet, spending: Spending
    ) -> None:
        self._automata = automata
        self._alphabet = alphabet
        self._spending = spending

    def shortest(self, least: int, most: int) -> Outcome:
        """The shortest text of at least `least` characters, if it has at most `most`.

        Until `least`, states are told apart by length; after it, by themselves alone, because a shortest way visits
        none of them twice.
        """
        start = tuple(automaton.start for automaton, _ in self._automata)
        came: list[_Layer] = [{start: None}]
        while len(came) <= least:
            layer = self._layer(came[-1], None)
            if not layer:
                return Empty(
                    reason=f"no string of at least {least} characters is in all the patterns and off the others"
                )
            came.append(layer)
        seen = set(came[-1])
        while layer := came[-1]:
            for states in layer:
                if self._accepts(states):
                    return Found(value=self._text(came, states))
            came.append(self._layer(layer, seen) if len(came) <= most else {})
        return Empty(reason="no string is in all the patterns and lengths and off the others")

    def _layer(self, before: _Layer, seen: set[_States] | None) -> _Layer:
        """Where one more character leads; not where `seen` has been, which grows."""
        layer: _Layer = {}
        for states in before:
            for group, after in self._successors(states):
                if seen is None:
                    layer.setdefault(after, (states, group))
                elif after not in seen:
                    seen.add(after)
                    layer[after] = (states, group)
        return layer

    def _successors(self, states: _States) -> Iterable[tuple[int, _States]]:
        self._spending.step(1 + len(self._alphabet) * len(self._automata) // MOVES_PER_STEP)
        for group in range(len(self._alphabet)):
            after = tuple(
                automaton.next(state, group) for (automaton, _), state in zip(self._automata, states, strict=True)
            )
            if not any(positive and state == DEAD for (_, positive), state in zip(self._automata, after, strict=True)):
                yield group, after

    def _accepts(self, states: _States) -> bool:
        return all(
            automaton.accepts(state) == positive
            for (automaton, positive), state in zip(self._automata, states, strict=True)
        )

    def _text(self, came: list[_Layer], states: _States) -> str:
        characters: list[str] = []
        for layer in reversed(came):
            step = layer[states]
            if step is not None:
                states, group = step
                characters.append(self._alphabet.example(group))
        return "".join(reversed(characters))
