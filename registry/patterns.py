"""ECMA-262 `pattern`s, rewritten in what RE2 and Rust's regex read alike.

The compiler and the validator both take their pattern from here, so that they cannot come to differ. `\\d`, `\\w`,
`\\s` and `.` become explicit sets, because to Rust they are Unicode's; captures and laziness go, because they change no
verdict. RE2 itself refuses repeats whose product is above 1,000.
"""

from functools import lru_cache
from typing import Final

from registry.errors import UnsupportedPatternError
from registry.pattern_parser import PatternParser
from registry.pattern_syntax import (
    ANY,
    MAX_CODE_POINT,
    Anchor,
    Characters,
    Choice,
    PatternNode,
    PatternProfile,
    Repeat,
    Sequence,
    is_written_plainly,
)

MAX_PATTERN_DEPTH: Final = 128
"""Deeper group nesting is refused whatever the limits: writing a pattern out recurses."""

# Punctuation that may stand for itself everywhere, in a class and out of it.
_PLAIN: Final = frozenset(" !\"#%',/:;<=>@_`")


def parse_pattern(pattern: str) -> tuple[PatternNode, PatternProfile]:
    """The tree and sizes of a pattern. Raises `UnsupportedPatternError`."""
    return PatternParser(pattern).parse()


def pattern_profile(pattern: str) -> PatternProfile:
    """The sizes that limits speak about. Raises `UnsupportedPatternError`."""
    return parse_pattern(pattern)[1]


def translate_pattern(pattern: str) -> str:
    """A regex that finds a match in a string exactly if `pattern` does: it may keep `^` and `$`, and is to be searched.

    Raises `UnsupportedPatternError`.
    """
    return _text(_bounded(pattern))


def write_pattern(node: PatternNode) -> str:
    """The common syntax of a tree."""
    return _text(node)


def bounded_tree(pattern: str) -> PatternNode:
    """The tree of a pattern that is shallow enough to recurse over. Raises `UnsupportedPatternError`."""
    return _bounded(pattern)


@lru_cache(maxsize=1)
def _bounded(pattern: str) -> PatternNode:
    # The last one is kept: whoever asks for a pattern's language has just asked for its program.
    node, profile = parse_pattern(pattern)
    if profile.depth > MAX_PATTERN_DEPTH:
        raise UnsupportedPatternError(reason=f"groups are nested more than {MAX_PATTERN_DEPTH} deep", position=0)
    return node


def _text(node: PatternNode) -> str:
    match node:
        case Characters():
            return _characters(node)
        case Anchor():
            return "^" if node.at_start else "$"
        case Sequence():
            return "".join(f"(?:{_text(part)})" if isinstance(part, Choice) else _text(part) for part in node.parts)
        case Choice():
            return "|".join(map(_text, node.branches))
        case Repeat():
            inner = _text(node.node)
            atom = inner if isinstance(node.node, Characters) else f"(?:{inner})"
            return atom + _quantifier(node)


def _quantifier(repeat: Repeat) -> str:
    match (repeat.minimum, repeat.maximum):
        case (0, None):
            return "*"
        case (1, None):
            return "+"
        case (0, 1):
            return "?"
        case (minimum, None):
            return f"{{{minimum},}}"
        case (minimum, maximum):
            return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


def _characters(node: Characters) -> str:
    if node == ANY:
        return "(?s:.)"
    if not node.ranges and not node.classes:
        # ECMA-262's `[]` matches nothing, `[^]` anything; neither engine has the spelling.
        return "(?s:.)" if node.negated else f"[^\\x{{0}}-\\x{{{MAX_CODE_POINT:X}}}]"
    if not node.negated and not node.classes and len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1]:
        return _code_point(node.ranges[0][0])
    parts = []
    for low, high in node.ranges:
        first, last = _code_point(low), _code_point(high)
        parts.append(first if low == high else first + last if high == low + 1 else f"{first}-{last}")
    return f"[{'^' if node.negated else ''}{''.join(parts)}{''.join(node.classes)}]"


def _code_point(code_point: int) -> str:
    character = chr(code_point)
    if character.isascii():
        return character if character.isalnum() or character in _PLAIN else f"\\x{{{code_point:X}}}"
    return character if is_written_plainly(code_point) else f"\\x{{{code_point:X}}}"
