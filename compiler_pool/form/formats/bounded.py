"""Formats whose digits the standard never ends, ended: fractions of a second, and the counts of a duration."""

from functools import lru_cache
from typing import Final

from compiler_pool.form.formats.table import format_language
from compiler_pool.form.languages import Both, Either, Language, Matching
from registry.pattern_syntax import DIGITS, Characters, Choice, PatternNode, Repeat, Sequence

ENDLESS: Final = frozenset({"time", "date-time", "duration"})

_DIGIT: Final = Characters(ranges=DIGITS)


@lru_cache(maxsize=32)
def bounded_format(name: str, max_digits: int) -> Language:
    """The strings of the format in which no run of digits that could go on for ever has more than `max_digits`."""
    return _bounded(format_language(name).language, max_digits)


def _bounded(language: Language, most: int) -> Language:
    """Narrower only: what stands under a complement is left as it is."""
    match language:
        case Matching(tree=tree):
            return Matching(tree=_ended(tree, most))
        case Both(parts=parts):
            return Both(parts=tuple(_bounded(part, most) for part in parts))
        case Either(parts=parts):
            return Either(parts=tuple(_bounded(part, most) for part in parts))
        case _:
            return language


def _ended(node: PatternNode, most: int) -> PatternNode:
    match node:
        case Sequence(parts=parts):
            return Sequence(parts=tuple(_ended(part, most) for part in parts))
        case Choice(branches=branches):
            return Choice(branches=tuple(_ended(branch, most) for branch in branches))
        case Repeat(node=inner, minimum=minimum, maximum=None) if inner == _DIGIT and minimum <= most:
            return Repeat(node=inner, minimum=minimum, maximum=most)
        case Repeat(node=inner, minimum=minimum, maximum=maximum):
            return Repeat(node=_ended(inner, most), minimum=minimum, maximum=maximum)
        case _:
            return node
