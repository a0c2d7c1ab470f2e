"""Two questions about JSON that is still being written: where a value ends, and where it may be cut."""

import re
from typing import Final

_STRUCTURE: Final = re.compile(r'["\\{}\[\]]')
_ESCAPE: Final = 2
_UNICODE_ESCAPE: Final = 6
_PAIR: Final = 12


class ObjectScan:
    """Finds the end of a JSON object that comes in pieces. The grammar vouches for what is inside."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False

    def end(self, text: str) -> int | None:
        """Where in the next piece the object ends, or None where it goes on."""
        at = 0
        while at < len(text):
            if self._is_escaped:
                self._is_escaped = False
                at += 1
                continue
            found = _STRUCTURE.search(text, at)
            if found is None:
                return None
            at = found.end()
            self._see(found.group())
            if self._depth == 0 and not self._is_in_string:
                return at
        return None

    def _see(self, character: str) -> None:
        match character:
            case '"':
                self._is_in_string = not self._is_in_string
            case "\\":
                self._is_escaped = self._is_in_string
            case "{" | "[" if not self._is_in_string:
                self._depth += 1
            case "}" | "]" if not self._is_in_string:
                self._depth -= 1
            case _:
                pass


def whole_escapes(text: str) -> int:
    """How much of `text` ends between escapes, the two halves of a pair of surrogates being one.

    `text` begins between escapes. Backslashes stand in strings only, so nothing else of JSON has to be known.
    """
    at = text.find("\\")
    while at >= 0:
        length = _escape_length(text, at)
        if length is None:
            return at
        at = text.find("\\", at + length)
    return len(text)


def _escape_length(text: str, at: int) -> int | None:
    """The length of the escape at `at`, or None where it is not all there."""
    if len(text) < at + _ESCAPE:
        return None
    if text[at + 1] != "u":
        return _ESCAPE
    if len(text) < at + _UNICODE_ESCAPE:
        return None
    is_high = text[at + 2] in "dD" and text[at + 3] in "89abAB"
    if not is_high or not "\\u".startswith(text[at + _UNICODE_ESCAPE : at + _UNICODE_ESCAPE + 2]):
        return _UNICODE_ESCAPE
    return _PAIR if len(text) >= at + _PAIR else None
