"""A pattern's tree without some characters: an engine that cannot write a character must not be asked for it."""

from collections.abc import Callable
from typing import Final

from registry.pattern_syntax import (
    Anchor,
    Characters,
    Choice,
    CodePointRanges,
    PatternNode,
    Repeat,
    Sequence,
    complement,
)

_WITH_CONTROLS: Final = frozenset({"Cc", "Common"})
"""The shared Unicode properties that hold U+0000 to U+001F and U+007F; no other holds one of them."""


def without_controls(node: PatternNode, removed: Callable[[Characters], CodePointRanges]) -> PatternNode:
    """The texts of `node`'s language in which no set is asked for a character that `removed` names for it.

    `removed` answers per set with sorted ranges, apart, out of U+0000 to U+001F and U+007F. A set that has nothing
    left never matches.
    """
    match node:
        case Characters():
            return _narrowed(node, removed(node))
        case Anchor():
            return node
        case Sequence():
            return Sequence(parts=tuple(without_controls(part, removed) for part in node.parts))
        case Choice():
            return Choice(branches=tuple(without_controls(branch, removed) for branch in node.branches))
        case Repeat():
            inner = without_controls(node.node, removed)
            return Repeat(node=inner, minimum=node.minimum, maximum=node.maximum)


def holds(characters: Characters, code_point: int) -> bool:
    """Whether a set without Unicode classes holds the character."""
    return any(low <= code_point <= high for low, high in characters.ranges) != characters.negated


def _narrowed(node: Characters, removed: CodePointRanges) -> PatternNode:
    if not removed:
        return node
    kept = complement(removed)
    if node.negated:
        others = _common(complement(node.ranges), kept)
        return Characters(ranges=complement(others), classes=node.classes, negated=True)
    ranges = _common(node.ranges, kept)
    plain = tuple(name for name in node.classes if not _has_controls(name))
    parts: list[PatternNode] = [Characters(ranges=ranges, classes=plain)] if ranges or plain else []
    # `\p{X}` without some characters is everything but `\P{X}` and these.
    parts += [
        Characters(ranges=removed, classes=(_opposite(name),), negated=True)
        for name in node.classes
        if _has_controls(name)
    ]
    match parts:
        case []:
            return Characters()
        case [part]:
            return part
        case _:
            return Choice(branches=tuple(parts))


def _has_controls(name: str) -> bool:
    return (name[3:-1] in _WITH_CONTROLS) == (name[1] == "p")


def _opposite(name: str) -> str:
    return f"\\{'P' if name[1] == 'p' else 'p'}{name[2:]}"


def _common(left: CodePointRanges, right: CodePointRanges) -> CodePointRanges:
    """The code points of both; each is sorted and apart."""
    common: list[tuple[int, int]] = []
    for low, high in left:
        common += [(max(low, first), min(high, last)) for first, last in right if first <= high and last >= low]
    return tuple(common)
