"""Strings and character classes of GBNF: code points, with llama.cpp's escapes."""

import re
from typing import Final

from registry.kinds.rust_patterns import merged_ranges
from registry.pattern_syntax import Characters, is_written_plainly

_ESCAPE: Final = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([trn\\"\[\]\-]))')
_CONTROLS: Final = {"t": "\t", "r": "\r", "n": "\n"}
_WRITTEN_CONTROLS: Final = {"\t": "\\t", "\r": "\\r", "\n": "\\n"}
_MAX_CODE_POINT: Final = 0x10FFFF


class CharacterError(ValueError):
    """Why a string or class is refused, and how many characters into it."""

    def __init__(self, reason: str, offset: int) -> None:
        self.reason = reason
        self.offset = offset
        super().__init__(reason)


def read_string(body: str, offset: int = 0) -> str:
    """The text between two quotes. Raises `CharacterError`."""
    characters: list[str] = []
    at = 0
    while at < len(body):
        character, at = _character(body, at, offset)
        characters.append(character)
    return "".join(characters)


def read_class(body: str) -> Characters:
    """The set between two brackets. Raises `CharacterError`."""
    negated = body.startswith("^")
    at = int(negated)
    ranges: list[tuple[int, int]] = []
    while at < len(body):
        start = at
        low, at = _character(body, at, 0)
        high = low
        if body.startswith("-", at) and at + 1 < len(body):
            high, at = _character(body, at + 1, 0)
        if low > high:
            raise CharacterError("the ends of a range are the wrong way round", start)
        ranges.append((ord(low), ord(high)))
    if not ranges:
        raise CharacterError("a class without characters is read in two ways", 0)
    return Characters(ranges=merged_ranges(ranges), negated=negated)


def write_character(character: str, *, in_class: bool) -> str:
    """One spelling of a character, in a string or in a class."""
    if character in _WRITTEN_CONTROLS:
        return _WRITTEN_CONTROLS[character]
    code_point = ord(character)
    if character == "\\" or (character == '"' and not in_class) or (in_class and character in "[]"):
        return f"\\{character}"
    if in_class and character in "^-":
        return f"\\x{code_point:02X}"
    if 0x20 <= code_point < 0x7F or is_written_plainly(code_point):
        return character
    if code_point < 0x100:
        return f"\\x{code_point:02X}"
    return f"\\u{code_point:04X}" if code_point < 0x10000 else f"\\U{code_point:08X}"


def _character(body: str, at: int, offset: int) -> tuple[str, int]:
    character = body[at]
    if character == "\x00":
        raise CharacterError("a null character ends the text for llama.cpp; write `\\x00`", at + offset)
    if character != "\\":
        return character, at + 1
    found = _ESCAPE.match(body, at)
    if found is None:
        raise CharacterError("this escape is not GBNF", at + offset)
    if found[4] is not None:
        return _CONTROLS.get(found[4], found[4]), found.end()
    code_point = int(found[1] or found[2] or found[3], 16)
    if code_point > _MAX_CODE_POINT or 0xD800 <= code_point <= 0xDFFF:
        raise CharacterError("this is no character that UTF-8 can carry", at + offset)
    return chr(code_point), found.end()
