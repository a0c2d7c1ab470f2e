"""Patterns and formats as the engine takes them: whole-string expressions, and one spelling for every character."""

from collections.abc import Iterator

from compiler_pool.lowering.formats import FORMATS
from registry.contract import JsonValue
from registry.full_match import full_match_pattern
from registry.pattern_program import pattern_program

SINGLE_SPELLING_ESCAPES = '"\\bfnrt'
"""Escapes a generated string may use where names matter. With `\\u` allowed too, the engine excludes a declared name
from the undeclared ones in one spelling only: `"\\u0061"` would pass as an undeclared name beside `a`."""

_SHORT_ESCAPED = frozenset("\b\t\n\f\r")


def anchored(pattern: str) -> str:
    """A caller's pattern as the engine reads it, if the validator can run it too. Raises UnsupportedPatternError."""
    pattern_program(pattern)
    return f"^(?:{full_match_pattern(pattern)})$"


def format_schema(name: str) -> "JsonValue | None":
    """A schema that holds strings, and nothing else, to the format; None where it has no exact expression."""
    pattern = FORMATS.get(name)
    return None if pattern is None else {"pattern": f"^(?:{pattern})$"}


def needs_unicode_escape(value: JsonValue) -> bool:
    """Whether a literal can only be written with `\\u`: control characters without a short escape."""
    return any(
        (character < " " and character not in _SHORT_ESCAPED) or character == "\x7f"
        for text in _strings(value)
        for character in text
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
