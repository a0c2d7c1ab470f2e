"""Answers of generations on their way to be kept, and when they are given again. What is kept is packed."""

import zlib
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from gateway.completion import CompletionClass
from gateway.event_stream import EventStream
from gateway.generation_lease import GenerationLease
from gateway.record import RequestRecord
from registry.store.bounds import MAX_REPLAY_BYTES
from registry.store.idempotency import Replay

MAX_KEPT_BYTES: Final = 32 * 1024 * 1024
"""Of one answer before it is packed; packed, `MAX_REPLAY_BYTES`. A stream packs to about a twentieth."""
_PACKED: Final = ":packed"
"""A name that no header has; it stands among the kept ones."""
_LEVEL: Final = 1
REPLAYED_HEADER: Final = "Idempotent-Replayed"
NOT_KEPT_HEADER: Final = "x-schemagate-idempotency"
_NOT_KEPT_COMMENT: Final = b": not kept for its Idempotency-Key\n\n"
"""A line of a stream that its readers pass over."""
_EVENT_END: Final = b"\n\n"
_FINAL: Final = frozenset(
    {
        CompletionClass.COMPLETE,
        CompletionClass.REFUSED,
        CompletionClass.TRUNCATED,
        CompletionClass.STOPPED,
        CompletionClass.IMPOSSIBLE,
        CompletionClass.INVALID,
    }
)
"""What a finished answer is. The other classes say that there is none."""


class _Packer:
    """Packs an answer as it comes, within both bounds."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(_LEVEL)
        self._packed = bytearray()
        self._num_bytes = 0
        self.is_over = False

    def add(self, data: bytes) -> None:
        """More of the answer; past a bound, nothing is held any more."""
        if self.is_over:
            return
        self._num_bytes += len(data)
        self._packed += self._compressor.compress(data)
        if self._num_bytes > MAX_KEPT_BYTES or len(self._packed) > MAX_REPLAY_BYTES:
            self.is_over = True
            self._packed.clear()

    def packed(self) -> bytes | None:
        """The whole answer, packed; None where it is over a bound."""
        self._packed += self._compressor.flush()
        return None if self.is_over or len(self._packed) > MAX_REPLAY_BYTES else bytes(self._packed)


async def finish_whole(response: Response, lease: GenerationLease) -> None:
    """Keep a whole answer; its headers say where that failed."""
    packer = _Packer()
    packer.add(bytes(response.body))
    packed = packer.packed()
    if packed is None:
        await lease.free()
        is_kept = False
    else:
        is_kept = await _keep(lease, response.status_code, {**response.headers}, packed)
    if not is_kept:
        response.headers[NOT_KEPT_HEADER] = "not_kept"


class KeptStream(Response):
    """A stream that is kept while it is sent."""

    def __init__(self, stream: EventStream, lease: GenerationLease, record: RequestRecord) -> None:
        super().__init__(media_type="text/event-stream")
        self._stream = stream
        self._lease = lease
        self._record = record
        self._packer = _Packer()
        self._status = 200
        self._sent_headers: dict[str, str] = {}
        self._is_told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream.

        Raises:
            GatewayError: before anything was sent.
        """

        async def send_and_keep(message: Message) -> None:
            await send(self._noted(message))

        try:
            await self._stream(scope, receive, send_and_keep)
        except BaseException as error:
            await self._lease.end_with(error)
            raise
        packed = self._packer.packed()
        is_final = self._record.completion in _FINAL and self._record.error_code != "internal_error"
        if packed is None or not is_final:
            await self._lease.free()
        else:
            await _keep(self._lease, self._status, self._sent_headers, packed)

    def _noted(self, message: Message) -> Message:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._sent_headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
            return message
        data: bytes = message.get("body", b"")
        self._packer.add(data)
        if self._packer.is_over and not self._is_told and data.endswith(_EVENT_END):
            self._is_told = True
            # Before the event, because readers stop at the last one.
            told: dict[str, Any] = {**message, "body": _NOT_KEPT_COMMENT + data}
            return told
        return message


def replayed(replay: Replay) -> Response:
    """A kept answer as it was, and a header that says so."""
    headers = {name: value for name, value in replay.headers.items() if name != _PACKED}
    body = replay.body
    if _PACKED in replay.headers:
        unpacker = zlib.decompressobj()
        body = unpacker.decompress(replay.body, MAX_KEPT_BYTES)
    if headers.get("content-type", "").startswith("text/event-stream"):
        headers |= {"cache-control": "no-store", "x-accel-buffering": "no"}
    return Response(body, status_code=replay.status, headers=headers | {REPLAYED_HEADER: "true"})


async def _keep(lease: GenerationLease, status: int, headers: dict[str, str], packed: bytes) -> bool:
    return await lease.keep(status=status, headers=headers | {_PACKED: "zlib"}, body=packed)
