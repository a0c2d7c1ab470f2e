"""A language run on texts: all its parts at once, over groups of characters that none of them tells apart."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from compiler_pool.form.languages import Among, Both, Either, Except, Language, Lengths, Matching
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from registry.algebra.alphabet import Alphabet
from registry.algebra.automata import DEAD, Automaton, PatternTooLargeError, State, WordList, sets_of
from registry.algebra.budgeting import BudgetSpentError, SolverBudget, Spending
from registry.algebra.truth import Ternary, all_of, any_of, opposite
from registry.pattern_syntax import ANY, Characters, Choice, PatternNode, Repeat, Sequence

MAX_POSITIONS: Final = 20_000
"""Of one pattern's automaton, its repeats written out."""
CHARACTERS_PER_STEP: Final = 16
"""Characters of listed words that cost about as much as one step."""
MOVES_PER_STEP: Final = 12
"""Moves of one automaton by one group of characters that cost about as much as one step."""

States: TypeAlias = tuple[State, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The state at one place. From `endless` on, whatever follows is in that part, and from `over` on, nothing is.

    An `open_end` is that of a search: what was found stays found.
    """

    place: int
    open_end: bool
    endless: State | None
    over: State | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Not:
    gate: "_Gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Every:
    gates: "tuple[_Gate, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Some:
    gates: "tuple[_Gate, ...]"


_Gate: TypeAlias = _Place | _Not | _Every | _Some
"""A language over places of states: equal parts have one, and are not compared again at every character."""


class LanguageRun:
    """The automata of a language, side by side. States are tuples with one entry for each part that is no operator."""

    def __init__(self, language: Language, spending: ExpansionSpending, also: Iterable[str] = ()) -> None:
        """`also` are texts whose characters are groups of their own, so that walks come to them.

        Raises `ExpansionSpentError`.
        """
        self._spending = spending
        leaves = list(dict.fromkeys(_leaves(language)))
        words = {word for leaf in leaves if isinstance(leaf, Among) for word in leaf.texts} | set(also)
        spending.step(sum(map(len, words)) // CHARACTERS_PER_STEP)
        trees = (leaf.tree for leaf in leaves if isinstance(leaf, Matching))
        self.alphabet = Alphabet(dict.fromkeys((*(c for tree in trees for c in sets_of(tree)), *_characters(words))))
        places: dict[Language, int] = {leaf: place for place, leaf in enumerate(leaves)}
        self._gate = _gate(language, places)
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
            if not self.is_over(after):
                yield group, after

    def is_over(self, states: States) -> bool:
        """Whether it is plain that no text of the language goes on from here."""
        return self._fate(self._gate, states) is False

    def accepts(self, states: States) -> bool:
        """Whether the text read so far is in the language."""
        return self._holds(self._gate, states)

    def contains(self, text: str) -> bool:
        """Whether a text is in the language. Raises `ExpansionSpentError`."""
        self._spending.step(1 + len(text) * len(self._automata) // MOVES_PER_STEP)
        states = self.start
        for character in text:
            states = self.next(states, self.alphabet.group_of(character))
        return self.accepts(states)

    def _holds(self, gate: "_Gate", states: States) -> bool:
        match gate:
            case _Place(place=place):
                return self._automata[place].accepts(states[place])
            case _Not(gate=inner):
                return not self._holds(inner, states)
            case _Every(gates=gates):
                return all(self._holds(inner, states) for inner in gates)
            case _Some(gates=gates):
                return any(self._holds(inner, states) for inner in gates)

    def _fate(self, gate: "_Gate", states: States) -> Ternary:
        """Whether all continuations of the text read so far are in the language, or none is; `None`: that is open."""
        match gate:
            case _Place(place=place, open_end=open_end, endless=endless, over=over):
                state = states[place]
                if state == DEAD or (over is not None and state >= over):
                    return False
                if open_end and self._automata[place].accepts(state):
                    return True
                return True if endless is not None and state >= endless else None
            case _Not(gate=inner):
                return opposite(self._fate(inner, states))
            case _Every(gates=gates):
                return all_of(self._fate(inner, states) for inner in gates)
            case _Some(gates=gates):
                return any_of(self._fate(inner, states) for inner in gates)


def members(texts: Iterable[str], language: Language, spending: ExpansionSpending) -> tuple[str, ...]:
    """Those of the texts that are in the language. Raises `ExpansionSpentError`."""
    run = LanguageRun(language, spending)
    return tuple(text for text in texts if run.contains(text))


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


def _gate(language: Language, places: Mapping[Language, int]) -> _Gate:
    match language:
        case Both(parts=parts):
            return _Every(gates=tuple(_gate(part, places) for part in parts))
        case Either(parts=parts):
            return _Some(gates=tuple(_gate(part, places) for part in parts))
        case Except(part=part):
            return _Not(gate=_gate(part, places))
        case Lengths(minimum=minimum, maximum=None):
            return _Place(place=places[language], open_end=False, endless=minimum + 1, over=None)
        case Lengths():
            return _Place(place=places[language], open_end=False, endless=None, over=_ceiling(language) + 1)
        case Matching(tree=tree):
            return _Place(place=places[language], open_end=_has_open_end(tree), endless=None, over=None)
        case Among():
            return _Place(place=places[language], open_end=False, endless=None, over=None)


def _has_open_end(tree: PatternNode) -> bool:
    match tree:
        case Repeat(node=node, maximum=None):
            return node == ANY
        case Sequence(parts=(*_, last)):
            return _has_open_end(last)
        case Choice(branches=branches):
            return all(map(_has_open_end, branches))
        case _:
            return False


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
