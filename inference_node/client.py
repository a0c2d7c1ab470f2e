"""The caller's side of a node's protocol. Imports no engine, so that a gateway can use it without torch."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final, Literal, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from inference_node.adapters.protocol import AdapterRemoved, AdapterStored, StoredAdapters
from inference_node.errors import NodeFaultError, NodeUnavailableError
from inference_node.joining import joined
from inference_node.protocol import (
    ArtifactStored,
    Finish,
    GenerateEvent,
    GenerateRequest,
    NodeFault,
    NodeIdentity,
    PinnedPrefix,
    PinnedPrefixes,
    PrefixRequest,
    TokenEvent,
)
from inference_node.streaming_http import HttpxStreams, StreamBrokenError, StreamedAnswer, StreamingHttp

_MAX_EVENT_BYTES: Final = 1 << 20
"""One event line. A line carries at most the text of one context, far below this; more is not a node's answer."""

_MAX_ANSWER_BYTES: Final = 1 << 20
"""The body of an answer that is not a stream."""

_MAX_SNAPSHOT_BYTES: Final = 1 << 30
"""A saved sequence. A node's own limit (`max_snapshot_bytes`) comes first."""

_BYTES_HEADERS: Final = {"content-type": "application/octet-stream", "accept-encoding": "identity"}
_GENERATE_HEADERS: Final = {"content-type": "application/json", "accept-encoding": "identity"}
_EVENT: Final[TypeAdapter[GenerateEvent]] = TypeAdapter(GenerateEvent)
_EVENTS: Final[TypeAdapter[list[GenerateEvent]]] = TypeAdapter(list[GenerateEvent])
_Answer = TypeVar("_Answer", bound=BaseModel)


