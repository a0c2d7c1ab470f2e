"""Reads the metadata of a GGUF file, and the shapes of its tensors, in bounded memory and without the tensors.

The format (ggml's `gguf.md`): magic, version, number of tensors and of fields; then the fields, each a name, a type and
a value; then per tensor its name, shape, type and offset. Integers are little-endian. Versions 2 and 3 are read.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizers.reading import MAX_FILE_BYTES

_MAX_FIELDS: Final = 10_000
_MAX_TENSORS: Final = 100_000
_MAX_ITEMS: Final = 4 * 1024 * 1024
"""Of all lists together: a large vocabulary's tokens, types, scores and merges are a quarter of it."""
_MAX_DIMENSIONS: Final = 4

_NUMBERS: Final = {
    0: struct.Struct("<B"), 1: struct.Struct("<b"), 2: struct.Struct("<H"), 3: struct.Struct("<h"),
    4: struct.Struct("<I"), 5: struct.Struct("<i"), 6: struct.Struct("<f"), 7: struct.Struct("<?"),
    10: struct.Struct("<Q"), 11: struct.Struct("<q"), 12: struct.Struct("<d"),
}  # fmt: skip
_STRING: Final = 8
_LIST: Final = 9
_U32: Final = _NUMBERS[4]
_U64: Final = _NUMBERS[10]


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """`fields` in Python's own types; `shapes` by the tensor's name, the fastest-running dimension first."""

    fields: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]


def read_gguf_header(path: Path) -> GgufHeader:
    """The header of the file at `path`. Raises TokenizerError: not a GGUF file, broken off, or past a limit."""
    try:
        if not path.is_file():
            raise TokenizerError("cannot be read: no such file", path=str(path))
        with path.open("rb", buffering=1024 * 1024) as stream:
            return _Reader(stream, str(path)).header()
    except OSError as error:
        raise TokenizerError(f"cannot be read: {error}", path=str(path)) from error


class _Reader:
    """Goes through a header once, and counts what it has taken against the limits."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream, self._path = stream, path
        self._bytes_left, self._items_left = MAX_FILE_BYTES, _MAX_ITEMS

    def header(self) -> GgufHeader:
        if self._take(4) != b"GGUF":
            raise self._error("not a GGUF file")
        version = self._number(_U32)
        if version not in {2, 3}:
            raise self._error(f"GGUF version {version}; 2 and 3 are read, little-endian")
        num_tensors, num_fields = self._number(_U64), self._number(_U64)
        if num_tensors > _MAX_TENSORS or num_fields > _MAX_FIELDS:
            raise self._error(
                f"{num_tensors} tensors and {num_fields} fields; {_MAX_TENSORS} and {_MAX_FIELDS} are read"
            )
        fields: dict[str, Any] = {}
        for _ in range(num_fields):
            name = self._text()
            if name in fields:
                raise self._error(f"field {name[:80]!r} is there twice")
            fields[name] = self._value(self._number(_U32))
        shapes = {}
        for _ in range(num_tensors):
            name = self._text()
            num_dimensions = self._number(_U32)
            if num_dimensions > _MAX_DIMENSIONS:
                raise self._error(f"tensor {name[:80]!r} has {num_dimensions} dimensions")
            shapes[name] = tuple(self._number(_U64) for _ in range(num_dimensions))
            self._take(_U32.size + _U64.size)  # type and offset
        return GgufHeader(fields=fields, shapes=shapes)

    def _value(self, kind: int) -> Any:
        if kind == _LIST:
            return self._items()
        if kind == _STRING:
            return self._text()
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        raise self._error(f"a field has the unknown type {kind}")

    def _items(self) -> list[Any]:
        kind, count = self._number(_U32), self._number(_U64)
        if count > self._items_left:
            raise self._error(f"its lists have more than {_MAX_ITEMS} items")
        self._items_left -= count
        if kind == _STRING:
            return [self._text() for _ in range(count)]
        if kind in _NUMBERS:
            number = _NUMBERS[kind]
            return [value for (value,) in number.iter_unpack(self._take(count * number.size))]
        raise self._error(f"a list has items of the unknown or nested type {kind}")

    def _text(self) -> str:
        try:
            return self._take(self._number(_U64)).decode()
        except UnicodeDecodeError as error:
            raise self._error(f"a text is not UTF-8: {error.reason}") from error

    def _number(self, kind: struct.Struct) -> Any:
        return kind.unpack(self._take(kind.size))[0]

    def _take(self, size: int) -> bytes:
        if size > self._bytes_left:
            raise self._error(f"its header is larger than {MAX_FILE_BYTES} bytes")
        self._bytes_left -= size
        data = self._stream.read(size)
        if len(data) != size:
            raise self._error("broken off inside its header")
        return data

    def _error(self, reason: str) -> TokenizerError:
        return TokenizerError(reason, path=self._path)
