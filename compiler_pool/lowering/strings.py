"""Patterns and formats as the engine takes them: whole-string expressions, and one spelling for every character."""

from collections.abc import Iterator
from typing import Final

from compiler_pool.form.emptiness import matches_nothing
from registry.contract import JsonValue
from registry.errors import UnsupportedPatternError
from registry.full_match import full_match_tree
from registry.pattern_program import pattern_program
from registry.pattern_removal import holds, without_controls
from registry.pattern_syntax import Characters, CodePointRanges
from registry.patterns import write_pattern

SINGLE_SPELLING_ESCAPES = '"\\bfnrt'
"""Escapes a generated string may use where names matter. With `\\u` allowed too, the engine excludes a declared name
from the undeclared ones in one spelling only: `"\\u0061"` would pass as an undeclared name beside `a`."""


# What the engine's escapes spell with `\\u` only: the control characters without a short escape, and U+007F.
_UNICODE_ESCAPED: Final[CodePointRanges] = ((0x00, 0x07), (0x0B, 0x0B), (0x0E, 0x1F), (0x7F, 0x7F))
_NUL: Final[CodePointRanges] = ((0x00, 0x00),)


def engine_pattern(pattern: str, *, single_spelling: bool) -> str:
    """A caller's pattern as the engine reads it, if the validator can run it too. Raises UnsupportedPatternError.

    It accepts no more than `pattern`, and less where the engine would write something else than was matched:

    - A set of bytes with all control characters (U+000A or not) is escaped as though `"` and `\\` were in it. Unions
      that the engine makes are such sets too, so U+0000 stays only in sets that do hold both.
    - Without `\\u`, a character that needs it is written as nothing at all.
    """
    pattern_program(pattern)
    tree = full_match_tree(pattern)
    narrowed = without_controls(tree, _unspellable if single_spelling else _misread)
    if matches_nothing(narrowed) and not matches_nothing(tree):
        reason = "every text that it matches needs a control character that cannot be generated here"
        raise UnsupportedPatternError(reason=reason, position=0)
    return f"^(?:{write_pattern(narrowed)})$"


def _unspellable(_: Characters) -> CodePointRanges:
    return _UNICODE_ESCAPED


def _misread(characters: Characters) -> CodePointRanges:
    # Closed under union and intersection: what has U+0000 has `"` and `\\` as well.
    escapes_alike = not characters.classes and holds(characters, 0x22) and holds(characters, 0x5C)
    return () if escapes_alike else _NUL


def needs_unicode_escape(value: JsonValue) -> bool:
    """Whether a literal can only be written with `\\u`: control characters without a short escape, and U+007F."""
    return any(
        low <= ord(character) <= high
        for text in _strings(value)
        for character in text
        for low, high in _UNICODE_ESCAPED
    )


def _strings(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from _strings(item)
        case _:
            return
