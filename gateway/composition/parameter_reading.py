"""Arguments that stand one by one, read back as the JSON object that they are, as they come."""

import json
import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from gateway.composition.json_scan import whole_escapes
from gateway.composition.markers import num_certain
from inference_node.tool_dialects.dialect import ParameterSpelling

_OUTSIDE_STRINGS: Final = re.compile(r'[<"]')
_IN_STRINGS: Final = re.compile(r'\\.|"', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadArguments:
    """`num_taken` characters are read for good; `said` is the JSON that they add. `is_over`: the tail is next."""

    num_taken: int
    said: str
    is_over: bool = False
    is_broken: bool = False


class _Place(Enum):
    BETWEEN = auto()
    NAME = auto()
    TEXT = auto()
    JSON = auto()


class ParameterReader:
    """One call's arguments. The grammar vouches for what is inside them."""

    def __init__(self, spelling: ParameterSpelling, tail: str) -> None:
        self._spelling = spelling
        self._tail = tail
        # Up to where the name begins, and the two ways in which the marker goes on after it.
        self._before_name, self._json_rest = spelling.json_begin.split("NAME")
        self._text_rest = spelling.text_begin.split("NAME")[1]
        self._place = _Place.BETWEEN
        self._num_read = 0
        self._is_in_string = False

    def read(self, text: str) -> ReadArguments:
        """What can be read of `text`, which goes on where the last reading ended."""
        taken, said = 0, ""
        while True:
            step = self._step(text[taken:])
            taken += step.num_taken
            said += step.said
            if step.is_over or step.is_broken or not (step.num_taken or step.said):
                return ReadArguments(num_taken=taken, said=said, is_over=step.is_over, is_broken=step.is_broken)

    def _step(self, text: str) -> ReadArguments:
        match self._place:
            case _Place.BETWEEN:
                return self._between(text)
            case _Place.NAME:
                return self._name(text)
            case _Place.TEXT:
                return self._text(text)
            case _Place.JSON:
                return self._json(text)

    def _between(self, text: str) -> ReadArguments:
        if text.startswith(self._before_name):
            self._place = _Place.NAME
            return ReadArguments(num_taken=len(self._before_name), said="")
        if text.startswith(self._tail):
            return ReadArguments(num_taken=0, said="}" if self._num_read else "{}", is_over=True)
        may_come = self._before_name.startswith(text) or self._tail.startswith(text)
        return ReadArguments(num_taken=0, said="", is_broken=not may_come)

    def _name(self, text: str) -> ReadArguments:
        name, quote, rest = text.partition('"')
        rest = quote + rest
        for marker, place in ((self._json_rest, _Place.JSON), (self._text_rest, _Place.TEXT)):
            if rest.startswith(marker):
                self._place = place
                began = "," if self._num_read else "{"
                opened = '"' if place is _Place.TEXT else ""
                self._num_read += 1
                said = f"{began}{json.dumps(name, ensure_ascii=False)}:{opened}"
                return ReadArguments(num_taken=len(name) + len(marker), said=said)
        may_come = self._json_rest.startswith(rest) or self._text_rest.startswith(rest)
        return ReadArguments(num_taken=0, said="", is_broken=not may_come)

    def _text(self, text: str) -> ReadArguments:
        found = text.find(self._spelling.end)
        num_text = found if found >= 0 else num_certain(text, self._spelling.end)
        said = json.dumps(text[:num_text], ensure_ascii=False)[1:-1]
        if found < 0:
            return ReadArguments(num_taken=num_text, said=said)
        self._place = _Place.BETWEEN
        return ReadArguments(num_taken=found + len(self._spelling.end), said=f'{said}"')

    def _json(self, text: str) -> ReadArguments:
        """A value ends at the first `<` that stands in no string."""
        at = 0
        while at < len(text):
            found = (_IN_STRINGS if self._is_in_string else _OUTSIDE_STRINGS).search(text, at)
            if found is None:
                break
            if found.group() == "<":
                return self._json_end(text, found.start())
            if found.group() == '"':
                self._is_in_string = not self._is_in_string
            at = found.end()
        # An escape is never cut, so what is looked at next begins between two.
        num_whole = whole_escapes(text)
        return ReadArguments(num_taken=num_whole, said=text[:num_whole])

    def _json_end(self, text: str, at: int) -> ReadArguments:
        end = self._spelling.end
        if text.startswith(end, at):
            self._place = _Place.BETWEEN
            return ReadArguments(num_taken=at + len(end), said=text[:at])
        return ReadArguments(num_taken=at, said=text[:at], is_broken=not end.startswith(text[at:]))