class NodeClient:
    """One node. Sequences go over `streams`, which bounds the silence between two events; the rest over `http`, whose
    timeouts are its own. Without `streams`, all goes over `http`."""

    def __init__(self, base_url: str, http: httpx.AsyncClient, streams: StreamingHttp | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self._http = http
        self._streams = streams or HttpxStreams(http)
        self._generate_url = f"{self.base_url}/v1/generate"

    async def identity(self) -> NodeIdentity:
        """Who this node is.

        Raises:
            NodeUnavailableError: it cannot be reached or is not one.
            NodeFaultError: it is still loading, or broken.
        """
        return await self._ask("GET", "/v1/identity", NodeIdentity)

    async def put_artifact(self, key: str, frame: bytes) -> ArtifactStored:
        """Hand over an artifact's frame under its key.

        Raises:
            NodeUnavailableError: as `identity`.
            NodeFaultError: the node does not take it: forged, for another tokenizer, or its grammar fails there.
        """
        return await self._ask("PUT", f"/v1/artifacts/{key}", ArtifactStored, content=frame)

    async def put_adapter(self, digest: str, body: bytes) -> AdapterStored:
        """Hand over an adapter's file under its digest. Raises as `put_artifact`."""
        return await self._ask("PUT", f"/v1/adapters/{digest}", AdapterStored, content=body)

    async def adapters(self) -> StoredAdapters:
        """The adapters that the node has, and the digest of the base that theirs have to name. Raises as `identity`."""
        return await self._ask("GET", "/v1/adapters", StoredAdapters)

    async def remove_adapter(self, digest: str) -> AdapterRemoved:
        """Let an adapter go. Raises as `identity`; in use or unknown, it is refused."""
        return await self._ask("DELETE", f"/v1/adapters/{digest}", AdapterRemoved)

    def generate(self, request: GenerateRequest) -> AbstractAsyncContextManager[AsyncIterator[GenerateEvent]]:
        """Decode one sequence: `async with client.generate(r) as events: async for event in events: …`.

        The iterator ends after `Finish`; tokens that came in one piece, because the reader was behind, are one event.
        Leaving the block earlier closes the connection, which cancels the sequence within one step of the node.

        Raises:
            NodeFaultError: refused before the first event.
            NodeUnavailableError: no node, or (from the iterator) a stream that broke off before its `Finish`.
        """
        return self._streamed(self._generate_url, request.model_dump_json().encode(), _GENERATE_HEADERS)

    async def save(self, request_id: str, *, keys_values: Literal["include", "recompute"] = "include") -> bytes:
        """Take a sequence out as bytes; its stream ends as `saved`. Whoever has the bytes can `restore` it.

        Raises:
            NodeUnavailableError: as `identity`; the sequence may be out and lost.
            NodeFaultError: nobody by that name decodes there, or there is too much of it; then it goes on.
        """
        url = f"{self.base_url}/v1/sequences/{quote(request_id, safe='')}:save?keys_values={keys_values}"
        try:
            async with self._streams.post(url, b"", _BYTES_HEADERS) as answer:
                if answer.status != httpx.codes.OK:
                    raise self._fault(answer.status, answer.headers, await self._whole(answer))
                return await self._whole(answer, max_bytes=_MAX_SNAPSHOT_BYTES)
        except StreamBrokenError as error:
            raise self._unavailable(error.reason) from error

    @asynccontextmanager
    async def restore(
        self, snapshot: bytes, *, request_id: str | None = None
    ) -> AsyncIterator[AsyncIterator[GenerateEvent]]:
        """Go on with a saved sequence, under its own request id or another: the events that are still to come.

        Raises: as `generate`.
        """
        query = "" if request_id is None else f"?request_id={quote(request_id, safe='')}"
        async with self._streamed(f"{self.base_url}/v1/sequences:restore{query}", snapshot, _BYTES_HEADERS) as events:
            yield events

    async def pin_prefix(self, name: str, request: PrefixRequest) -> PinnedPrefix:
        """Have the beginning of prompts computed and kept, under a name. Raises: as `put_artifact`."""
        body = request.model_dump_json().encode()
        return await self._ask("PUT", _prefix_path(name), PinnedPrefix, content=body)

    async def pinned_prefixes(self) -> PinnedPrefixes:
        """What is kept. Raises: as `identity`."""
        return await self._ask("GET", "/v1/prefixes", PinnedPrefixes)

    async def unpin_prefix(self, name: str) -> PinnedPrefix:
        """Let it go when its room is needed. Raises: as `put_artifact`."""
        return await self._ask("DELETE", _prefix_path(name), PinnedPrefix)

    @asynccontextmanager
    async def _streamed(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[GenerateEvent]]:
        try:
            async with self._streams.post(url, body, headers) as answer:
                if answer.status != httpx.codes.OK:
                    raise self._fault(answer.status, answer.headers, await self._whole(answer))
                yield self._events(answer)
        except StreamBrokenError as error:
            raise self._unavailable(error.reason) from error

    async def _events(self, answer: StreamedAnswer) -> AsyncIterator[GenerateEvent]:
        pending = b""
        while True:
            try:
                chunk = await answer.read()
            except StreamBrokenError as error:
                raise self._unavailable(f"the stream broke off: {error.reason}") from error
            if not chunk:
                raise self._unavailable("the stream ended without its finish event")
            *lines, pending = (pending + chunk).split(b"\n")
            # A blank line is no event: the node has nothing to tell, and is there.
            for event in self._pieces([line for line in lines if line]):
                yield event
                if isinstance(event, Finish):
                    return
            if len(pending) > _MAX_EVENT_BYTES:
                raise self._unavailable(f"an event is larger than {_MAX_EVENT_BYTES} bytes")

    async def _whole(self, answer: StreamedAnswer, *, max_bytes: int = _MAX_ANSWER_BYTES) -> bytes:
        body = bytearray()
        while chunk := await answer.read():
            body += chunk
            if len(body) > max_bytes:
                raise self._unavailable(f"an answer is larger than {max_bytes} bytes")
        return bytes(body)

    def _pieces(self, lines: list[bytes]) -> Iterator[GenerateEvent]:
        """What the lines say, up to the first that says nothing; tokens that follow each other as one event."""
        tokens: list[TokenEvent] = []
        try:
            for event in self._events_of(lines):
                if isinstance(event, TokenEvent):
                    tokens.append(event)
                    continue
                if tokens:
                    yield from joined(tokens)
                    tokens = []
                yield event
        except NodeUnavailableError:
            if tokens:
                yield from joined(tokens)
            raise
        if tokens:
            yield from joined(tokens)

    def _events_of(self, lines: list[bytes]) -> Iterator[GenerateEvent]:
        """The event of each line, until one is none."""
        if len(lines) > 1:
            # In one go, which costs half; where anything is wrong with it, line by line, to say with which.
            with suppress(ValidationError):
                events = _EVENTS.validate_json(b"[" + b",".join(lines) + b"]")
                if len(events) == len(lines):
                    return iter(events)
        return map(self._event, lines)

    def _event(self, line: bytes) -> GenerateEvent:
        try:
            return _EVENT.validate_json(line)
        except ValidationError as error:
            raise self._unavailable(f"unreadable event ({error.error_count()} faults)") from error

    async def _ask(self, method: str, path: str, answer: type[_Answer], *, content: bytes | None = None) -> _Answer:
        try:
            async with self._http.stream(
                method,
                self.base_url + path,
                content=content,
                headers={} if content is None else {"content-type": "application/octet-stream"},
            ) as response:
                body = await self._read_bounded(response)
        except httpx.HTTPError as error:
            raise self._unavailable(_reason(error)) from error
        if response.status_code != httpx.codes.OK:
            raise self._fault(response.status_code, response.headers, body)
        try:
            return answer.model_validate_json(body)
        except ValidationError as error:
            raise self._unavailable(f"unreadable answer to {method} {path}") from error

    async def _read_bounded(self, response: httpx.Response) -> bytes:
        body = b""
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MAX_ANSWER_BYTES:
                raise self._unavailable(f"an answer is larger than {_MAX_ANSWER_BYTES} bytes")
        return body

    def _fault(self, status: int, headers: Mapping[str, str], body: bytes) -> NodeFaultError | NodeUnavailableError:
        try:
            fault = NodeFault.model_validate_json(body)
        except ValidationError:
            return self._unavailable(f"status {status} without a fault")
        return NodeFaultError(status=status, fault=fault, retry_after_seconds=_retry_after(headers))

    def _unavailable(self, reason: str) -> NodeUnavailableError:
        return NodeUnavailableError(base_url=self.base_url, reason=reason)


def _prefix_path(name: str) -> str:
    return f"/v1/prefixes/{quote(name, safe='')}"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _reason(error: httpx.HTTPError) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
