"""Which lexemes can come first, which after which, and which are allowed at the same place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.kinds.texts import (
    Embedded,
    InOrder,
    Leaf,
    OneOf,
    Passage,
    Piece,
    Repeated,
    TextGrammar,
    TextNode,
    Use,
)
from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence

_NONE: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Lexemes by number; sets of them are integers, with one bit for each."""

    leaves: tuple[Leaf, ...]
    first: int
    """Those with which the output can begin."""
    after: tuple[int, ...]
    """Of each, those that can come next."""

    def members(self, mask: int) -> Iterator[int]:
        """The numbers in a set."""
        while mask:
            lowest = mask & -mask
            mask ^= lowest
            yield lowest.bit_length() - 1


def neighbours(grammar: TextGrammar, spending: ExpansionSpending) -> Neighbours:
    """The neighbours in a grammar. Raises `ExpansionSpentError`."""
    return _Finding(grammar, spending).found()


class _Finding:
    def __init__(self, grammar: TextGrammar, spending: ExpansionSpending) -> None:
        self._grammar = grammar
        self._spending = spending
        self._numbers: dict[Leaf, int] = {}
        self._firsts: dict[str, tuple[int, bool]] = dict.fromkeys(grammar.rules, (_NONE, False))
        self._after: dict[int, int] = {}
        self._after_rules: dict[str, int] = dict.fromkeys(grammar.rules, _NONE)

    def found(self) -> Neighbours:
        rules: Mapping[str, TextNode] = self._grammar.rules
        has_changed = True
        while has_changed:
            has_changed = False
            for name, node in rules.items():
                now = self._first(node)
                has_changed |= now != self._firsts[name]
                self._firsts[name] = now
        before: tuple[dict[int, int], dict[str, int]] | None = None
        while before != (self._after, self._after_rules):
            before = dict(self._after), dict(self._after_rules)
            for name, node in rules.items():
                self._follow(node, self._after_rules[name])
        return Neighbours(
            leaves=tuple(self._numbers),
            first=self._firsts[self._grammar.root][0],
            after=tuple(self._after.get(number, _NONE) for number in self._numbers.values()),
        )

    def _first(self, node: TextNode) -> tuple[int, bool]:
        """The lexemes with which a text of the node can begin, and whether it may be empty."""
        self._spending.step()
        match node:
            case Piece() | Passage() | Embedded():
                return 1 << self._numbers.setdefault(node, len(self._numbers)), can_be_empty(node)
            case Use(rule=rule):
                return self._firsts[rule]
            case InOrder(parts=parts):
                return self._in_order(parts)
            case OneOf(parts=parts):
                found = [self._first(part) for part in parts]
                mask = _NONE
                for first, _ in found:
                    mask |= first
                return mask, any(is_empty for _, is_empty in found)
            case Repeated(part=part, minimum=minimum):
                first, is_empty = self._first(part)
                return first, is_empty or minimum == 0

    def _in_order(self, parts: tuple[TextNode, ...]) -> tuple[int, bool]:
        mask = _NONE
        for part in parts:
            first, is_empty = self._first(part)
            mask |= first
            if not is_empty:
                return mask, False
        return mask, True

    def _follow(self, node: TextNode, after: int) -> None:
        """Note that `after` can come after the node."""
        match node:
            case Piece() | Passage() | Embedded():
                number = self._numbers.setdefault(node, len(self._numbers))
                self._after[number] = self._after.get(number, _NONE) | after
            case Use(rule=rule):
                self._after_rules[rule] |= after
            case InOrder(parts=parts):
                for part in reversed(parts):
                    self._follow(part, after)
                    first, is_empty = self._first(part)
                    after = first | after if is_empty else first
            case OneOf(parts=parts):
                for part in parts:
                    self._follow(part, after)
            case Repeated(part=part, maximum=maximum):
                again = self._first(part)[0] if maximum != 1 else _NONE
                self._follow(part, after | again)


def can_be_empty(leaf: Leaf) -> bool:
    """Whether the empty text is among those of the lexeme."""
    match leaf:
        case Piece(tree=tree):
            return _is_nullable(tree)
        case Passage(end=end):
            return end is None
        case Embedded():
            return False


def _is_nullable(tree: PatternNode) -> bool:
    match tree:
        case Characters():
            return False
        case Anchor():
            return True
        case Sequence(parts=parts):
            return all(map(_is_nullable, parts))
        case Choice(branches=branches):
            return any(map(_is_nullable, branches))
        case Repeat(node=node, minimum=minimum):
            return minimum == 0 or _is_nullable(node)


def fixed_text(leaf: Leaf) -> str | None:
    """The one text of a lexeme that has one alone, written character by character."""
    if not isinstance(leaf, Piece):
        return None
    parts = leaf.tree.parts if isinstance(leaf.tree, Sequence) else (leaf.tree,)
    found: list[str] = []
    for part in parts:
        if not isinstance(part, Characters) or part.negated or part.classes or len(part.ranges) != 1:
            return None
        low, high = part.ranges[0]
        if low != high:
            return None
        found.append(chr(low))
    return "".join(found) or None


def first_characters(tree: PatternNode) -> tuple[Characters, ...]:
    """The sets out of which a text of the tree can begin; more than those where one of them is empty."""
    match tree:
        case Characters():
            return (tree,)
        case Anchor():
            return ()
        case Sequence(parts=parts):
            found: dict[Characters, None] = {}
            for part in parts:
                found.update(dict.fromkeys(first_characters(part)))
                if not _is_nullable(part):
                    break
            return tuple(found)
        case Choice(branches=branches):
            return tuple(dict.fromkeys(each for branch in branches for each in first_characters(branch)))
        case Repeat(node=node):
            return first_characters(node)
