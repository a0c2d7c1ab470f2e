"""What is regular in a grammar of texts, as few and as large pieces as possible: each will be one lexeme.

Where a piece turns out to swallow what should come after it, it is taken apart again, one level at a time.
"""

from itertools import groupby
from typing import Final

from compiler_pool.form.spending import ExpansionSpending
from compiler_pool.kinds.texts import (
    NOTHING,
    Embedded,
    InOrder,
    OneOf,
    Passage,
    Piece,
    Repeated,
    TextGrammar,
    TextNode,
    Use,
    in_order,
    one_of,
)
from registry.pattern_syntax import EMPTY, Anchor, Characters, Choice, PatternNode, Repeat, Sequence

MAX_PIECE_NODES: Final = 2_000
"""Of one piece's tree; larger ones stay apart, because rules that use rules twice double each time."""


class Condenser:
    """Condenses the rules of one grammar. `whole` grammars only: every rule has a text."""

    def __init__(self, grammar: TextGrammar, spending: ExpansionSpending) -> None:
        self._grammar = grammar
        self._spending = spending
        self._known: dict[str, TextNode | None] = {}
        self._sizes: dict[int, tuple[PatternNode, int]] = {}

    def condensed(self) -> TextGrammar:
        """The same texts. Rules that are one piece stand where they are used."""
        root = self._rule(self._grammar.root)
        rules = {name: node for name, node in self._known.items() if node is not None and not isinstance(node, Piece)}
        return TextGrammar(rules={**rules, self._grammar.root: root}, root=self._grammar.root)

    def _rule(self, name: str) -> TextNode:
        if name not in self._known:
            self._known[name] = None  # under way: who asks meanwhile is part of a recursion
            self._known[name] = self._node(self._grammar.rules[name])
        return self._known[name] or Use(rule=name)

    def _node(self, node: TextNode) -> TextNode:
        self._spending.step()
        match node:
            case Piece() | Passage() | Embedded():
                return node
            case Use(rule=rule):
                found = self._rule(rule)
                return found if isinstance(found, Piece) else node
            case InOrder(parts=parts):
                return self._in_order([self._node(part) for part in parts])
            case OneOf(parts=parts):
                return self._one_of([self._node(part) for part in parts])
            case Repeated(part=part, minimum=minimum, maximum=maximum):
                inner = self._node(part)
                if isinstance(inner, Piece) and self._size(inner.tree) < MAX_PIECE_NODES:
                    return Piece(tree=Repeat(node=inner.tree, minimum=minimum, maximum=maximum))
                return Repeated(part=inner, minimum=minimum, maximum=maximum)

    def _in_order(self, parts: list[TextNode]) -> TextNode:
        """Pieces in a row are one. What was one before stays together within it, for the case that it falls apart."""
        found: list[TextNode] = []
        run: list[PatternNode] = []
        flat = in_order(*parts)
        for part in flat.parts if isinstance(flat, InOrder) else (flat,):
            if isinstance(part, Piece) and self._fits(*run, part.tree):
                run.append(part.tree)
                continue
            found.extend(_joined(run))
            run = [part.tree] if isinstance(part, Piece) else []
            found.extend(() if run else (part,))
        found.extend(_joined(run))
        return found[0] if len(found) == 1 else InOrder(parts=tuple(found)) if found else Piece(tree=EMPTY)

    def _one_of(self, parts: list[TextNode]) -> TextNode:
        flat = one_of(*parts)
        if not isinstance(flat, OneOf):
            return flat
        pieces = [part.tree for part in flat.parts if isinstance(part, Piece)]
        if len(pieces) < 2 or not self._fits(*pieces):
            return flat
        others = [part for part in flat.parts if not isinstance(part, Piece)]
        return one_of(Piece(tree=Choice(branches=tuple(pieces))), *others)

    def _fits(self, *trees: PatternNode) -> bool:
        return sum(map(self._size, trees)) < MAX_PIECE_NODES

    def _size(self, tree: PatternNode) -> int:
        known = self._sizes.get(id(tree))
        if known is None or known[0] is not tree:
            known = self._sizes[id(tree)] = (tree, self._counted(tree))
        return known[1]

    def _counted(self, tree: PatternNode) -> int:
        match tree:
            case Characters() | Anchor():
                return 1
            case Sequence(parts=parts) | Choice(branches=parts):
                return 1 + sum(map(self._size, parts))
            case Repeat(node=node):
                return 1 + self._size(node)


def _joined(run: list[PatternNode]) -> list[TextNode]:
    """The trees as one piece, if there are any."""
    kept = tuple(tree for tree in run if tree != EMPTY)
    return [Piece(tree=kept[0] if len(kept) == 1 else Sequence(parts=kept))] if kept else []


def taken_apart(tree: PatternNode) -> TextNode:
    """The same texts as smaller pieces. A set of characters is as small as it gets."""
    match tree:
        case Characters() | Anchor():
            raise AssertionError(tree)
        case Sequence(parts=parts):
            if all(isinstance(part, Characters) for part in parts):
                return in_order(*(Piece(tree=part) for part in parts))
            runs = groupby(parts, key=lambda part: isinstance(part, Characters))
            return in_order(*(piece for is_text, run in runs for piece in _pieces(tuple(run), is_text=is_text)))
        case Choice(branches=branches):
            return one_of(*(Piece(tree=branch) for branch in branches))
        case Repeat(node=node, minimum=minimum, maximum=maximum):
            return Repeated(part=Piece(tree=node), minimum=minimum, maximum=maximum)


def _pieces(run: tuple[PatternNode, ...], *, is_text: bool) -> list[TextNode]:
    """Characters in a row stay together; of the rest each is a piece."""
    if is_text:
        return [Piece(tree=run[0] if len(run) == 1 else Sequence(parts=run))]
    return [NOTHING if part == EMPTY else Piece(tree=part) for part in run]


def with_pieces_apart(node: TextNode, apart: frozenset[PatternNode]) -> TextNode:
    """The node with every piece in `apart` taken apart, and what it falls into as well."""
    match node:
        case Piece(tree=tree) if tree in apart:
            return with_pieces_apart(taken_apart(tree), apart)
        case Piece() | Passage() | Embedded() | Use():
            return node
        case InOrder(parts=parts):
            return in_order(*(with_pieces_apart(part, apart) for part in parts))
        case OneOf(parts=parts):
            return one_of(*(with_pieces_apart(part, apart) for part in parts))
        case Repeated(part=part, minimum=minimum, maximum=maximum):
            return Repeated(part=with_pieces_apart(part, apart), minimum=minimum, maximum=maximum)
