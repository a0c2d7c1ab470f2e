"""A pattern as an automaton over groups of characters: states are made as they are reached, and are bounded."""

from collections.abc import Iterator
from typing import Final

from registry.compatibility.alphabet import Alphabet
from registry.compatibility.budgeting import BudgetSpentError
from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence

State = frozenset[int]
"""The positions that a text read so far can have led to."""

DEAD: Final[State] = frozenset()


class PatternTooLargeError(Exception):
    """The pattern's repeats come to more positions than the budget has."""


def sets_of(node: PatternNode) -> Iterator[Characters]:
    """All sets of characters in a tree."""
    match node:
        case Characters():
            yield node
        case Anchor():
            return
        case Sequence():
            for part in node.parts:
                yield from sets_of(part)
        case Choice():
            for branch in node.branches:
                yield from sets_of(branch)
        case Repeat():
            yield from sets_of(node.node)


class Automaton:
    """The texts that a tree without anchors matches as a whole."""

    def __init__(self, tree: PatternNode, alphabet: Alphabet, *, max_positions: int) -> None:
        self._alphabet = alphabet
        self._max_positions = max_positions
        # Of each position: where it leads without a character, and by which groups to which position.
        self._free: list[list[int]] = []
        self._steps: list[list[tuple[frozenset[int], int]]] = []
        start, self._end = self._position(), self._position()
        self._build(tree, start, self._end)
        self.start = self._closure({start})
        self._known: dict[tuple[State, int], State] = {}

    def accepts(self, state: State) -> bool:
        """Whether the text read so far is one of the texts."""
        return self._end in state

    def next(self, state: State, group: int) -> State:
        """The state after one more character.

        Raises:
            BudgetSpentError: more states than a pattern may have.
        """
        key = (state, group)
        if key not in self._known:
            if len(self._known) > self._max_positions * 64:
                raise BudgetSpentError("max_automaton_states")
            targets = {target for position in state for groups, target in self._steps[position] if group in groups}
            self._known[key] = self._closure(targets)
        return self._known[key]

    def _position(self) -> int:
        if len(self._free) >= self._max_positions:
            raise PatternTooLargeError
        self._free.append([])
        self._steps.append([])
        return len(self._free) - 1

    def _closure(self, positions: set[int]) -> State:
        reached = set(positions)
        pending = list(positions)
        while pending:
            for target in self._free[pending.pop()]:
                if target not in reached:
                    reached.add(target)
                    pending.append(target)
        # Positions that only lead on without a character carry nothing by themselves.
        return frozenset(p for p in reached if self._steps[p] or p == self._end)

    def _build(self, node: PatternNode, start: int, end: int) -> None:
        match node:
            case Characters():
                self._steps[start].append((self._alphabet.groups_of(node), end))
            case Anchor():
                raise AssertionError(node)
            case Sequence(parts=parts):
                at = start
                for part in parts:
                    after = self._position()
                    self._build(part, at, after)
                    at = after
                self._free[at].append(end)
            case Choice(branches=branches):
                for branch in branches:
                    first, last = self._position(), self._position()
                    self._free[start].append(first)
                    self._build(branch, first, last)
                    self._free[last].append(end)
            case Repeat():
                self._repeat(node, start, end)

    def _repeat(self, repeat: Repeat, start: int, end: int) -> None:
        at = start
        for _ in range(repeat.minimum):
            after = self._position()
            self._build(repeat.node, at, after)
            at = after
        if repeat.maximum is None:
            loop, back = self._position(), self._position()
            self._free[at].append(loop)
            self._build(repeat.node, loop, back)
            self._free[back].append(loop)
            self._free[loop].append(end)
            return
        for _ in range(repeat.maximum - repeat.minimum):
            # Its own position, so that a loop that ends here cannot be entered again from behind.
            first, after = self._position(), self._position()
            self._free[at].extend((first, end))
            self._build(repeat.node, first, after)
            at = after
        self._free[at].append(end)


class WordList:
    """Finitely many texts, as an automaton with the same questions; its states are single places in a tree of them."""

    def __init__(self, words: frozenset[str], alphabet: Alphabet) -> None:
        self._next: list[dict[int, int]] = [{}]
        self._ends: set[int] = set()
        groups: dict[str, int] = {}
        for word in sorted(words):
            at = 0
            for character in word:
                group = groups.setdefault(character, -1)
                if group < 0:
                    group = groups[character] = alphabet.group_of(character)
                if group not in self._next[at]:
                    self._next[at][group] = len(self._next)
                    self._next.append({})
                at = self._next[at][group]
            self._ends.add(at)
        self.start: State = frozenset({0})

    def accepts(self, state: State) -> bool:
        """Whether the text read so far is one of the texts."""
        return not self._ends.isdisjoint(state)

    def next(self, state: State, group: int) -> State:
        """The state after one more character."""
        return frozenset(self._next[at][group] for at in state if group in self._next[at])
