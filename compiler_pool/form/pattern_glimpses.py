"""What is seen of a pattern without running it: a text or two, and with which characters its texts begin.

Most patterns of one object are told apart by these, which spares automata: they are only run where this is not enough.
"""

from functools import lru_cache
from typing import Final

from compiler_pool.form.languages import Matching
from compiler_pool.form.strings import pattern_language
from registry.algebra.alphabet import code_points
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

MAX_SAMPLE_LENGTH: Final = 256
"""Characters; no longer text is made."""


@lru_cache(maxsize=512)
def sample(pattern: str) -> str | None:
    """A short text in which the pattern finds a match; `None` if none is seen. Raises `UnsupportedPatternError`."""
    text = _sample(_tree(pattern))
    return text if text is None or len(text) <= MAX_SAMPLE_LENGTH else None


@lru_cache(maxsize=512)
def first_characters(pattern: str) -> "CodePointRanges | None":
    """With what all texts begin in which the pattern finds a match; `None` if one of them may be empty.

    Raises `UnsupportedPatternError`.
    """
    is_empty, ranges = _first(_tree(pattern))
    return None if is_empty else ranges


def begin_apart(one: str, other: str) -> bool:
    """Whether no text can begin as both patterns ask. Raises `UnsupportedPatternError`."""
    first, second = first_characters(one), first_characters(other)
    return first is not None and second is not None and not _overlap(first, second)


def _tree(pattern: str) -> PatternNode:
    language = pattern_language(pattern)
    assert isinstance(language, Matching), language
    return language.tree


def _sample(tree: PatternNode) -> str | None:
    match tree:
        case Characters():
            return next((chr(point) for point in _some_points(tree)), None)
        case Sequence(parts=parts):
            return _joined(parts)
        case Choice(branches=branches):
            return next((text for branch in branches if (text := _sample(branch)) is not None), None)
        case Repeat(node=node, minimum=minimum):
            return _joined((node,) * min(minimum, MAX_SAMPLE_LENGTH + 1))
        case Anchor():
            raise AssertionError(tree)


def _joined(parts: tuple[PatternNode, ...]) -> str | None:
    text = ""
    for part in parts:
        more = _sample(part)
        if more is None or len(text) > MAX_SAMPLE_LENGTH:
            return None
        text += more
    return text


def _some_points(characters: Characters) -> tuple[int, ...]:
    """A character of the set, a letter rather than none."""
    ranges = code_points(characters)
    letters = (point for point in b"xa0_-" if any(low <= point <= high for low, high in ranges))
    plain = (low for low, high in ranges if not 0xD800 <= low <= 0xDFFF)
    return (*letters, *plain)[:1]


def _first(tree: PatternNode) -> tuple[bool, CodePointRanges]:
    """Whether the empty text matches, and with what the others begin."""
    match tree:
        case Characters():
            return False, code_points(tree)
        case Sequence(parts=parts):
            ranges: CodePointRanges = ()
            for part in parts:
                is_empty, own = _first(part)
                ranges = _united(ranges, own)
                if not is_empty:
                    return False, ranges
            return True, ranges
        case Choice(branches=branches):
            each = [_first(branch) for branch in branches]
            ranges = ()
            for _, own in each:
                ranges = _united(ranges, own)
            return any(is_empty for is_empty, _ in each), ranges
        case Repeat(node=node, minimum=minimum, maximum=maximum):
            if maximum == 0:
                return True, ()
            is_empty, own = _first(node)
            return is_empty or minimum == 0, own
        case Anchor():
            raise AssertionError(tree)


def _united(one: CodePointRanges, other: CodePointRanges) -> CodePointRanges:
    if not one or not other:
        return one or other
    return code_points(Characters(ranges=(*one, *other)))


def _overlap(one: CodePointRanges, other: CodePointRanges) -> bool:
    outside = complement(other)
    return any(not any(low <= start and end <= high for low, high in outside) for start, end in one)
