"""The streamed answer of `POST /v1/generate`: one JSON event a line, until `Finish` or until nobody reads.

Where there is nothing to tell while the node computes, because a sequence waits for its place or for a long prompt, a
blank line now and then says that it does: a client may take silence for a node that has gone.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inference_node.metrics import NodeMetrics
from inference_node.outbox import Outbox
from inference_node.protocol import Finish

_log = structlog.get_logger(__name__)

_MEDIA_TYPE: Final = "application/x-ndjson"

PULSE_SECONDS: Final = 5.0
"""Between two looks at whether a stream that says nothing should say that it lives; gateways wait for 60 s."""


class EventStreamResponse(Response):
    """Writes an outbox to a connection.

    `on_end` is called exactly once: after the last event, when the client closes the connection, or when it takes
    nothing for `stall_seconds`. The server's own buffers hold a slow reader back; the outbox holds the rest.
    A stream that says nothing is kept alive for as long as `metrics` count steps: a loop that hangs stays silent.
    """

    media_type = _MEDIA_TYPE

    def __init__(
        self,
        outbox: Outbox,
        *,
        metrics: NodeMetrics,
        stall_seconds: float,
        on_end: Callable[[], None],
        pulse_seconds: float = PULSE_SECONDS,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._outbox = outbox
        self._stall_seconds = stall_seconds
        self._on_end = on_end
        self._metrics = metrics
        self._pulse_seconds = pulse_seconds
        self._has_spoken = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the ASGI signature
        """Serve one connection."""
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._write(send))
                beating = tasks.create_task(self._beat())
                watching = tasks.create_task(_closed_by_client(receive))
                await asyncio.wait({writing, watching}, return_when=asyncio.FIRST_COMPLETED)
                writing.cancel()
                beating.cancel()
                watching.cancel()
        except* (TimeoutError, OSError):
            _log.info("reader_gone")  # it stalled, or its connection broke: there is nobody to tell
        finally:
            self._on_end()

    async def _write(self, send: Send) -> None:
        await self._send(send, {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        is_over = False
        while not is_over:
            events = await self._outbox.next_events()
            is_over = any(isinstance(event, Finish) for event in events)
            lines = "".join(event.model_dump_json() + "\n" for event in events) or "\n"
            await self._send(send, {"type": "http.response.body", "body": lines.encode(), "more_body": not is_over})
            self._has_spoken = self._has_spoken or bool(events)

    async def _beat(self) -> None:
        num_steps = self._metrics.num_steps
        while True:
            self._has_spoken = False
            await asyncio.sleep(self._pulse_seconds)
            if self._metrics.num_steps != num_steps and not self._has_spoken:
                self._outbox.wake_reader()
            num_steps = self._metrics.num_steps

    async def _send(self, send: Send, message: dict[str, object]) -> None:
        # Not `wait_for`: where sending ends in the moment of the cancellation, it forgets that it was cancelled.
        async with asyncio.timeout(self._stall_seconds):
            await send(message)


async def _closed_by_client(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
