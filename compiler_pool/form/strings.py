"""Nodes of strings: a formula over lengths, patterns, formats and values, as one language."""

from functools import lru_cache
from typing import Final

from compiler_pool.form.emptiness import is_empty_language
from compiler_pool.form.formats.table import Fit, format_language
from compiler_pool.form.languages import EVERY_STRING, Among, Language, Lengths, Matching, both, either, excluding
from compiler_pool.form.making import Making
from compiler_pool.form.nodes import Literals, Node, Strings
from compiler_pool.form.simplifying import simplified
from compiler_pool.form.spelling import spell_string
from registry.algebra.formulas import (
    All,
    Any,
    Formula,
    InFormat,
    LongerOrEqual,
    Matches,
    OneOf,
    ShorterOrEqual,
)
from registry.errors import UnsupportedPatternError
from registry.full_match import full_match_tree
from registry.parsing import parse_json
from registry.pattern_program import pattern_program
from registry.pattern_syntax import PatternNode

_MAX_TEXT_BYTES: Final = 1 << 26


def string_nodes(flat: Formula, making: Making) -> list[Node]:
    """The node of the strings that satisfy a flat formula; none if there is no such string.

    Raises `ExpansionSpentError`.
    """
    language = string_language(flat, making)
    if isinstance(language, Among):
        return [Literals(texts=tuple(map(spell_string, language.texts)))]
    if not isinstance(flat, InFormat) and is_empty_language(language, making.spending):
        return []
    return [Strings(contents=language)]


def string_language(flat: Formula, making: Making) -> Language:
    """The strings that satisfy a flat formula; what cannot be said of them is reported, and left out.

    Simplified: a finite list of strings is `Among`, which is never empty. Raises `ExpansionSpentError`.
    """
    if isinstance(flat, InFormat) and flat.positive:
        # The dearest of the common wishes, and as simple as it gets.
        return _format(flat.name, making, positive=True)
    return simplified(_language(flat, making), making.spending)


def pattern_language(pattern: str) -> Language:
    """The strings in which a pattern finds a match. Raises `UnsupportedPatternError`."""
    return Matching(tree=_tree(pattern))


def _language(flat: Formula, making: Making) -> Language:
    making.spending.step()
    match flat:
        case All(parts=parts):
            return both(*(_language(part, making) for part in parts))
        case Any(parts=parts):
            return either(*(_language(part, making) for part in parts))
        case LongerOrEqual(length=length):
            return Lengths(minimum=length)
        case ShorterOrEqual(length=length):
            return Lengths(maximum=length)
        case Matches(pattern=pattern, positive=positive):
            return _pattern(pattern, making, positive=positive)
        case InFormat(name=name, positive=positive):
            return _format(name, making, positive=positive)
        case OneOf(texts=texts, positive=positive):
            values = (_value(text) for text in texts)
            listed = Among(texts=tuple(value for value in values if value is not None))
            return listed if positive else excluding(listed)
        case _:
            raise AssertionError(flat)


def _pattern(pattern: str, making: Making, *, positive: bool) -> Language:
    try:
        language = pattern_language(pattern)
    except UnsupportedPatternError as error:
        making.cannot("pattern", str(error))
        return EVERY_STRING
    return language if positive else excluding(language)


def _format(name: str, making: Making, *, positive: bool) -> Language:
    known = format_language(name)
    match known.fit, positive:
        case (Fit.EXACT, _) | (Fit.NARROWER, True):
            return known.language if positive else excluding(known.language)
        case Fit.NARROWER, _:
            making.cannot("format", f"no grammar holds all strings that are not in the format {name}")
            return excluding(known.language)
        case _:
            making.cannot("format", f"no grammar tells the strings in the format {name} from all others")
            return known.language if positive else EVERY_STRING


@lru_cache(maxsize=256)
def _tree(pattern: str) -> PatternNode:
    """Asked for again and again: the same names are in many objects. What the validator cannot run is no pattern."""
    pattern_program(pattern)
    return full_match_tree(pattern)


def _value(text: str) -> str | None:
    """The string that a canonical text spells; `None` for values of other types."""
    value = parse_json(text, max_bytes=_MAX_TEXT_BYTES, max_nesting=512)
    return value if isinstance(value, str) else None
