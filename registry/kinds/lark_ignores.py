"""An `%ignore` that lets nearly anything pass: what may stand between lexemes would then be the whole output."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import re2

from registry.kinds.grammar import (
    Alternative,
    Complement,
    Definition,
    EmbeddedSchema,
    Expression,
    Group,
    Item,
    Items,
    Literal,
    Reference,
    Repetition,
    Substring,
)
from registry.pattern_syntax import Anchor, Characters, Choice, PatternNode, Repeat, Sequence
from registry.patterns import write_pattern

_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))
_MOST: Final = len(_PRINTABLE) // 2
"""More of the visible ASCII characters than these may not begin an ignored text."""

First = tuple[frozenset[str], bool]
"""Which visible ASCII characters can begin a text, and whether it can be empty."""
_NOTHING: Final[First] = (frozenset(), True)
_ANYTHING: Final[First] = (frozenset(_PRINTABLE), True)


def ignores_anything(alternatives: tuple[Alternative, ...], terminals: Mapping[str, Definition]) -> bool:
    """Whether most visible characters can begin what is ignored."""
    return len(_alternatives(alternatives, terminals, {})[0]) > _MOST


def _alternatives(
    alternatives: tuple[Alternative, ...], terminals: Mapping[str, Definition], known: dict[str, First]
) -> First:
    found = [_conjunction(alternative, terminals, known) for alternative in alternatives]
    return frozenset().union(*(first for first, _ in found)), any(is_empty for _, is_empty in found)


def _conjunction(alternative: Alternative, terminals: Mapping[str, Definition], known: dict[str, First]) -> First:
    found = [_sequence(items, terminals, known) for items in alternative.conjuncts]
    return frozenset.intersection(*(first for first, _ in found)), all(is_empty for _, is_empty in found)


def _sequence(items: Items, terminals: Mapping[str, Definition], known: dict[str, First]) -> First:
    return _in_a_row([_item(item, terminals, known) for item in items])


def _in_a_row(parts: list[First]) -> First:
    found: frozenset[str] = frozenset()
    for first, is_empty in parts:
        found |= first
        if not is_empty:
            return found, False
    return found, True


def _item(item: Item, terminals: Mapping[str, Definition], known: dict[str, First]) -> First:
    match item:
        case Literal():
            return (frozenset(item.text[:1].lower() + item.text[:1].upper()), False) if item.text else _NOTHING
        case Expression():
            return _pattern(item.node)
        case Reference():
            # Terminals are not recursive and no deeper than the limit on chains: this recursion ends.
            if item.name not in known:
                known[item.name] = _alternatives(terminals[item.name].alternatives, terminals, known)
            return known[item.name]
        case Group():
            return _alternatives(item.alternatives, terminals, known)
        case Repetition():
            first, is_empty = _item(item.item, terminals, known)
            return first, is_empty or item.minimum == 0
        case EmbeddedSchema() | Substring() | Complement():
            return _ANYTHING


def _pattern(node: PatternNode) -> First:
    match node:
        case Characters():
            return _characters(node), False
        case Anchor():
            return _NOTHING
        case Sequence():
            return _in_a_row([_pattern(part) for part in node.parts])
        case Choice():
            found = [_pattern(branch) for branch in node.branches]
            return frozenset().union(*(first for first, _ in found)), any(is_empty for _, is_empty in found)
        case Repeat():
            first, is_empty = _pattern(node.node)
            return first, is_empty or node.minimum == 0


@lru_cache(maxsize=256)
def _characters(node: Characters) -> frozenset[str]:
    # On ASCII, RE2 and Rust mean the same by every set.
    program = re2.compile(write_pattern(node))
    return frozenset(character for character in _PRINTABLE if program.fullmatch(character))
