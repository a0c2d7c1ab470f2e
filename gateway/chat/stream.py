"""A chat completion as server-sent events.

Until a node has begun, a failure is a plain HTTP error. After the status line is out, the text that is sent is
provisional; exactly one terminal event says what it is: a finish reason with the class, or an error.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.auth.authenticator import Caller
from gateway.caller_watch import CallerGoneError, CallerWatch
from gateway.chat.envelope import ChunkWriter
from gateway.envelope import DONE, output_error, sse_data
from gateway.intent import GenerationIntent
from gateway.outcome import Outcome
from gateway.problems import internal_problem, problem_of
from gateway.record import RequestRecord
from gateway.services import Services

_log = structlog.get_logger(__name__)

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # a proxy that collects events defeats them
]


class ChatStream(Response):
    """The response of a streamed request; it runs the pipeline while it is sent."""

    def __init__(self, services: Services, intent: GenerationIntent, caller: Caller, record: RequestRecord) -> None:
        super().__init__(media_type="text/event-stream")
        self._services = services
        self._intent = intent
        self._caller = caller
        self._record = record
        self._has_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's signature
        """Serve the stream.

        Raises:
            GatewayError: before anything was sent; the application answers it as any other.
        """
        async with CallerWatch(receive, self._services.tasks):
            try:
                async with aclosing(self._events()) as events:
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
                problem = sse_data(internal_problem().body(self._record.request_id))
                await send({"type": "http.response.body", "body": problem + DONE, "more_body": False})

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

    async def _events(self) -> AsyncGenerator[bytes, None]:
        record, intent = self._record, self._intent
        async with self._services.pipeline.generate(intent, self._caller, record) as generation:
            chunks = ChunkWriter(record, model=generation.offer.model, include_usage=intent.include_usage)
            yield chunks.role()
            async for text in generation.texts():
                yield chunks.text(text)
            outcome = await generation.outcome()
            record.conclude(outcome, generation.first_token_seconds)
        yield self._terminal(outcome, chunks) + DONE

    def _terminal(self, outcome: Outcome, chunks: ChunkWriter) -> bytes:
        error = output_error(outcome, self._record)
        if error is None:
            return chunks.finish(outcome, self._record)
        problem = problem_of(error)
        self._record.error_code = problem.code
        return sse_data(problem.body(self._record.request_id))
