"""A search turned into a full match: engines that build texts want the whole string's language, without anchors."""

from typing import Final

from registry.anchors import conditional_trees, has_anchor
from registry.pattern_syntax import ANY, EMPTY, Characters, Choice, PatternNode, Repeat, Sequence
from registry.patterns import bounded_tree, write_pattern

_ANYTHING: Final = Repeat(node=ANY, minimum=0, maximum=None)


def full_match_pattern(pattern: str) -> str:
    """A regex without anchors that matches exactly the whole strings in which `pattern` finds a match.

    Raises `UnsupportedPatternError`.
    """
    return write_pattern(full_match_tree(pattern))


def full_match_tree(pattern: str) -> PatternNode:
    """The tree of `full_match_pattern`: it holds no anchor. Raises `UnsupportedPatternError`."""
    tree = bounded_tree(pattern)
    if not has_anchor(tree):
        return _line(tree, is_from_start=False, is_to_end=False)
    lines = [
        _line(words, is_from_start=condition.nothing_before, is_to_end=condition.nothing_after)
        for condition, words in conditional_trees(tree).items()
    ]
    match lines:
        case []:
            # Some anchor can never hold.
            return Characters()
        case [line]:
            return line
        case _:
            return Choice(branches=tuple(lines))


def _line(words: PatternNode, *, is_from_start: bool, is_to_end: bool) -> PatternNode:
    before = () if is_from_start else (_ANYTHING,)
    after = () if is_to_end or (words == EMPTY and before) else (_ANYTHING,)
    body = words.parts if isinstance(words, Sequence) else (words,)
    return Sequence(parts=(*before, *body, *after))
