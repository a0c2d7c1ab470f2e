"""Lexemes that change nothing: the engine's longest match then reads exactly the texts that the grammar means.

A text is generated if the longest match at each place is a lexeme of some derivation. That is so for all texts if no
lexeme, with a character that can come after it, is the beginning of a lexeme that is allowed at the same place. Where
it is not so, the longer one is taken apart; single characters are never too long. Nothing is ever added: whatever the
engine reads is a derivation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.languages import Both, Matching
from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.kinds.condensing import Condenser, with_pieces_apart
from compiler_pool.kinds.neighbours import Neighbours, first_characters, fixed_text, neighbours
from compiler_pool.kinds.texts import Embedded, Leaf, Passage, Piece, TextGrammar
from registry.algebra.alphabet import code_points
from registry.pattern_syntax import ANY, MAX_CODE_POINT, Characters, CodePointRanges, PatternNode, Repeat
from registry.pattern_syntax import Sequence as InSequence

_ANYTHING: Final = Repeat(node=ANY, minimum=0, maximum=None)
_EVERY_CHARACTER: Final[CodePointRanges] = ((0, MAX_CODE_POINT),)
_IN_NUMBERS: Final = frozenset("0123456789.eE+-")
_PAIRS_PER_STEP: Final = 16
_STEPS_PER_QUESTION: Final = 3
"""Of whether two lexemes get in each other's way: a tenth of a millisecond even where the answer is plain."""
_NUMBER_STARTS: Final = frozenset("-0123456789")


class CannotBeToldApartError(Exception):
    """Two parts of a contract are allowed at one place, and a text does not show where one ends or which it is.

    `pointer` leads to the one that the contract's author can change.
    """

    def __init__(self, reason: str, pointer: str) -> None:
        super().__init__(reason)
        self.reason, self.pointer = reason, pointer


def with_lexemes(grammar: TextGrammar, spending: ExpansionSpending) -> TextGrammar:
    """The same texts, in pieces that may each be one lexeme. Every rule of `grammar` has a finite text.

    Raises `CannotBeToldApartError`, `ExpansionSpentError`.
    """
    condensed = Condenser(grammar, spending).condensed()
    lexing = _Lexing(spending)
    apart: set[PatternNode] = set()
    while True:
        kept = frozenset(apart)
        rules = {name: with_pieces_apart(node, kept) for name, node in condensed.rules.items()}
        found = TextGrammar(rules=rules, root=condensed.root)
        too_long = lexing.too_long(neighbours(found, spending))
        if not too_long:
            return found
        apart |= too_long


