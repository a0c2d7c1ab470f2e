"""Formats as languages."""

from compiler_pool.form.languages import Language, Matching, excluding
from compiler_pool.lowering.formats import FORMATS
from registry.patterns import parse_pattern

_EXACT = frozenset(
    {
        "date",
        "duration",
        "ipv4",
        "ipv6",
        "uuid",
        "json-pointer",
        "relative-json-pointer",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uri-template",
    }
)


def format_language(name: str, *, positive: bool) -> Language | None:
    """Strings in a format, or off it."""
    pattern = FORMATS.get(name)
    if pattern is None or (not positive and name not in _EXACT):
        return None
    language = Matching(tree=parse_pattern(pattern.replace("\\x{", "\\u{"))[0])
    return language if positive else excluding(language)
