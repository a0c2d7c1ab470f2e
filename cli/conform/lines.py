"""The input, line by line, in bounded memory; and whose line it is, however broken."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from registry.errors import ContractRejectedError
from registry.parsing import parse_json

MAX_LINE_BYTES = 32 * 1024 * 1024
"""A longer line is answered without being read: the message to a worker holds 64 MiB, the worker's parser less."""

_KEPT_BYTES = 64 * 1024
"""Of a line that is too long, for its `id`."""

_SKIP_BYTES = 1024 * 1024

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]:,]', re.DOTALL)

MAX_ID_CHARACTERS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLine:
    """One line without its end. `num_bytes` is what it had; `data` is a part of it if that is above the limit."""

    data: bytes
    num_bytes: int

    @property
    def is_whole(self) -> bool:
        """Whether `data` is the line."""
        return self.num_bytes == len(self.data)


def read_lines(stream: BinaryIO) -> Iterator[InputLine]:
    """The lines that are not blank."""
    while data := stream.readline(MAX_LINE_BYTES + 1):
        num_bytes = len(data)
        if num_bytes > MAX_LINE_BYTES and not data.endswith(b"\n"):
            data = data[:_KEPT_BYTES]
            while rest := stream.readline(_SKIP_BYTES):
                num_bytes += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield InputLine(data=data, num_bytes=num_bytes)
            continue
        data = data.rstrip(b"\r\n")
        if data.strip():
            yield InputLine(data=data, num_bytes=len(data))


def line_id(data: bytes) -> str | None:
    """The string under `id` in the outermost object, found without parsing, in a line that may be broken or cut.

    The last word on a line whose worker died, so it must not fail and costs one pass.
    """
    depth = 0
    previous = before = b""
    for match in _TOKEN.finditer(data):
        token = match.group()
        if token in b"{[":
            depth += 1
        elif token in b"}]":
            depth -= 1
        elif depth == 1 and token[:1] == b'"' and previous == b":" and before == b'"id"':
            return _decoded(token)
        before, previous = previous, token
    return None


def _decoded(token: bytes) -> str | None:
    try:
        value = parse_json(token, max_bytes=6 * MAX_ID_CHARACTERS, max_nesting=1)
    except ContractRejectedError:
        return None
    return value if isinstance(value, str) else None
