"""One server that speaks OpenAI's API: asked for a streamed chat completion, and never believed about contracts.

Of a request only what this module spells goes there: no field of a caller's passes through.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import structlog

from gateway.backends.errors import UpstreamFault, UpstreamRefusedError
from gateway.backends.event_lines import BrokenStreamError, chunks
from gateway.backends.events import OpenAnswer, UpstreamRequest
from gateway.backends.faults import MAX_FAULT_BYTES, fault_of, refusal
from gateway.backends.protocol import Chunk
from gateway.backends.reading import error_in, read_answer
from gateway.backends.settings import OpenAIBackendSettings
from gateway.backends.spelling import spelled
from gateway.backends.tally import Tally
from gateway.budgets.meter import Meter
from gateway.metrics import GatewayMetrics
from inference_node.streaming_http import StreamBrokenError, StreamedAnswer, StreamingHttp

_log = structlog.get_logger(__name__)

_STREAM_TYPE: Final = "text/event-stream"
_AGAIN: Final = frozenset({UpstreamFault.UNREACHABLE, UpstreamFault.FAILED, UpstreamFault.OVERLOADED})
_PAUSE_SECONDS: Final = 0.2
_DRAIN_SECONDS: Final = 0.02
_MAX_PAUSE_SECONDS: Final = 1.0
"""A server that asks for more patience is not waited for: the caller is told."""


class OpenAIServer:
    """One server and the connections to it."""

    def __init__(self, settings: OpenAIBackendSettings, streams: StreamingHttp, metrics: GatewayMetrics) -> None:
        self.settings = settings
        self._streams = streams
        self._requests = metrics.backend_requests
        self._url = f"{settings.base_url}/chat/completions"

    @asynccontextmanager
    async def open(
        self, model: str, request: UpstreamRequest, meter: Meter, *, is_retry: bool = False
    ) -> AsyncIterator[OpenAnswer]:
        """Ask for an answer of `model`, as callers call it; leaving the block closes the connection, which ends it.

        What it takes is put on `meter` once: when the answer ends, or when the block is left. `is_retry` says that
        the same request has been answered before.

        Raises:
            UpstreamRefusedError: nothing has begun, also after asking again where that may help.
        """
        upstream_model = self.settings.models[model]
        attempt = 1
        while True:
            async with AsyncExitStack() as stack:
                try:
                    events = await self._begin(spelled(self.settings, upstream_model, request), stack)
                except UpstreamRefusedError as error:
                    if error.fault is UpstreamFault.REQUEST and request.response_format is not None:
                        # A hint is no condition: the text is validated with and without.
                        request, pause = replace(request, response_format=None), 0.0
                    else:
                        pause = self._pause(error, attempt)
                        attempt += 1
                else:
                    self._count("begun")
                    is_hinted = request.response_format is not None
                    tally = Tally(meter, request.messages, is_retry=is_retry)
                    stack.callback(tally.close)
                    yield OpenAnswer(events=read_answer(events, tally, self.settings.name, is_hinted=is_hinted))
                    return
            await asyncio.sleep(pause)

    async def _begin(self, body: bytes, stack: AsyncExitStack) -> AsyncIterator[Chunk]:
        """The chunks of an answer whose first one is there."""
        headers = {"content-type": "application/json", "accept": _STREAM_TYPE, "accept-encoding": "identity"}
        key = self._key()
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        try:
            answer = await stack.enter_async_context(self._streams.post(self._url, body, headers))
            if answer.status != HTTPStatus.OK or not _is_stream(answer):
                raise self._refused(answer, await _fault_body(answer))
            stack.push_async_callback(_drain, answer)
            rest = await stack.enter_async_context(aclosing(chunks(_pieces(answer))))
            first = await anext(rest, None)
        except StreamBrokenError as error:
            raise self._failed(UpstreamFault.UNREACHABLE, why=error.reason) from error
        except BrokenStreamError as error:
            raise self._failed(UpstreamFault.UNREADABLE, why=error.reason) from error
        if first is None:
            raise self._failed(UpstreamFault.UNREADABLE, why="an empty stream")
        said = error_in(first)
        if said is not None:
            raise self._failed(fault_of(answer.status, said), why=said.code or said.type or "an error event")
        return _after(first, rest)

    def _pause(self, error: UpstreamRefusedError, attempt: int) -> float:
        """How long to wait before asking again. Raises `error` where that does not help, or would take too long."""
        if error.fault not in _AGAIN or attempt == self.settings.max_attempts:
            raise error
        asked = error.retry_after_seconds
        if asked is None:
            return float(_PAUSE_SECONDS * 2 ** (attempt - 1))
        if asked > _MAX_PAUSE_SECONDS:
            raise error
        return asked

    def _key(self) -> str | None:
        try:
            key = self.settings.key
        except (OSError, UnicodeDecodeError):
            raise self._failed(UpstreamFault.CREDENTIALS, why="the file of the key cannot be read") from None
        if key is not None and not (key.isascii() and key.isprintable()):
            raise self._failed(UpstreamFault.CREDENTIALS, why="the key is not printable ASCII")
        return key

    def _refused(self, answer: StreamedAnswer, body: bytes) -> UpstreamRefusedError:
        error, said = refusal(answer.status, body, answer.headers)
        self._count(error.fault)
        _log.warning(
            "a backend refused",
            backend=self.settings.name,
            fault=error.fault,
            status=answer.status,
            code=said.code,
            type=said.type,
        )
        return error

    def _failed(self, fault: UpstreamFault, *, why: str) -> UpstreamRefusedError:
        self._count(fault)
        _log.warning("a backend failed", backend=self.settings.name, fault=fault, why=why)
        return UpstreamRefusedError(fault)

    def _count(self, outcome: str) -> None:
        self._requests.labels(backend=self.settings.name, outcome=outcome).inc()


async def _after(first: Chunk, rest: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    yield first
    async for chunk in rest:
        yield chunk


def _is_stream(answer: StreamedAnswer) -> bool:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower() == _STREAM_TYPE


async def _pieces(answer: StreamedAnswer) -> AsyncIterator[bytes]:
    while piece := await answer.read():
        yield piece


async def _fault_body(answer: StreamedAnswer) -> bytes:
    body = b""
    while len(body) <= MAX_FAULT_BYTES and (piece := await answer.read()):
        body += piece
    return body


async def _drain(answer: StreamedAnswer) -> None:
    """Take the end of a body that is over but for its frame, so that the connection may be used again."""
    with suppress(StreamBrokenError, TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            await answer.read()
