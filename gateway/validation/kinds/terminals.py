"""The regular parts of grammars, as sets of texts that can be asked where they end."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from gateway.validation.kinds.reading import Reading, Terminal
from registry.algebra.alphabet import Alphabet, code_points, matched_code_points
from registry.algebra.automata import DEAD, Automaton, sets_of
from registry.algebra.budgeting import SolverBudget, Spending
from registry.pattern_syntax import Anchor, Characters, Choice, CodePointRanges, PatternNode, Repeat, Sequence
from registry.patterns import write_pattern

_MAX_POSITIONS: Final = 100_000
"""Of one automaton; the judging process's time and memory are bounded from outside."""
_AFTER_CASES: Final = 0x1F000
"""No character from here on has cases. Looking at all the others takes a millisecond for each set."""
_STEPS: Final = SolverBudget(max_steps=10**12, max_automaton_states=_MAX_POSITIONS)


class Pattern:
    """What a tree without anchors matches as a whole, in any case of its letters if `ignore_case`."""

    def __init__(self, tree: PatternNode, *, ignore_case: bool = False) -> None:
        whole = _in_any_case(tree) if ignore_case else tree
        self._alphabet = Alphabet(dict.fromkeys(sets_of(whole)))
        self._automaton = Automaton(whole, self._alphabet, max_positions=_MAX_POSITIONS, spending=Spending(_STEPS))

    def ends(self, reading: Reading, start: int) -> int:
        """By running the automaton until it is dead."""
        automaton, state, text = self._automaton, self._automaton.start, reading.text
        found = 1 << start if automaton.accepts(state) else 0
        for at in range(start, len(text)):
            state = automaton.next(state, self._alphabet.group_of(text[at]))
            if state == DEAD:
                break
            if automaton.accepts(state):
                found |= 1 << (at + 1)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """One text."""

    text: str

    def ends(self, reading: Reading, start: int) -> int:
        """One place or none."""
        return 1 << (start + len(self.text)) if reading.text.startswith(self.text, start) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InARow:
    """A text of each part, one after the other."""

    parts: tuple[Terminal, ...]

    def ends(self, reading: Reading, start: int) -> int:
        """Part by part."""
        found = 1 << start
        for part in self.parts:
            found = reading.ends_after(part, found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class InAll:
    """Texts that are in all parts."""

    parts: tuple[Terminal, ...]

    def ends(self, reading: Reading, start: int) -> int:
        """Where all end."""
        found = reading.all_from(start)
        for part in self.parts:
            found &= reading.ends(part, start)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class InAny:
    """Texts that are in any part."""

    parts: tuple[Terminal, ...]

    def ends(self, reading: Reading, start: int) -> int:
        """Where any ends."""
        found = 0
        for part in self.parts:
            found |= reading.ends(part, start)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Texts that are not in the part."""

    part: Terminal

    def ends(self, reading: Reading, start: int) -> int:
        """Everywhere else."""
        return reading.all_from(start) & ~reading.ends(self.part, start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """`minimum` to `maximum` texts of the part (`None`: without bound)."""

    part: Terminal
    minimum: int
    maximum: int | None

    def ends(self, reading: Reading, start: int) -> int:
        """Turn by turn, until a turn finds nothing new."""
        found = 1 << start
        for _ in range(self.minimum):
            found = reading.ends_after(self.part, found)
        new, turns = found, 0
        while new and (self.maximum is None or turns < self.maximum - self.minimum):
            new = reading.ends_after(self.part, new) & ~found
            found |= new
            turns += 1
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortest:
    """Of the part's texts that begin at one place, the shortest; then, where `then` is given, the first text of it
    that can follow one of the part's."""

    part: Terminal
    then: Terminal | None = None

    def ends(self, reading: Reading, start: int) -> int:
        """One place or none."""
        found = reading.ends(self.part, start)
        if self.then is not None:
            found = reading.ends_after(self.then, found)
        return found & -found


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Neighbouring pieces out of a list, any number of them."""

    pieces: tuple[str, ...]

    def ends(self, reading: Reading, start: int) -> int:
        """From each piece on, as far as the text goes along."""
        found = 1 << start
        for first in range(len(self.pieces)):
            at = start
            for piece in self.pieces[first:]:
                if not reading.text.startswith(piece, at):
                    break
                at += len(piece)
                found |= 1 << at
        return found


@dataclass(slots=True, kw_only=True)
class Named:
    """A terminal by its name, which may be defined later."""

    name: str
    defined: dict[str, Terminal] = field(repr=False)

    def ends(self, reading: Reading, start: int) -> int:
        """What it stands for."""
        return reading.ends(self.defined[self.name], start)


def _in_any_case(tree: PatternNode) -> PatternNode:
    match tree:
        case Characters():
            return Characters(ranges=_folded(tree))
        case Anchor():
            return tree
        case Sequence(parts=parts):
            return Sequence(parts=tuple(map(_in_any_case, parts)))
        case Choice(branches=branches):
            return Choice(branches=tuple(map(_in_any_case, branches)))
        case Repeat(node=node, minimum=minimum, maximum=maximum):
            return Repeat(node=_in_any_case(node), minimum=minimum, maximum=maximum)


@lru_cache(maxsize=1024)
def _folded(characters: Characters) -> CodePointRanges:
    """The characters that RE2 takes for one of the set when case does not matter."""
    cased = matched_code_points(f"(?i){write_pattern(characters)}", below=_AFTER_CASES)
    return (*cased, *((max(low, _AFTER_CASES), high) for low, high in code_points(characters) if high >= _AFTER_CASES))
