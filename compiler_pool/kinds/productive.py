"""A grammar without the parts from which no finite text is derived: a mask that led into one would never lead out."""

from collections.abc import Mapping

from compiler_pool.form.emptiness import matches_nothing
from compiler_pool.kinds.texts import (
    Embedded,
    InOrder,
    OneOf,
    Passage,
    Piece,
    Repeated,
    TextGrammar,
    TextNode,
    Use,
    one_of,
    uses,
)


def productive(grammar: TextGrammar) -> TextGrammar | None:
    """The same texts from rules that all have some and are all used. `None`: there are no texts at all."""
    fruitful = _fruitful(grammar.rules)
    if grammar.root not in fruitful:
        return None
    kept: dict[str, TextNode] = {}
    pending = [grammar.root]
    while pending:
        name = pending.pop()
        if name in kept:
            continue
        node = _pruned(grammar.rules[name], fruitful)
        assert node is not None, name
        kept[name] = node
        pending.extend(uses(node))
    return TextGrammar(rules=kept, root=grammar.root)


def _fruitful(rules: Mapping[str, TextNode]) -> set[str]:
    """The rules with a finite text: a least fixpoint. A rule is looked at again when one that it uses is found."""
    users: dict[str, list[str]] = {}
    for name, node in rules.items():
        for used in uses(node):
            users.setdefault(used, []).append(name)
    found: set[str] = set()
    pending = list(rules)
    while pending:
        name = pending.pop()
        if name not in found and _pruned(rules[name], found) is not None:
            found.add(name)
            pending.extend(users.get(name, ()))
    return found


def _pruned(node: TextNode, fruitful: set[str]) -> TextNode | None:
    """The node without alternatives that have no text; `None` where none is left."""
    match node:
        case Piece(tree=tree):
            return None if matches_nothing(tree) else node
        case Passage() | Embedded():
            return node
        case Use(rule=rule):
            return node if rule in fruitful else None
        case InOrder(parts=parts):
            pruned = [_pruned(part, fruitful) for part in parts]
            kept = tuple(part for part in pruned if part is not None)
            return InOrder(parts=kept) if len(kept) == len(parts) else None
        case OneOf(parts=parts):
            kept = tuple(part for part in (_pruned(part, fruitful) for part in parts) if part is not None)
            return one_of(*kept) if kept else None
        case Repeated(part=part, minimum=minimum, maximum=maximum):
            inner = _pruned(part, fruitful)
            if inner is None:
                return InOrder(parts=()) if minimum == 0 else None
            return Repeated(part=inner, minimum=minimum, maximum=maximum)
