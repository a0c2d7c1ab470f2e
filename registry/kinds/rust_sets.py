"""The sets `\\d`, `\\s`, `\\w` of Rust's dialect, told in classes and ranges that every reader takes alike.

In canonical text they stay as they are written, which no edition of Unicode changes. RE2 and ECMA-262 take the same
names for ASCII's, so what a tree matches is only to be asked after this.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from registry.algebra.alphabet import code_points
from registry.kinds.rust_patterns import merged_ranges
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

_DIGITS: Final = Characters(classes=(r"\p{Nd}",))
# Unicode's White_Space.
_SPACES: Final = Characters(
    ranges=(
        (0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
        (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
    )
)  # fmt: skip
# UTS 18, annex C: Alphabetic, marks, decimal digits, connectors, Join_Control. What is Alphabetic and neither a letter
# nor a mark nor Nl are the circled, parenthesised and squared Latin letters.
_WORD: Final = Characters(
    classes=(r"\p{L}", r"\p{M}", r"\p{Nd}", r"\p{Nl}", r"\p{Pc}"),
    ranges=((0x200C, 0x200D), (0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)),
)
_SETS: Final[Mapping[str, Characters]] = MappingProxyType({r"\d": _DIGITS, r"\s": _SPACES, r"\w": _WORD})


def with_rust_sets(tree: PatternNode) -> PatternNode:
    """The same texts without these sets and their opposites, by the Unicode tables of the program that judges."""
    match tree:
        case Characters():
            return _told(tree)
        case Anchor():
            return tree
        case Sequence(parts=parts):
            return Sequence(parts=tuple(map(with_rust_sets, parts)))
        case Choice(branches=branches):
            return Choice(branches=tuple(map(with_rust_sets, branches)))
        case Repeat(node=node, minimum=minimum, maximum=maximum):
            return Repeat(node=with_rust_sets(node), minimum=minimum, maximum=maximum)


def _told(characters: Characters) -> Characters:
    ranges, classes = [*characters.ranges], set[str]()
    for name in characters.classes:
        known = _SETS.get(name.lower()) if len(name) == len(r"\d") else None
        if known is None:
            classes.add(name)
        elif name == name.lower():
            ranges.extend(known.ranges)
            classes.update(known.classes)
        else:
            ranges.extend(_outside(name.lower()))
    return Characters(ranges=merged_ranges(ranges), classes=tuple(sorted(classes)), negated=characters.negated)


@lru_cache(maxsize=3)
def _outside(name: str) -> CodePointRanges:
    return complement(code_points(_SETS[name]))
