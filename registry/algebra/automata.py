"""A pattern as an automaton over groups of characters: states are made as they are reached, and are bounded."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from registry.algebra.alphabet import Alphabet
from registry.algebra.budgeting import BudgetSpentError, Spending
from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence

State: TypeAlias = int
"""The positions that a text read so far can have led to, one bit for each: thousands are a few hundred bytes."""

DEAD: Final[State] = 0

POSITIONS_PER_STEP: Final = 24
"""Positions that are followed, or made, at the cost of about one step."""


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

    def __init__(self, tree: PatternNode, alphabet: Alphabet, *, max_positions: int, spending: Spending) -> None:
        self._alphabet = alphabet
        self._max_positions = max_positions
        self._spending = spending
        self._unpaid = 0
        """Positions that were followed and do not come to a step yet."""
        # Of each position: where it leads without a character, and by which groups to which position.
        self._free: list[list[int]] = []
        self._steps: list[list[tuple[frozenset[int], int]]] = []
        start, self._end = self._position(), self._position()
        self._build(tree, start, self._end)
        self._closed: dict[int, State] = {}
        self.start = self._closure(start)
        self._leads: dict[int, dict[State, State]] = {}
        """By group and position (as the state of it alone), where that leads."""
        self._known: dict[tuple[State, int], State] = {}
        spending.step(len(self._free) // POSITIONS_PER_STEP)

    def accepts(self, state: State) -> bool:
        """Whether the text read so far is one of the texts."""
        return bool(state >> self._end & 1)

    def next(self, state: State, group: int) -> State:
        """The state after one more character.

        Raises:
            BudgetSpentError: more states than a pattern may have, or more effort than is left.
        """
        key = (state, group)
        if key not in self._known:
            if len(self._known) > self._max_positions * 64:
                raise BudgetSpentError("max_automaton_states")
            leads = self._leads.setdefault(group, {})
            reached, left = DEAD, state
            while left:
                lowest = left & -left
                left ^= lowest
                lead = leads.get(lowest)
                if lead is None:
                    lead = leads[lowest] = self._lead(lowest.bit_length() - 1, group)
                reached |= lead
            # What is followed is paid for: a state may be thousands of positions.
            num_steps, self._unpaid = divmod(self._unpaid + 4 + state.bit_count(), POSITIONS_PER_STEP)
            self._spending.step(num_steps)
            self._known[key] = reached
        return self._known[key]

    def _lead(self, position: int, group: int) -> State:
        """Where one position leads by a group."""
        reached = DEAD
        for groups, target in self._steps[position]:
            if group in groups:
                reached |= self._closure(target)
        return reached

    def _position(self) -> int:
        if len(self._free) >= self._max_positions:
            raise PatternTooLargeError
        self._free.append([])
        self._steps.append([])
        return len(self._free) - 1

    def _closure(self, position: int) -> State:
        """All positions that one leads to without a character."""
        if position not in self._closed:
            reached = {position}
            pending = [position]
            while pending:
                for target in self._free[pending.pop()]:
                    if target not in reached:
                        reached.add(target)
                        pending.append(target)
            self._spending.step(len(reached) // POSITIONS_PER_STEP)
            # Positions that only lead on without a character carry nothing by themselves.
            self._closed[position] = sum(1 << p for p in reached if self._steps[p] or p == self._end)
        return self._closed[position]

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
        self.start: State = 1
        """States are places, counted from one."""

    def accepts(self, state: State) -> bool:
        """Whether the text read so far is one of the texts."""
        return state - 1 in self._ends

    def next(self, state: State, group: int) -> State:
        """The state after one more character."""
        return self._next[state - 1].get(group, DEAD - 1) + 1 if state != DEAD else DEAD
