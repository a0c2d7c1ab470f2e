"""`^` and `$` taken out of a pattern, wherever they stand: by what they ask of the text before and after a part.

A part of a pattern matches some words on the condition that nothing stands before them, or nothing after them, or
both. These four languages of a part follow from those of its own parts, so that an anchor in the middle, in a branch
or under a repeat needs no rule of its own: where it can never hold, its language is empty.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from registry.errors import UnsupportedPatternError
from registry.pattern_syntax import EMPTY, Anchor, Characters, Choice, PatternNode, Repeat, Sequence

MAX_GROWTH: Final = 10_000
"""Nodes that trees may have beyond those of the pattern; without a bound they grow with its square."""


class Condition(NamedTuple):
    """What a match asks of the text around it."""

    nothing_before: bool
    nothing_after: bool


FREE: Final = Condition(nothing_before=False, nothing_after=False)
AT_START: Final = Condition(nothing_before=True, nothing_after=False)
AT_END: Final = Condition(nothing_before=False, nothing_after=True)
ALONE: Final = Condition(nothing_before=True, nothing_after=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """Words of a part: a tree without anchors, its size in nodes, and whether the empty word is among them."""

    tree: PatternNode
    size: int
    is_nullable: bool


_Conditional = Mapping[Condition, _Words]
_NO_WORD: Final = _Words(tree=EMPTY, size=1, is_nullable=True)


def conditional_trees(pattern: PatternNode) -> dict[Condition, PatternNode]:
    """The words that a pattern matches on each condition, as trees without anchors; others are absent.

    Raises `UnsupportedPatternError` where these trees are too large.
    """
    words = _Conditions(_size(pattern) + MAX_GROWTH).of(pattern)
    return {condition: each.tree for condition, each in words.items()}


def has_anchor(node: PatternNode) -> bool:
    """Whether `^` or `$` stands anywhere in a tree."""
    match node:
        case Anchor():
            return True
        case Characters():
            return False
        case Sequence(parts=parts):
            return any(map(has_anchor, parts))
        case Choice(branches=branches):
            return any(map(has_anchor, branches))
        case Repeat(node=inner):
            return has_anchor(inner)


class _Conditions:
    """The words of parts on each condition, within a size."""

    def __init__(self, max_nodes: int) -> None:
        self._max_nodes = max_nodes

    def of(self, node: PatternNode) -> _Conditional:
        if not has_anchor(node):
            # As it is written: canonical texts are made from these trees.
            return {FREE: _Words(tree=node, size=self._bounded(_size(node)), is_nullable=_is_nullable(node))}
        match node:
            case Characters():
                raise AssertionError(node)
            case Anchor(at_start=at_start):
                return {AT_START if at_start else AT_END: _NO_WORD}
            case Sequence(parts=parts):
                words: _Conditional = {FREE: _NO_WORD}
                for is_anchored, group in groupby(parts, has_anchor):
                    run = tuple(group)
                    for part in run if is_anchored else (Sequence(parts=run),):
                        words = self._then(words, self.of(part))
                return words
            case Choice(branches=branches):
                each = [self.of(branch) for branch in branches]
                return self._united((condition, words) for branch in each for condition, words in branch.items())
            case Repeat():
                return self._united(self._repeated(self.of(node.node), node))

    def _then(self, left: _Conditional, right: _Conditional) -> _Conditional:
        """One after the other: what asks for nothing before it has an empty word there, and the other way round."""
        pairs = []
        for first, before in left.items():
            for second, after in right.items():
                if (second.nothing_before and not before.is_nullable) or (
                    first.nothing_after and not after.is_nullable
                ):
                    continue
                one = _NO_WORD if second.nothing_before else before
                two = _NO_WORD if first.nothing_after else after
                condition = Condition(
                    nothing_before=first.nothing_before or second.nothing_before,
                    nothing_after=first.nothing_after or second.nothing_after,
                )
                pairs.append((condition, self._joined(one, two)))
        return self._united(pairs)

    def _repeated(self, inner: _Conditional, repeat: Repeat) -> Iterable[tuple[Condition, _Words]]:
        """Turns of a repeat: what asks for nothing before it is the first that has a word, and its like the last."""
        free, first, last, alone = (inner.get(condition) for condition in (FREE, AT_START, AT_END, ALONE))
        # Empty turns go before the first word, or after the last, and count as turns.
        idle_first = any(words is not None and words.is_nullable for words in (free, first))
        idle_last = any(words is not None and words.is_nullable for words in (free, last))
        if repeat.minimum == 0 or free is not None:
            yield FREE, self._turns(free, repeat, 0, is_idle=False) or _NO_WORD
        if repeat.maximum == 0:
            return
        rest = self._turns(free, repeat, 1, is_idle=idle_first)
        if first is not None and rest is not None:
            yield AT_START, self._joined(first, rest)
        rest = self._turns(free, repeat, 1, is_idle=idle_last)
        if last is not None and rest is not None:
            yield AT_END, self._joined(rest, last)
        rest = self._turns(free, repeat, 2, is_idle=idle_first or idle_last)
        if first is not None and last is not None and rest is not None and repeat.maximum != 1:
            yield ALONE, self._joined(self._joined(first, rest), last)
        if alone is not None and (repeat.minimum <= 1 or idle_first or idle_last):
            yield ALONE, alone
        elif alone is not None and alone.is_nullable:
            yield ALONE, _NO_WORD

    def _turns(self, free: _Words | None, repeat: Repeat, num_taken: int, *, is_idle: bool) -> _Words | None:
        """The turns of a repeat that ask for nothing, when `num_taken` others do; `None` where too few are left."""
        minimum = 0 if is_idle else max(repeat.minimum - num_taken, 0)
        if free is None:
            return _NO_WORD if minimum == 0 else None
        maximum = None if repeat.maximum is None else max(repeat.maximum - num_taken, 0)
        if maximum is not None and maximum < minimum:
            return None
        return _Words(
            tree=Repeat(node=free.tree, minimum=minimum, maximum=maximum),
            size=self._bounded(free.size + 1),
            is_nullable=minimum == 0 or free.is_nullable,
        )

    def _joined(self, left: _Words, right: _Words) -> _Words:
        if EMPTY in (left.tree, right.tree):
            return right if left.tree == EMPTY else left
        return _Words(
            tree=Sequence(parts=(*_parts(left.tree), *_parts(right.tree))),
            size=self._bounded(left.size + right.size + 1),
            is_nullable=left.is_nullable and right.is_nullable,
        )

    def _united(self, pairs: Iterable[tuple[Condition, _Words]]) -> _Conditional:
        by_condition: dict[Condition, list[_Words]] = {}
        for condition, words in pairs:
            by_condition.setdefault(condition, []).append(words)
        return {condition: self._either(words) for condition, words in by_condition.items()}

    def _either(self, words: list[_Words]) -> _Words:
        if len(words) > 1:
            words = list(dict.fromkeys(words))
        if len(words) == 1:
            return words[0]
        return _Words(
            tree=Choice(branches=tuple(each.tree for each in words)),
            size=self._bounded(sum(each.size for each in words) + 1),
            is_nullable=any(each.is_nullable for each in words),
        )

    def _bounded(self, size: int) -> int:
        if size > self._max_nodes:
            raise UnsupportedPatternError(reason="anchors stand in too many alternatives", position=0)
        return size


def _parts(tree: PatternNode) -> tuple[PatternNode, ...]:
    return tree.parts if isinstance(tree, Sequence) else (tree,)


def _size(node: PatternNode) -> int:
    match node:
        case Characters() | Anchor():
            return 1
        case Sequence(parts=parts):
            return 1 + sum(map(_size, parts))
        case Choice(branches=branches):
            return 1 + sum(map(_size, branches))
        case Repeat(node=inner):
            return 1 + _size(inner)


def _is_nullable(node: PatternNode) -> bool:
    """Whether a tree without anchors matches the empty word."""
    match node:
        case Characters() | Anchor():
            return False
        case Sequence(parts=parts):
            return all(map(_is_nullable, parts))
        case Choice(branches=branches):
            return any(map(_is_nullable, branches))
        case Repeat(node=inner, minimum=minimum):
            return minimum == 0 or _is_nullable(inner)