class _Lexing:
    """Answers that hold for any grammar are kept from one attempt to the next."""

    def __init__(self, spending: ExpansionSpending) -> None:
        self._spending = spending
        self._starts: dict[Leaf, CodePointRanges] = {}
        self._overtakes: dict[tuple[PatternNode, CodePointRanges, PatternNode], bool] = {}
        self._shares: dict[tuple[PatternNode, PatternNode], bool] = {}

    def too_long(self, found: Neighbours) -> set[PatternNode]:
        """Pieces that can swallow what comes after a shorter one."""
        following = [self._union(found, mask) for mask in found.after]
        fixed = {number: text for number, leaf in enumerate(found.leaves) if (text := fixed_text(leaf)) is not None}
        too_long: set[PatternNode] = set()
        for left, right in self._meetings(found, fixed):
            too_long |= self._swallowing_texts(found, left | right, fixed, following)
            for one, other in self._pairs(found, left, right, fixed):
                for short, long in {(one, other), (other, one)}:
                    tree = self._swallower(found.leaves[short], following[short], found.leaves[long])
                    if tree is not None:
                        too_long.add(tree)
        return too_long

    def _meetings(self, found: Neighbours, fixed: Mapping[int, str]) -> set[tuple[int, int]]:
        """Sets that are allowed at one place: also what follows two lexemes that have a text in common."""
        pending = [(found.first, found.first), *((mask, mask) for mask in set(found.after))]
        seen: set[tuple[int, int]] = set()
        while pending:
            meeting = pending.pop()
            if meeting in seen:
                continue
            seen.add(meeting)
            for one, other in self._pairs(found, *meeting, fixed):
                if one != other and self._has_common(found.leaves[one], found.leaves[other]):
                    pending.append((found.after[one], found.after[other]))
        return seen

    def _pairs(self, found: Neighbours, left: int, right: int, fixed: Mapping[int, str]) -> Iterator[tuple[int, int]]:
        """Pairs out of two sets, but for two fixed texts: different ones have none in common."""
        ones, others = [*found.members(left)], [*found.members(right)]
        flexible = [other for other in others if other not in fixed]
        self._spending.step(1 + (len(ones) * len(flexible) + len(others) * len(ones)) // _PAIRS_PER_STEP)
        for one in ones:
            for other in flexible if one in fixed else others:
                if left != right or one <= other or one in fixed:
                    yield one, other

    def _swallowing_texts(
        self, found: Neighbours, mask: int, fixed: Mapping[int, str], following: Sequence[CodePointRanges]
    ) -> set[PatternNode]:
        """Fixed texts that go on where another one ends: in their order, those that begin with one come right after."""
        texts = sorted((fixed[number], number) for number in found.members(mask) if number in fixed)
        too_long: set[PatternNode] = set()
        for at, (text, number) in enumerate(texts):
            for longer, other in texts[at + 1 :]:
                if not longer.startswith(text):
                    break
                self._spending.step()
                leaf = found.leaves[other]
                assert isinstance(leaf, Piece)
                if longer != text and _meet(((ord(longer[len(text)]),) * 2,), following[number]):
                    too_long.add(leaf.tree)
        return too_long

    def _has_common(self, one: Leaf, other: Leaf) -> bool:
        match one, other:
            case Piece(tree=left), Piece(tree=right):
                if not _meet(self._start(one), self._start(other)):
                    return False
                if (left, right) not in self._shares:
                    self._spending.step(_STEPS_PER_QUESTION)
                    common = Both(parts=(Matching(tree=left), Matching(tree=right)))
                    self._shares[left, right] = not is_empty_language(common, self._spending)
                return self._shares[left, right]
            case Passage(end=left), Passage(end=right):
                # Free texts that end otherwise than each other are told apart, or refused.
                return left == right and _region(one) == _region(other)
            case _:
                return _meet(self._start(one), self._start(other))

    def _swallower(self, short: Leaf, following: CodePointRanges, long: Leaf) -> "PatternNode | None":
        """The piece that goes on where `short` should end; `None`: there is none."""
        if not following:
            return None
        match short, long:
            case Piece(tree=left), Piece(tree=right):
                return right if self._is_overtaken(short, left, following, long, right) else None
            case Passage(), Passage():
                if _region(short) != _region(long):
                    _refuse_text(long)
                return None
            case (Passage() as passage, _) | (_, Passage() as passage):
                _refuse_text(passage)
            case Embedded(starts=starts, pointer=pointer), Embedded():
                if _NUMBER_STARTS.intersection(starts) and _meet(following, _ranges(_IN_NUMBERS)):
                    reason = "a number may stand here, and what comes after it could be more of its digits"
                    raise CannotBeToldApartError(reason, pointer)
                return None
            case (Embedded() as json, Piece() as piece) | (Piece() as piece, Embedded() as json):
                if not _meet(self._start(json), self._start(piece)):
                    return None
                if not isinstance(piece.tree, Characters):
                    return piece.tree
                reason = "JSON stands here beside other text that can begin in the same way"
                raise CannotBeToldApartError(reason, json.pointer)
        return None

    def _is_overtaken(
        self, short: Leaf, left: PatternNode, following: CodePointRanges, long: Leaf, right: PatternNode
    ) -> bool:
        if isinstance(right, Characters) or not _meet(self._start(short), self._start(long)):
            return False
        key = (left, following, right)
        if key not in self._overtakes:
            self._spending.step(_STEPS_PER_QUESTION)
            more = InSequence(parts=(left, Characters(ranges=following), _ANYTHING))
            both = Both(parts=(Matching(tree=more), Matching(tree=right)))
            self._overtakes[key] = not is_empty_language(both, self._spending)
        return self._overtakes[key]

    def _start(self, leaf: Leaf) -> CodePointRanges:
        if leaf not in self._starts:
            self._starts[leaf] = _start(leaf)
        return self._starts[leaf]

    def _union(self, found: Neighbours, mask: int) -> CodePointRanges:
        return _merged(each for number in found.members(mask) for each in self._start(found.leaves[number]))


def _start(leaf: Leaf) -> CodePointRanges:
    """The characters that a text of the leaf can begin with, and perhaps more."""
    match leaf:
        case Piece(tree=tree):
            return _merged(each for part in first_characters(tree) for each in code_points(part))
        case Passage():
            return _EVERY_CHARACTER
        case Embedded(starts=starts):
            return _ranges(frozenset(starts))


def _region(passage: Passage) -> tuple[object, ...]:
    """Free texts that end alike, at one of several marks, are told apart by the mark."""
    return passage.marks, passage.excluded, passage.max_characters


def _refuse_text(passage: Passage) -> None:
    reason = "free text stands here beside other text, and nothing shows which of the two it is"
    raise CannotBeToldApartError(reason, passage.pointer)


def _ranges(characters: frozenset[str]) -> CodePointRanges:
    return _merged((ord(character), ord(character)) for character in characters)


def _merged(ranges: Iterable[tuple[int, int]]) -> CodePointRanges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _meet(left: CodePointRanges, right: CodePointRanges) -> bool:
    """Whether two sets have a code point in common; both are sorted and apart."""
    at = 0
    for low, high in left:
        while at < len(right) and right[at][1] < low:
            at += 1
        if at < len(right) and right[at][0] <= high:
            return True
    return False
