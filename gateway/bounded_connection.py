"""One caller's connection: the heads of its requests end, in bytes and in time, before anybody knows who sends them.

The server underneath bounds neither: a header of fifty megabytes holds the event loop for seconds, and a connection
that says nothing stays open for good. Calling order is the transport's and the parser's.
"""

import asyncio
import json
from asyncio import TimerHandle
from typing import Final, cast

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from gateway.caller_presence import PRESENCE, CallerPresence
from gateway.problems import connection_problem
from gateway.record import new_request_id

MAX_HEAD_BYTES: Final = 64 * 1024
"""Request line and headers together, and whatever stands between two pieces of a body or after the last."""
HEAD_SECONDS: Final = 30.0
"""From the connection, or from the answer before, to the end of a request's headers."""
LINGER_SECONDS: Final = 5.0
"""How long a body goes on being taken whose request has been answered: closed at once, the answer might be lost."""
MAX_AHEAD: Final = 16
"""Requests that wait for the answers before theirs; a connection with more, or with a long body among them, is closed.
Reading goes on meanwhile: nothing else tells that the caller has left."""


class BoundedConnection(HttpToolsProtocol):
    """Uvicorn's protocol, without websockets, and with ends."""

    head_seconds = HEAD_SECONDS
    linger_seconds = LINGER_SECONDS
    _num_pending_bytes = 0
    """Received since the parser last came to an end of anything."""
    _num_head_bytes = 0
    """Of the head that is being read, as far as the parser has told of it."""
    _is_head_over = False
    """Between the end of a request's headers and its own."""
    _is_resuming = False
    """While a parser is told of a head that another one has read."""
    _is_refused = False
    _deadline: TimerHandle | None = None
    _answered: RequestResponseCycle | None = None
    """The request that is being answered, whatever has been sent behind it."""
    _presence: CallerPresence
    """Of the caller of that request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The time for the first request begins."""
        super().connection_made(transport)
        self._close_in(self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever is making an answer has to hear of it: underneath, the last request that was sent does."""
        self._stop_deadline()
        self.pipeline.clear()
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()
            self._presence.leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, until something is no HTTP or too much of it."""
        if self._is_refused or self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        self._num_pending_bytes += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._refuse()
        else:
            if self._num_pending_bytes > MAX_HEAD_BYTES:
                self._refuse()

    def on_message_begin(self) -> None:
        """A head begins."""
        if self._is_resuming:
            return
        super().on_message_begin()
        self._num_head_bytes = 0

    def on_url(self, url: bytes) -> None:
        """A piece of the request line."""
        if self._is_resuming:
            return
        self._num_head_bytes += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; or a trailer after a chunked body, which says nothing here and must not pass for a header."""
        if self._is_head_over:
            return
        self._num_head_bytes += len(name) + len(value) + len(": \r\n")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Who sends this can be asked now, if it is not too much."""
        if self._is_resuming:
            return
        if self._num_head_bytes > MAX_HEAD_BYTES:
            raise _HeadTooLargeError  # out of the parser, as an error of its own
        super().on_headers_complete()
        self._is_head_over = True
        self._num_pending_bytes = 0
        self._stop_deadline()
        if self.pipeline:
            self.flow.resume_reading()
            if len(self.pipeline) > MAX_AHEAD:
                self.transport.close()

    def on_body(self, body: bytes) -> None:
        """A piece of the body, which whoever reads it bounds."""
        self._num_pending_bytes = 0
        super().on_body(body)
        if self.pipeline and len(self.cycle.body) > HIGH_WATER_LIMIT:
            self.transport.close()

    def on_message_complete(self) -> None:
        """The next head may begin."""
        if self.parser.should_upgrade() and self._framing():
            return  # the parser takes the body for another protocol: it is still to come
        self._is_head_over = False
        self._num_pending_bytes = 0
        if self.cycle.response_complete:
            self._close_in(self.head_seconds)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next head, or for the rest of a body that nobody reads any more."""
        was_waiting = bool(self.pipeline)
        super().on_response_complete()
        if not was_waiting and not self.transport.is_closing():
            self._close_in(self.linger_seconds if self._is_head_over else self.head_seconds)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        self._presence = CallerPresence()
        cast("dict[str, object]", cycle.scope)[PRESENCE] = self._presence
        super()._start_asgi_task(cycle, app)

    def _feed(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                # Nothing is upgraded to, and the request is as good as any: a body and what follows go on as HTTP.
                data = data[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                if self._is_head_over:
                    self._resume()
            else:
                return

    def _resume(self) -> None:
        framing = b"".join(b"%b: %b\r\n" % header for header in self._framing())
        self._is_resuming = True
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
        self._is_resuming = False

    def _framing(self) -> list[tuple[bytes, bytes]]:
        return [header for header in self.headers if header[0] in {b"content-length", b"transfer-encoding"}]

    def _refuse(self) -> None:
        self._is_refused = True
        # Declared otherwise underneath: there is no cycle before the first request.
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr]
            self.transport.close()  # in the middle of another answer there is no place for this one
            return
        is_too_large = max(self._num_head_bytes, self._num_pending_bytes) > MAX_HEAD_BYTES
        problem = connection_problem(max_bytes=MAX_HEAD_BYTES if is_too_large else None)
        request_id = new_request_id()
        body = json.dumps(problem.body(request_id)).encode()
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nx-request-id: {request_id}\r\n"
        self.transport.write(STATUS_LINE[problem.status] + head.encode() + b"connection: close\r\n\r\n" + body)
        # What is on its way is let pass: a connection that is closed before it takes the answer with it.
        self.transport.write_eof()
        self._close_in(self.linger_seconds)

    def _close_in(self, seconds: float) -> None:
        self._stop_deadline()
        self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class _HeadTooLargeError(Exception):
    """Leaves the parser's callback; the parser makes an error of its own of it."""
