"""A search turned into a full match: engines that build texts want the whole string's language, without anchors."""

from collections.abc import Iterator
from typing import Final

from registry.errors import UnsupportedPatternError
from registry.pattern_syntax import ANY, EMPTY, Anchor, Characters, Choice, PatternNode, Repeat, Sequence
from registry.patterns import bounded_tree, write_pattern

MAX_LINES: Final = 256
"""Alternatives that arise where anchors stand inside groups."""

_ANYTHING: Final = Repeat(node=ANY, minimum=0, maximum=None)


def full_match_pattern(pattern: str) -> str:
    """A regex without anchors that matches exactly the whole strings in which `pattern` finds a match.

    Raises `UnsupportedPatternError`, also where an anchor stands so far inside that it would have to be proven idle.
    """
    return write_pattern(full_match_tree(pattern))


def full_match_tree(pattern: str) -> PatternNode:
    """The tree of `full_match_pattern`: it holds no anchor. Raises `UnsupportedPatternError`."""
    lines = [_full_line(parts) for parts in _lines(bounded_tree(pattern))]
    return lines[0] if len(lines) == 1 else Choice(branches=tuple(lines))


def _full_line(parts: tuple[PatternNode, ...]) -> PatternNode:
    first, last = 0, len(parts)
    while first < last and parts[first] == Anchor(at_start=True):
        first += 1
    while last > first and parts[last - 1] == Anchor(at_start=False):
        last -= 1
    body = tuple(part for part in parts[first:last] if part != EMPTY)
    if any(map(_has_anchor, body)):
        raise UnsupportedPatternError(reason="an anchor in the middle of a pattern is not supported", position=0)
    before = () if first else (_ANYTHING,)
    after = () if last < len(parts) or (before and not body) else (_ANYTHING,)
    return Sequence(parts=(*before, *body, *after))


def _lines(root: PatternNode) -> list[tuple[PatternNode, ...]]:
    """The alternatives of `root`, with choices opened as far as anchors at their ends demand."""
    finished: list[tuple[PatternNode, ...]] = []
    pending: list[tuple[PatternNode, ...]] = [(root,)]
    while pending:
        if len(finished) + len(pending) > MAX_LINES:
            raise UnsupportedPatternError(reason="anchors stand in too many alternatives", position=0)
        parts = pending.pop()
        for index in _ends(parts):
            opened = _opened(parts[index])
            if opened is not None:
                pending.extend((*parts[:index], *branch, *parts[index + 1 :]) for branch in reversed(opened))
                break
        else:
            finished.append(parts)
    return finished


def _ends(parts: tuple[PatternNode, ...]) -> Iterator[int]:
    """The first part that is no `^`, and the last that is no `$`: only there can an anchor still be at an end."""
    first = next((i for i, part in enumerate(parts) if part != Anchor(at_start=True)), None)
    last = next((i for i in reversed(range(len(parts))) if parts[i] != Anchor(at_start=False)), None)
    yield from (index for index in (first, last) if index is not None)


def _opened(node: PatternNode) -> list[tuple[PatternNode, ...]] | None:
    if not _has_anchor(node):
        return None
    match node:
        case Choice():
            return [(branch,) for branch in node.branches]
        case Sequence():
            return [node.parts]
        case Repeat(minimum=0, maximum=1):
            return [(EMPTY,), (node.node,)]
        case Repeat(minimum=1, maximum=1):
            return [(node.node,)]
        case _:
            return None


def _has_anchor(node: PatternNode) -> bool:
    match node:
        case Anchor():
            return True
        case Characters():
            return False
        case Sequence():
            return any(map(_has_anchor, node.parts))
        case Choice():
            return any(map(_has_anchor, node.branches))
        case Repeat():
            return _has_anchor(node.node)
