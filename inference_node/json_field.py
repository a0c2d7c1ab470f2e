"""Which member of a JSON text is being written, known after every byte.

It places measurements, and judges nothing: the spelling of numbers and the order of escapes are the grammar's concern.
Names come from the model and so, under an open contract, from anybody: what is kept of them is bounded, and nothing
that is written can make it raise.
"""

import re
from typing import Final

MAX_DEPTH: Final = 128
"""Containers within each other. In deeper ones nothing is known any more."""
MAX_NAME_BYTES: Final = 128
"""Of a name as it is written. What is under a longer one counts for the member around it."""
MAX_POINTER_CHARACTERS: Final = 256
"""Of a pointer. What has a longer one counts for the member around it."""

_SPACE: Final = frozenset(b" \t\n\r")
_NUMBER: Final = frozenset(b"+-.0123456789eE")
_LITERALS: Final = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f]*')
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}

# What may come next. In the first six a structural byte is due; the others are within a name or a scalar.
(
    _VALUE, _VALUE_OR_CLOSE, _NAME, _NAME_OR_CLOSE, _COLON, _AFTER,
    _STRING, _NAME_TEXT, _SCALAR, _LITERAL, _LOST,
) = range(11)  # fmt: skip


class JsonField:
    """Reads an answer's bytes as they come, however they are cut. Constant work for a byte."""

    __slots__ = ("_containers", "_is_escaped", "_literal", "_name", "_pointer", "_state")

    def __init__(self) -> None:
        self._state = _VALUE
        self._pointer = ""
        self._containers: list[tuple[str, bool]] = []
        """The open ones: each one's own pointer, and whether it is an object."""
        self._name = bytearray()
        self._is_escaped = False
        self._literal = b""

    @property
    def pointer(self) -> str | None:
        """The JSON Pointer of the member whose value is written or due, `*` for an index; None: not known.

        While a name is written, and between members, it is the object's own: it chooses the name, or to end.
        """
        return None if self._state == _LOST else self._pointer

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Once they are no JSON, nothing is known for good."""
        place = 0
        while place < len(data) and self._state != _LOST:
            if self._state in (_STRING, _NAME_TEXT):
                place = self._in_string(data, place)
            else:
                self._take(data[place])
                place += 1

    def _in_string(self, data: bytes, place: int) -> int:
        """Read on in a string; where it stopped reading."""
        if self._is_escaped:
            self._is_escaped = False
            self._keep(data[place : place + 1])
            return place + 1
        plain = _PLAIN.match(data, place)
        end = place if plain is None else plain.end()
        self._keep(data[place:end])
        if end == len(data):
            return end
        if data[end] == ord("\\"):
            self._is_escaped = True
            self._keep(b"\\")
        elif data[end] != ord('"'):
            self._state = _LOST
        elif self._state == _STRING:
            self._end_value()
        else:
            self._state = _COLON
        return end + 1

    def _keep(self, data: bytes) -> None:
        if self._state == _NAME_TEXT and len(self._name) <= MAX_NAME_BYTES:
            self._name += data[: MAX_NAME_BYTES + 1]

    def _take(self, byte: int) -> None:
        state = self._state
        if state == _LITERAL:
            if byte != self._literal[0]:
                self._state = _LOST
            elif len(self._literal) == 1:
                self._end_value()
            else:
                self._literal = self._literal[1:]
            return
        if state == _SCALAR:
            if byte in _NUMBER:
                return
            self._end_value()
            state = self._state
        if byte in _SPACE:
            return
        if state in (_VALUE, _VALUE_OR_CLOSE) and byte != ord("]"):
            self._begin_value(byte)
        elif state in (_NAME, _NAME_OR_CLOSE) and byte == ord('"'):
            self._name.clear()
            self._state = _NAME_TEXT
        elif state == _COLON and byte == ord(":"):
            self._pointer = _under(self._pointer, _read_name(bytes(self._name)))
            self._state = _VALUE
        elif byte in b"]}" and state in (_AFTER, _VALUE_OR_CLOSE, _NAME_OR_CLOSE):
            self._close(is_object=byte == ord("}"))
        elif state == _AFTER and byte == ord(",") and self._containers:
            own, is_object = self._containers[-1]
            self._state = _NAME if is_object else _VALUE
            self._pointer = own if is_object else _under(own, "*")
        else:
            self._state = _LOST

    def _begin_value(self, byte: int) -> None:
        if byte == ord('"'):
            self._state = _STRING
        elif byte in b"{[":
            is_object = byte == ord("{")
            if len(self._containers) == MAX_DEPTH:
                self._state = _LOST
                return
            self._containers.append((self._pointer, is_object))
            self._state = _NAME_OR_CLOSE if is_object else _VALUE_OR_CLOSE
            if not is_object:
                self._pointer = _under(self._pointer, "*")
        elif byte in _LITERALS:
            self._state, self._literal = _LITERAL, _LITERALS[byte][1:]
        elif byte in _NUMBER:
            self._state = _SCALAR
        else:
            self._state = _LOST

    def _end_value(self) -> None:
        """A value is whole: the choice to go on or to close is the container's."""
        self._state = _AFTER
        self._pointer = self._containers[-1][0] if self._containers else ""

    def _close(self, *, is_object: bool) -> None:
        if not self._containers or self._containers[-1][1] is not is_object:
            self._state = _LOST
            return
        self._containers.pop()
        self._end_value()


def _under(pointer: str, name: str | None) -> str:
    """The pointer of a member, or the one around it where it is too long to be kept."""
    if name is None:
        return pointer
    longer = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
    return longer if len(longer) <= MAX_POINTER_CHARACTERS else pointer


def _read_name(written: bytes) -> str | None:
    """A name without its escapes; None: too long. What is no character becomes a replacement character."""
    if len(written) > MAX_NAME_BYTES:
        return None
    text = written.decode(errors="replace")
    if "\\" not in text:
        return text
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _LETTERS.get(found[2], "\ufffd"), text)
    # Halves of a pair, escaped one by one, become one character; a lone half becomes a replacement character.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
