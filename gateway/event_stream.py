"""Server-sent events of any API: they are made by the API and sent here.

Until a node has begun, a failure is a plain HTTP error. After the status line is out, the text that is sent is
provisional, and exactly one terminal event says what it is.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.caller_presence import PRESENCE
from gateway.caller_watch import CallerGoneError, CallerWatch
from gateway.record import RequestRecord
from gateway.services import Services

_log = structlog.get_logger(__name__)

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy that collects events defeats them
]


class EventSource(Protocol):
    """The events of one answer. Calling order: `events`; then, only where that raised, `failure`."""

    def events(self) -> AsyncGenerator[bytes, None]:
        """The events, the terminal one included.

        Raises:
            GatewayError: before the first event; after it, what goes wrong is a terminal event.
        """
        ...

    def failure(self) -> bytes:
        """The terminal event that says that the gateway itself has failed."""
        ...


class EventStream(Response):
    """The response of a streamed request; it runs the pipeline while it is sent."""

    def __init__(self, source: EventSource, services: Services, record: RequestRecord) -> None:
        super().__init__(media_type="text/event-stream")
        self._source = source
        self._services = services
        self._record = record
        self._has_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream.

        Raises:
            GatewayError: before anything was sent; the application answers it as any other.
        """
        async with CallerWatch(receive, self._services.tasks, scope.get(PRESENCE)):
            try:
                async with aclosing(self._source.events()) as events:
                    async for data in events:
                        await self._send(send, data)
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
            except CallerGoneError:
                raise
            except Exception:
                if not self._has_started:
                    raise
                # The status line said 200: the only honest end is an error event.
                _log.exception("stream failed", request_id=self._record.request_id)
                self._record.error_code = "internal_error"
                await send({"type": "http.response.body", "body": self._source.failure(), "more_body": False})

    async def _send(self, send: Send, data: bytes) -> None:
        # A caller that stops reading holds a sequence of the node: after this long it counts as gone.
        try:
            async with asyncio.timeout(self._services.settings.silence_seconds):
                if not self._has_started:
                    self._has_started = True
                    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
                await send({"type": "http.response.body", "body": data, "more_body": True})
        except TimeoutError:
            raise CallerGoneError from None
