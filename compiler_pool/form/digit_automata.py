"""Deterministic automata over the characters of numbers, as small as they can be."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

CHARACTERS: Final = "0123456789."

State = TypeVar("State", bound=Hashable)


class TooManyStatesError(Exception):
    """An automaton would have more states than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DigitAutomaton:
    """States by number, the first is the start. Every state is reached and leads to a final one; none if none does."""

    moves: tuple[dict[str, int], ...]
    finals: frozenset[int]


def explored(
    start: State,
    row: Callable[[State], Iterable[State | None]],
    is_final: Callable[[State], bool],
    *,
    max_states: int,
) -> DigitAutomaton:
    """The automaton of everything reached from a state; `row` tells what reading each of `CHARACTERS` leads to (`None`:
    nowhere).

    Raises `TooManyStatesError`.
    """
    order, moves = reached(start, row, max_states=max_states)
    finals = {number for number, state in enumerate(order) if is_final(state)}
    return _minimal(*_live(moves, finals))


def reached(
    start: State, row: Callable[[State], Iterable[State | None]], *, max_states: int
) -> tuple[list[State], list[dict[str, int]]]:
    """All states reached from one, and the moves of each. Raises `TooManyStatesError`."""
    numbers: dict[State, int] = {start: 0}
    order = [start]
    moves: list[dict[str, int]] = []
    for state in order:
        found: dict[str, int] = {}
        for character, target in zip(CHARACTERS, row(state), strict=True):
            if target is None:
                continue
            if target not in numbers:
                if len(numbers) >= max_states:
                    raise TooManyStatesError
                numbers[target] = len(order)
                order.append(target)
            found[character] = numbers[target]
        moves.append(found)
    return order, moves


class Rows(Generic[State]):
    """Rows of a reading that goes character by character, each worked out once."""

    __slots__ = ("_known", "_read")

    def __init__(self, read: Callable[[State, str], State]) -> None:
        self._read = read
        self._known: dict[State, tuple[State, ...]] = {}

    def of(self, state: State) -> tuple[State, ...]:
        """What reading each of `CHARACTERS` leads to."""
        row = self._known.get(state)
        if row is None:
            row = self._known[state] = tuple(self._read(state, character) for character in CHARACTERS)
        return row


def _live(moves: list[dict[str, int]], finals: set[int]) -> tuple[list[dict[str, int]], set[int]]:
    """Without the moves into states from which no final one is reached. Such states are left without any."""
    sources: dict[int, list[int]] = {}
    for source, targets in enumerate(moves):
        for target in targets.values():
            sources.setdefault(target, []).append(source)
    live, pending = set(finals), list(finals)
    while pending:
        for source in sources.get(pending.pop(), ()):
            if source not in live:
                live.add(source)
                pending.append(source)
    return [{char: target for char, target in found.items() if target in live} for found in moves], finals


def _minimal(moves: list[dict[str, int]], finals: set[int]) -> DigitAutomaton:
    """States that nothing tells apart made one, by splitting until nothing splits; numbered from the start on."""
    block = [int(state in finals) for state in range(len(moves))]
    num_blocks = len(set(block))
    while True:
        seen: dict[tuple[int, tuple[tuple[str, int], ...]], int] = {}
        refined = [
            seen.setdefault((block[at], tuple((char, block[target]) for char, target in found.items())), len(seen))
            for at, found in enumerate(moves)
        ]
        if len(seen) == num_blocks:
            break
        block, num_blocks = refined, len(seen)
    order: dict[int, int] = {block[0]: 0}
    chosen = {block[at]: at for at in reversed(range(len(moves)))}
    pending = [block[0]]
    merged: list[dict[str, int]] = []
    for each in pending:
        found = {}
        for char, target in moves[chosen[each]].items():
            if block[target] not in order:
                order[block[target]] = len(order)
                pending.append(block[target])
            found[char] = order[block[target]]
        merged.append(found)
    ends = frozenset(number for each, number in order.items() if chosen[each] in finals)
    return DigitAutomaton(moves=tuple(merged), finals=ends)
