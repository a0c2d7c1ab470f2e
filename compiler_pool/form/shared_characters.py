"""Languages without a common text, told by their characters alone: what one needs, another has nowhere, or not last.

A format and a search for something that it never holds are the usual case. Their automata would be walked to the last
state to find that out.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Several
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from compiler_pool.form.languages import Among, Both, Either, Except, Language, Lengths, Matching
from compiler_pool.form.spending import ExpansionSpending
from registry.algebra.alphabet import code_points
from registry.pattern_syntax import (
    ANY,
    Anchor,
    Characters,
    Choice,
    CodePointRanges,
    PatternNode,
    Repeat,
    Sequence,
)

_MAX_ROUNDS: Final = 3
"""What is left of one language leaves less of another; more than a few turns find nothing new."""
_NODES_PER_STEP: Final = 64
"""Nodes of a tree that are looked at for about as much as one step."""
_MAX_WORDS: Final = 64
"""Longer lists are taken to hold anything: who lists words has them looked up one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """What texts are made of, at most: all their characters, the last ones, and whether the empty text is there."""

    characters: CodePointRanges
    last: CodePointRanges
    has_empty: bool


_NO_TEXT: Final = _Texts(characters=(), last=(), has_empty=False)


def share_no_text(languages: Several[Language], spending: ExpansionSpending) -> bool:
    """Whether plainly no text is in all of the languages; False leaves it open. Raises `ExpansionSpentError`."""
    telling = [language for language in languages if not isinstance(language, Lengths | Except)]
    if len(telling) < 2:
        return False
    allowed = ANY.ranges
    for _ in range(_MAX_ROUNDS):
        texts = _common_texts([_texts(language, allowed, spending) for language in telling], allowed)
        if texts == _NO_TEXT:
            return True
        if texts.characters == allowed:
            return False
        allowed = texts.characters
    return False


def _texts(language: Language, allowed: CodePointRanges, spending: ExpansionSpending) -> _Texts:
    """Of the texts of a language that have allowed characters only."""
    match language:
        case Matching(tree=tree):
            return _texts_of_tree(tree, allowed, spending)
        case Among(texts=words) if len(words) <= _MAX_WORDS:
            return _united([_texts_of_tree(_word(word), allowed, spending) for word in words])
        case Both(parts=parts):
            return _common_texts([_texts(part, allowed, spending) for part in parts], allowed)
        case Either(parts=parts):
            return _united([_texts(part, allowed, spending) for part in parts])
        case Among() | Lengths() | Except():
            return _Texts(characters=allowed, last=allowed, has_empty=True)


def _common_texts(each: Iterable[_Texts], allowed: CodePointRanges) -> _Texts:
    """Of texts that are in all of some languages."""
    characters, last, has_empty = allowed, allowed, True
    for texts in each:
        characters, last = _common(characters, texts.characters), _common(last, texts.last)
        has_empty = has_empty and texts.has_empty
    last = _common(last, characters)
    return _Texts(characters=characters if last else (), last=last, has_empty=has_empty)


def _united(each: Several[_Texts]) -> _Texts:
    return _Texts(
        characters=_union(texts.characters for texts in each),
        last=_union(texts.last for texts in each),
        has_empty=any(texts.has_empty for texts in each),
    )


def _word(text: str) -> PatternNode:
    return Sequence(parts=tuple(Characters(ranges=((ord(character),) * 2,)) for character in text))


def _texts_of_tree(tree: PatternNode, allowed: CodePointRanges, spending: ExpansionSpending) -> _Texts:
    if allowed == ANY.ranges:
        return _all_texts(tree)
    reading = _Reading(allowed)
    texts = reading.texts(tree)
    spending.step(reading.num_nodes // _NODES_PER_STEP)
    return texts


@lru_cache(maxsize=512)
def _all_texts(tree: PatternNode) -> _Texts:
    """The same trees are held against others again and again."""
    return _Reading(ANY.ranges).texts(tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sets:
    """The same by the sets of a tree, which has few different ones."""

    all: frozenset[Characters] = frozenset()
    last: frozenset[Characters] = frozenset()
    has_empty: bool = False


class _Reading:
    """One reading of a tree for the texts that have allowed characters only."""

    def __init__(self, allowed: CodePointRanges) -> None:
        self._allowed = allowed
        self._held: dict[Characters, CodePointRanges] = {}
        self.num_nodes = 0

    def texts(self, tree: PatternNode) -> _Texts:
        """What they are made of."""
        sets = self._sets(tree)
        if sets is None:
            return _NO_TEXT
        return _Texts(
            characters=_union(map(self._within, sets.all)),
            last=_union(map(self._within, sets.last)),
            has_empty=sets.has_empty,
        )

    def _sets(self, node: PatternNode) -> _Sets | None:
        """`None` if there are no such texts."""
        self.num_nodes += 1
        match node:
            case Characters():
                own = frozenset({node})
                return _Sets(all=own, last=own) if self._within(node) else None
            case Sequence(parts=parts):
                return self._sequence(parts)
            case Choice(branches=branches):
                each = [sets for sets in map(self._sets, branches) if sets is not None]
                return (
                    None
                    if not each
                    else _Sets(
                        all=frozenset[Characters]().union(*(sets.all for sets in each)),
                        last=frozenset[Characters]().union(*(sets.last for sets in each)),
                        has_empty=any(sets.has_empty for sets in each),
                    )
                )
            case Repeat(node=inner, minimum=minimum, maximum=maximum):
                sets = self._sets(inner) if maximum != 0 else None
                if sets is None:
                    return _Sets(has_empty=True) if minimum == 0 else None
                return _Sets(all=sets.all, last=sets.last, has_empty=sets.has_empty or minimum == 0)
            case Anchor():
                raise AssertionError(node)

    def _sequence(self, parts: tuple[PatternNode, ...]) -> _Sets | None:
        every, last, has_empty = frozenset[Characters](), frozenset[Characters](), True
        for part in parts:
            sets = self._sets(part)
            if sets is None:
                return None
            every |= sets.all
            last = last | sets.last if sets.has_empty else sets.last
            has_empty = has_empty and sets.has_empty
        return _Sets(all=every, last=last, has_empty=has_empty)

    def _within(self, characters: Characters) -> CodePointRanges:
        """The allowed ones of a set."""
        if characters not in self._held:
            self._held[characters] = _common(code_points(characters), self._allowed)
        return self._held[characters]


def _union(each: Iterable[CodePointRanges]) -> CodePointRanges:
    return code_points(Characters(ranges=tuple(pair for ranges in each for pair in ranges)))


def _common(one: CodePointRanges, other: CodePointRanges) -> CodePointRanges:
    """The code points of both; each is sorted and apart."""
    common: list[tuple[int, int]] = []
    left, right = 0, 0
    while left < len(one) and right < len(other):
        low, high = max(one[left][0], other[right][0]), min(one[left][1], other[right][1])
        if low <= high:
            common.append((low, high))
        if one[left][1] < other[right][1]:
            left += 1
        else:
            right += 1
    return tuple(common)
