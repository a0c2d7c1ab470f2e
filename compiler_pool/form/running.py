"""A language run on texts: all its parts at once, over groups of characters that none of them tells apart."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from compiler_pool.form.languages import Among, Both, Either, Except, Language, Lengths, Matching
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from registry.algebra.alphabet import Alphabet
from registry.algebra.automata import DEAD, Automaton, PatternTooLargeError, State, WordList, sets_of
from registry.algebra.budgeting import BudgetSpentError, SolverBudget, Spending
from registry.algebra.truth import Ternary, all_of, any_of, opposite
from registry.pattern_syntax import Characters

MAX_POSITIONS: Final = 20_000
"""Of one pattern's automaton, its repeats written out."""
CHARACTERS_PER_STEP: Final = 16
"""Characters of listed words that cost about as much as one step."""
MOVES_PER_STEP: Final = 12
"""Moves of one automaton by one group of characters that cost about as much as one step."""

States: TypeAlias = tuple[State, ...]


class LanguageRun:
    """The automata of a language, side by side. States are tuples with one entry for each part that is no operator."""

    def __init__(self, language: Language, spending: ExpansionSpending, also: Iterable[str] = ()) -> None:
        """`also` are texts whose characters the groups must tell apart.

        Raises `ExpansionSpentError`.
        """
        self._language = language
        self._spending = spending
        leaves = list(dict.fromkeys(_leaves(language)))
        words = {word for leaf in leaves if isinstance(leaf, Among) for word in leaf.texts} | set(also)
        spending.step(sum(map(len, words)) // CHARACTERS_PER_STEP)
        trees = (leaf.tree for leaf in leaves if isinstance(leaf, Matching))
        self.alphabet = Alphabet(dict.fromkeys((*(c for tree in trees for c in sets_of(tree)), *_characters(words))))
        self._places = {leaf: place for place, leaf in enumerate(leaves)}
        steps = _Steps(spending)
        try:
            self._automata = [_automaton(leaf, self.alphabet, steps) for leaf in leaves]
        except PatternTooLargeError:
            raise ExpansionSpentError("max_automaton_positions", MAX_POSITIONS) from None
        self.start: States = tuple(automaton.start for automaton in self._automata)

    def next(self, states: States, group: int) -> States:
        """The states after one more character. Raises `ExpansionSpentError`."""
        try:
            return tuple(automaton.next(state, group) for automaton, state in zip(self._automata, states, strict=True))
        except BudgetSpentError as error:
            raise ExpansionSpentError(error.limit_name, MAX_POSITIONS) from None

    def successors(self, states: States) -> Iterator[tuple[int, States]]:
        """Where each group leads, but to where no text of the language goes on. Raises `ExpansionSpentError`."""
        self._spending.step(1 + len(self.alphabet) * len(self._automata) // MOVES_PER_STEP)
        for group in range(len(self.alphabet)):
            after = self.next(states, group)
            if self._fate(self._language, after) is not False:
                yield group, after

    def accepts(self, states: States) -> bool:
        """Whether the text read so far is in the language."""
        return self._holds(self._language, states)

    def contains(self, text: str) -> bool:
        """Whether a text, whose characters the groups tell apart, is in the language. Raises `ExpansionSpentError`."""
        self._spending.step(1 + len(text) * len(self._automata) // MOVES_PER_STEP)
        states = self.start
        for character in text:
            states = self.next(states, self.alphabet.group_of(character))
        return self.accepts(states)

    def _holds(self, language: Language, states: States) -> bool:
        match language:
            case Both(parts=parts):
                return all(self._holds(part, states) for part in parts)
            case Either(parts=parts):
                return any(self._holds(part, states) for part in parts)
            case Except(part=part):
                return not self._holds(part, states)
            case Matching() | Among() | Lengths():
                place = self._places[language]
                return self._automata[place].accepts(states[place])

    def _fate(self, language: Language, states: States) -> Ternary:
        """Whether all continuations of the text read so far are in the language, or none is; `None`: that is open."""
        match language:
            case Both(parts=parts):
                return all_of(self._fate(part, states) for part in parts)
            case Either(parts=parts):
                return any_of(self._fate(part, states) for part in parts)
            case Except(part=part):
                return opposite(self._fate(part, states))
            case Lengths():
                state = states[self._places[language]]
                if state > _ceiling(language) and language.maximum is not None:
                    return False
                return True if language.maximum is None and state > language.minimum else None
            case Matching() | Among():
                return False if states[self._places[language]] == DEAD else None


def members(texts: Iterable[str], language: Language, spending: ExpansionSpending) -> tuple[str, ...]:
    """Those of the texts that are in the language. Raises `ExpansionSpentError`."""
    kept = tuple(texts)
    run = LanguageRun(language, spending, kept)
    return tuple(text for text in kept if run.contains(text))


class _Steps(Spending):
    """What automata cost, paid for by the contract that they are made for."""

    __slots__ = ("_paying",)

    def __init__(self, paying: ExpansionSpending) -> None:
        super().__init__(SolverBudget())
        self._paying = paying

    def step(self, count: int = 1) -> None:
        """Raises `ExpansionSpentError`."""
        self._paying.step(count)


class _Counter:
    """Counts characters, no further than to where more of them make no difference."""

    def __init__(self, lengths: Lengths) -> None:
        self._lengths = lengths
        self._last = _ceiling(lengths) + 1
        self.start: State = 1
        """States are lengths, counted from one."""

    def accepts(self, state: State) -> bool:
        """Whether the text is neither too short nor too long."""
        maximum = self._lengths.maximum
        return state > self._lengths.minimum and (maximum is None or state <= maximum + 1)

    def next(self, state: State, group: int) -> State:  # noqa: ARG002 - any character counts
        """The state after one more character."""
        return min(state + 1, self._last)


def _ceiling(lengths: Lengths) -> int:
    """The greatest state that is still to be told from longer texts."""
    return lengths.minimum if lengths.maximum is None else lengths.maximum + 1


def _automaton(
    leaf: Matching | Among | Lengths, alphabet: Alphabet, steps: Spending
) -> Automaton | WordList | _Counter:
    match leaf:
        case Matching(tree=tree):
            return Automaton(tree, alphabet, max_positions=MAX_POSITIONS, spending=steps)
        case Among(texts=texts):
            return WordList(frozenset(texts), alphabet)
        case Lengths():
            return _Counter(leaf)


def _leaves(language: Language) -> Iterator[Matching | Among | Lengths]:
    match language:
        case Both(parts=parts) | Either(parts=parts):
            for part in parts:
                yield from _leaves(part)
        case Except(part=part):
            yield from _leaves(part)
        case Matching() | Among() | Lengths():
            yield language


def _characters(words: Iterable[str]) -> Iterator[Characters]:
    for character in sorted({character for word in words for character in word}):
        yield Characters(ranges=((ord(character),) * 2,))
