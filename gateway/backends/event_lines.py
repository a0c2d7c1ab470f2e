"""The `data:` objects of a stream of server-sent events, bounded whatever a server sends."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

from gateway.backends.protocol import Chunk

MAX_LINE_BYTES: Final = 1024 * 1024
MAX_STREAM_BYTES: Final = 64 * 1024 * 1024
"""A hundred bytes of envelope a token and more: far above any answer that could be judged."""
_DONE: Final = b"[DONE]"


class BrokenStreamError(Exception):
    """What comes is not a stream of this kind; `reason` is for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


async def chunks(pieces: AsyncIterator[bytes]) -> AsyncGenerator[Chunk, None]:
    """The objects, to `[DONE]` or the end of the pieces.

    Comments, names of events and blank lines are passed over. An event is one line: no server of this API splits one.

    Raises:
        BrokenStreamError: a line is too long, the stream is, or a `data:` line is no object of this API.
    """
    pending = b""
    num_bytes = 0
    async for piece in pieces:
        num_bytes += len(piece)
        if num_bytes > MAX_STREAM_BYTES:
            raise BrokenStreamError(f"the stream is longer than {MAX_STREAM_BYTES} bytes")
        *lines, pending = (pending + piece).split(b"\n")
        for line in lines:
            data = _data(line)
            if data == _DONE:
                return
            if data:
                yield _chunk(data)
        if len(pending) > MAX_LINE_BYTES:
            raise BrokenStreamError(f"a line is longer than {MAX_LINE_BYTES} bytes")


def _data(line: bytes) -> bytes:
    return line[5:].strip() if line.startswith(b"data:") else b""


def _chunk(data: bytes) -> Chunk:
    try:
        return Chunk.model_validate_json(data)
    except ValueError:  # pydantic's own error is one; its text holds the input
        raise BrokenStreamError("a `data:` line is no chunk of a chat completion") from None
