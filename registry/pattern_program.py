"""A pattern as a program that the validator can run: RE2, linear in the text, bounded in memory.

The compiler asks for it too, before it accepts a contract: a pattern that could be generated but never judged would
be a contract whose every answer fails.
"""

from collections import OrderedDict
from typing import Final

import re2

from registry.errors import UnsupportedPatternError
from registry.pattern_syntax import Choice, PatternNode, Repeat, Sequence
from registry.patterns import bounded_tree, write_pattern

MAX_PROGRAM_BYTES: Final = 2 * 1024 * 1024
"""Per pattern, program and automaton together."""

MAX_KEPT: Final = 32
"""Programs kept per process, the least recently used first to go: 64 MiB at the worst."""

_MAX_REPEAT_PRODUCT: Final = 1_000
"""RE2's own bound on nested counted repeats; what is above it is written as several repeats in a row."""

_MAX_EXPANDED_NODES: Final = 100_000
"""Of a tree whose repeats were written out; few programs of 2 MiB have more."""

_OPTIONS: Final = re2.Options()
_OPTIONS.max_mem = MAX_PROGRAM_BYTES
_OPTIONS.log_errors = False

_kept: "OrderedDict[str, re2._Regexp]" = OrderedDict()


def pattern_program(pattern: str) -> "re2._Regexp":
    """A program whose `search` finds a match exactly where `pattern` does.

    Raises:
        UnsupportedPatternError: it is not in the common syntax, or too large to run.
    """
    if pattern in _kept:
        _kept.move_to_end(pattern)
        return _kept[pattern]
    split = _Splitting().split(bounded_tree(pattern))
    try:
        program = re2.compile(write_pattern(split), _OPTIONS)
    except re2.error as error:
        reason = "its repeats and sets come to a program too large for the validator"
        raise UnsupportedPatternError(reason=reason, position=0) from error
    _kept[pattern] = program
    if len(_kept) > MAX_KEPT:
        _kept.popitem(last=False)
        # The library keeps a cache of its own, larger and unbounded in bytes.
        re2.purge()
    return program


class _Splitting:
    """Rewrites one tree so that no path through it repeats more than RE2 allows."""

    def __init__(self) -> None:
        self._num_nodes = 0

    def split(self, node: PatternNode, budget: int = _MAX_REPEAT_PRODUCT) -> PatternNode:
        """The same language, with counted repeats whose product along any path is at most `budget`."""
        self._num_nodes += 1
        if self._num_nodes > _MAX_EXPANDED_NODES:
            reason = "its counted repeats are too many for the validator"
            raise UnsupportedPatternError(reason=reason, position=0)
        match node:
            case Sequence():
                return Sequence(parts=tuple(self.split(part, budget) for part in node.parts))
            case Choice():
                return Choice(branches=tuple(self.split(branch, budget) for branch in node.branches))
            case Repeat():
                return self._split_repeat(node, budget)
            case _:
                return node

    def _split_repeat(self, repeat: Repeat, budget: int) -> PatternNode:
        inner = _product(repeat.node)
        # As many at once as leave the inner repeats their room; none, and the inner ones are split as well.
        at_once = max(budget // inner, 1)
        parts: list[PatternNode] = []
        left = repeat.minimum
        while left > at_once:
            parts.append(self._repeat(repeat, at_once, at_once, budget))
            left -= at_once
        if repeat.maximum is None:
            return Sequence(parts=(*parts, self._repeat(repeat, left, None, budget)))
        optional = repeat.maximum - repeat.minimum
        first = min(optional, at_once - left)
        parts.append(self._repeat(repeat, left, left + first, budget))
        optional -= first
        while optional > 0:
            step = min(optional, at_once)
            parts.append(self._repeat(repeat, 0, step, budget))
            optional -= step
        return parts[0] if len(parts) == 1 else Sequence(parts=tuple(parts))

    def _repeat(self, repeat: Repeat, minimum: int, maximum: int | None, budget: int) -> Repeat:
        count = maximum if maximum is not None else minimum
        return Repeat(node=self.split(repeat.node, budget // max(count, 1)), minimum=minimum, maximum=maximum)


def _product(node: PatternNode) -> int:
    """The largest product of counted repeats along any path."""
    match node:
        case Sequence():
            return max(map(_product, node.parts), default=1)
        case Choice():
            return max(map(_product, node.branches))
        case Repeat():
            count = node.maximum if node.maximum is not None else node.minimum
            return max(count, 1) * _product(node.node)
        case _:
            return 1
