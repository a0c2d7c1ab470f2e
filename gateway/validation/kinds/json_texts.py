"""JSON inside other text: where a value can end, and whether a schema allows it."""

from typing import Final

import re2

from gateway.validation.judge import Judge
from gateway.validation.kinds.reading import Reading
from gateway.validation.verdict import Unjudged, Valid

_OPENING: Final = frozenset("{[")
_CLOSING: Final = frozenset("}]")
_WORDS: Final = ("true", "false", "null")
_STRING: Final = re2.compile(r'"(?:[^"\\]|\\(?s:.))*"')
_NUMBER: Final = frozenset("-+.eE0123456789")


class UnjudgedPartError(Exception):
    """There is no verdict on JSON inside a text, and so none on the text."""

    def __init__(self, verdict: Unjudged) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


class Json:
    """Values that satisfy a schema."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def ends(self, reading: Reading, start: int) -> int:
        """Where a value that begins at `start` ends and is valid. Raises `UnjudgedPartError`."""
        found = 0
        for end in json_ends(reading.text, start):
            verdict = self._judge.judge(reading.text[start:end].encode())
            if isinstance(verdict, Unjudged):
                raise UnjudgedPartError(verdict)
            if isinstance(verdict, Valid):
                found |= 1 << end
        return found


def json_ends(text: str, start: int) -> list[int]:
    """Where a JSON value that begins at `start` may end: one place, but several for a number. It may be no JSON yet."""
    first = text[start : start + 1]
    if first in _OPENING and first:
        end = _end_of_nested(text, start)
        return [] if end is None else [end]
    if first == '"':
        end = _end_of_string(text, start)
        return [] if end is None else [end]
    for word in _WORDS:
        if text.startswith(word, start):
            return [start + len(word)]
    end = start
    while end < len(text) and text[end] in _NUMBER:
        end += 1
    return [place for place in range(start + 1, end + 1) if text[place - 1].isdigit()]


def _end_of_string(text: str, start: int) -> int | None:
    found = _STRING.match(text, start)
    return None if found is None else int(found.end())


def _end_of_nested(text: str, start: int) -> int | None:
    """Where the bracket that opens at `start` is closed; whether kinds of brackets match is the parser's to say."""
    depth, at = 0, start
    while at < len(text):
        character = text[at]
        if character == '"':
            end = _end_of_string(text, at)
            if end is None:
                return None
            at = end
            continue
        depth += (character in _OPENING) - (character in _CLOSING)
        at += 1
        if depth == 0:
            return at
    return None
