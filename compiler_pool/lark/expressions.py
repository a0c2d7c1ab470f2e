"""Regular expressions of texts in the making: each character of a language written as it is spelled in the output.

The dialect is Rust's, as the engine reads it. Sets are written out as ranges, Unicode's classes too: by the tables of
the program that judges, whatever edition of Unicode the engine has.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from compiler_pool.form.spelling import ESCAPED, SHORT_ESCAPES
from registry.algebra.alphabet import code_points
from registry.pattern_syntax import (
    MAX_CODE_POINT,
    Anchor,
    Characters,
    Choice,
    CodePointRanges,
    PatternNode,
    Repeat,
    Sequence,
    complement,
    is_written_plainly,
)

_PLAIN: Final = frozenset(" !\"#%',:;<=>@_`")
"""Punctuation that stands for itself in a class and out of it, and ends no regular expression in Lark."""
_SURROGATES: Final = (0xD800, 0xDFFF)
# Longest first, within decimal digits or within letters: "9" and "a" are not neighbours.
_RUNS: Final = [
    digits[first:last]
    for size in range(10, 2, -1)
    for digits in ("0123456789", "abcdef")
    for first, last in ((at, at + size) for at in range(len(digits) - size + 1))
]
_RAW: Final = complement(ESCAPED)

NOTHING: Final = f"[^\\x{{0}}-\\x{{{MAX_CODE_POINT:X}}}]"
"""The expression that matches no text."""


@lru_cache(maxsize=256)
def spelled(tree: PatternNode) -> str:
    """The expression of a tree without anchors, over the characters between the quotes of a JSON string."""
    return _written(tree, is_json=True)


@lru_cache(maxsize=64)
def plain(tree: PatternNode) -> str:
    """The expression of a tree without anchors, over the text itself."""
    return _written(tree, is_json=False)


def literal_expression(text: str) -> str:
    """The expression of one output text."""
    if text.isascii() and text.isalnum():
        return text
    return "".join(
        character if character.isascii() and character.isalnum() else _code_point(ord(character)) for character in text
    )


def _written(node: PatternNode, *, is_json: bool) -> str:
    match node:
        case Characters():
            return _set(node, is_json=is_json)
        case Anchor():
            raise AssertionError(node)
        case Sequence(parts=parts):
            return "".join(_grouped(part, is_json=is_json) for part in parts)
        case Choice(branches=branches):
            return "|".join(_written(branch, is_json=is_json) for branch in branches)
        case Repeat():
            return _repeat(node, is_json=is_json)


def _grouped(node: PatternNode, *, is_json: bool) -> str:
    text = _written(node, is_json=is_json)
    return f"(?:{text})" if isinstance(node, Choice) else text


def _repeat(repeat: Repeat, *, is_json: bool) -> str:
    inner = _written(repeat.node, is_json=is_json)
    is_atom = isinstance(repeat.node, Characters) and inner.startswith(("[", "(?:"))
    return (inner if is_atom or len(inner) == 1 else f"(?:{inner})") + _quantifier(repeat.minimum, repeat.maximum)


def _quantifier(minimum: int, maximum: int | None) -> str:
    match (minimum, maximum):
        case (0, None):
            return "*"
        case (1, None):
            return "+"
        case (0, 1):
            return "?"
        case (_, None):
            return f"{{{minimum},}}"
        case _:
            return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


@lru_cache(maxsize=512)
def _set(characters: Characters, *, is_json: bool) -> str:
    ranges = _scalars(code_points(characters))
    if not is_json:
        return _class(ranges)
    short = "".join(_code_point(ord(letter)) for point, letter in SHORT_ESCAPES.items() if _holds(ranges, point))
    long = [
        f"{point:02x}"
        for low, high in ESCAPED
        for point in range(low, high + 1)
        if point not in SHORT_ESCAPES and _holds(ranges, point)
    ]
    raw = _common(ranges, _RAW)
    escapes = ([f"[{short}]"] if short else []) + ([f"u00(?:{_hexadecimal(long)})"] if long else [])
    forms = ([_class(raw)] if raw else []) + ([f"\\x{{5C}}(?:{'|'.join(escapes)})"] if escapes else [])
    return "".join(forms) or NOTHING if len(forms) < 2 and not escapes else f"(?:{'|'.join(forms)})"


def _hexadecimal(numbers: list[str]) -> str:
    """Two digits each, those with the same first one together."""
    by_first: dict[str, str] = {}
    for number in numbers:
        by_first[number[0]] = by_first.get(number[0], "") + number[1]
    return "|".join(f"{first}[{_digits(last)}]" for first, last in by_first.items())


def _digits(digits: str) -> str:
    """Digits in rising order, each run of three or more as a range."""
    for run in re.findall("|".join(_RUNS), digits):
        digits = digits.replace(run, f"{run[0]}-{run[-1]}")
    return digits


def _class(ranges: CodePointRanges) -> str:
    if not ranges:
        return NOTHING
    if ranges == ((0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, MAX_CODE_POINT)):
        return "(?s:.)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _code_point(ranges[0][0])
    others = _scalars(complement(ranges))
    is_negated = len(others) < len(ranges)
    return f"[{'^' if is_negated else ''}{_ranges(others if is_negated else ranges)}]"


def _ranges(ranges: Iterable[tuple[int, int]]) -> str:
    parts = []
    for low, high in ranges:
        first, last = _code_point(low), _code_point(high)
        parts.append(first if low == high else first + last if high == low + 1 else f"{first}-{last}")
    return "".join(parts)


def _code_point(code_point: int) -> str:
    character = chr(code_point)
    if character.isascii():
        return character if character.isalnum() or character in _PLAIN else f"\\x{{{code_point:X}}}"
    return character if is_written_plainly(code_point) else f"\\x{{{code_point:X}}}"


def _scalars(ranges: CodePointRanges) -> CodePointRanges:
    """Without surrogates, which no text has; a range across them becomes two."""
    return _common(ranges, ((0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, MAX_CODE_POINT)))


def _common(left: CodePointRanges, right: CodePointRanges) -> CodePointRanges:
    """The code points of both; each is sorted and apart."""
    return tuple(
        (max(low, first), min(high, last))
        for low, high in left
        for first, last in right
        if first <= high and last >= low
    )


def _holds(ranges: CodePointRanges, code_point: int) -> bool:
    return any(low <= code_point <= high for low, high in ranges)
