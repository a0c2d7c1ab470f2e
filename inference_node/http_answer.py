"""One answer of HTTP/1.1 while it arrives: what the parser makes of the bytes, and who waits for them."""

import asyncio
from collections.abc import Mapping
from typing import Final

import httptools

from inference_node.streaming_http import StreamBrokenError

_MAX_HEAD_BYTES: Final = 64 * 1024
"""Names and values of all headers and trailers together; no server of ours comes near it."""
_MAX_HELD_BYTES: Final = 256 * 1024
"""Of a body that its reader has not taken: past it the socket is not read, and the sender has to wait."""


class AnswerReader:
    """A `StreamedAnswer`, fed by its connection. Calling order: `head`, then `read`; `leave` in any case.

    One timer an answer, not one a read: it looks whether somebody has waited in vain since it was set.
    """

    def __init__(self, transport: asyncio.Transport, silence_seconds: float) -> None:
        self.status = 0
        self._headers: dict[str, str] = {}
        self._transport = transport
        self._silence_seconds = silence_seconds
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._held: list[bytes] = []
        self._num_held = self._num_head_bytes = 0
        self._has_head = self._is_complete = self._is_last = self._is_paused = self._has_bytes = False
        self._fault: str | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._waiting_since = 0.0
        self._timer = self._loop.call_later(silence_seconds, self._look)

    @property
    def headers(self) -> Mapping[str, str]:
        """See `StreamedAnswer`."""
        return self._headers

    @property
    def may_keep(self) -> bool:
        """Whether the connection may carry another request."""
        return self._is_complete and self._fault is None and not self._is_last

    @property
    def was_lost_unread(self) -> bool:
        """Whether the connection was closed before a single byte of the answer came."""
        return self._fault is not None and not self._has_bytes

    async def head(self) -> None:
        """Until status and headers are here. Raises StreamBrokenError."""
        while not self._has_head:
            await self._more()

    async def read(self) -> bytes:
        """See `StreamedAnswer`."""
        while not self._held:
            if self._is_complete:
                return b""
            await self._more()
        data = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        self._held.clear()
        self._num_held = 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    def leave(self) -> None:
        """Nobody reads any more."""
        self._timer.cancel()
        if self._is_paused and not self._transport.is_closing():
            self._transport.resume_reading()

    def feed(self, data: bytes) -> bool:
        """Take what came from the socket. False: this is no answer, and the connection is of no use."""
        if self._is_complete:
            self._fault = "bytes after the end of the answer"
            return False
        self._has_bytes = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fault = f"not HTTP: {error}"
        except httptools.HttpParserUpgrade:
            self._fault = "the other side wants to speak another protocol"
        self._wake()
        return self._fault is None

    def lost(self, error: Exception | None) -> None:
        """The connection is closed."""
        if not self._is_complete and self._fault is None:
            if error is None and self._has_head and not self._is_framed:
                self._is_complete = True  # such an answer ends with its connection
            else:
                self._fault = f"the connection broke off: {error}" if error else "the connection was closed"
        self._wake()

    @property
    def _is_framed(self) -> bool:
        return "content-length" in self._headers or "transfer-encoding" in self._headers

    # The parser's calls. What they raise, it wraps into an `HttpParserError`.

    def on_message_begin(self) -> None:
        """One answer to one request; what follows it in the same breath is not read."""
        if self._has_head:
            raise StreamBrokenError("bytes after the end of the answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header or a trailer."""
        self._num_head_bytes += len(name) + len(value)
        if self._num_head_bytes > _MAX_HEAD_BYTES:
            raise StreamBrokenError(f"headers of more than {_MAX_HEAD_BYTES} bytes")
        if not self._has_head:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Everything before the body."""
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._has_head = True
        else:
            self._headers.clear()  # an interim answer; the one that counts is still to come

    def on_body(self, data: bytes) -> None:
        """A part of the body."""
        self._held.append(data)
        self._num_held += len(data)
        if self._num_held > _MAX_HELD_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        """The end of the body."""
        self._is_complete = self._has_head
        self._is_last = not self._parser.should_keep_alive()  # later, the parser no longer knows

    async def _more(self) -> None:
        self._raise_fault()
        self._waiter = self._loop.create_future()
        self._waiting_since = self._loop.time()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if not self._held:
            self._raise_fault()

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise StreamBrokenError(self._fault)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _look(self) -> None:
        left = self._silence_seconds
        if self._waiter is not None:
            left -= self._loop.time() - self._waiting_since
            if left <= 0:
                self._fault = f"silent for {self._silence_seconds:g} s"
                self._wake()
                return
        self._timer = self._loop.call_later(left, self._look)
