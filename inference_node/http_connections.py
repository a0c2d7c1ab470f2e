"""HTTP/1.1 over kept connections, for streams of small events: the parser is C, and nothing stands between it and the
reader but a list.

A general client spends most of a short request on itself; this one does what `StreamingHttp` asks for and nothing
else. Framing is llhttp's, strict, so that two readers never disagree about where an answer ends.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final, TypeAlias, cast
from urllib.parse import urlsplit

from inference_node.http_answer import AnswerReader
from inference_node.streaming_http import StreamBrokenError, StreamedAnswer

_KEEP_SECONDS: Final = 3.0
"""How long an unused connection is kept: less than the five seconds after which the nodes' server closes it."""

_Origin: TypeAlias = "tuple[str, int, bool]"
"""Host, port, and whether it is encrypted."""


class _Connection(asyncio.Protocol):
    """One socket. `reader` is the answer under way; a byte while there is none is the other side's fault."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.reader: AnswerReader | None = None
        self.is_open = False
        self.unused_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # under uvloop it is not a subclass of it
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        if self.reader is None or not self.reader.feed(data):
            self.abort()

    def eof_received(self) -> None:
        self.is_open = False

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self.reader is not None:
            self.reader.lost(error)

    def begin(self, message: bytes, silence_seconds: float) -> AnswerReader:
        """Send a request; the answer to it comes next."""
        assert self.transport is not None
        self.reader = AnswerReader(self.transport, silence_seconds)
        self.transport.write(message)
        return self.reader

    def abort(self) -> None:
        """Close it now, without a farewell."""
        self.is_open = False
        if self.transport is not None:
            self.transport.abort()


class HttpConnections:
    """`StreamingHttp` over sockets of its own. Calling order: `post` at any time, `close` at the end."""

    def __init__(self, *, connect_seconds: float, silence_seconds: float, max_connections: int) -> None:
        self._connect_seconds, self._silence_seconds = connect_seconds, silence_seconds
        self._room = asyncio.Semaphore(max_connections)
        self._unused: dict[_Origin, deque[_Connection]] = {}
        self._used: set[_Connection] = set()
        self._tls: ssl.SSLContext | None = None
        self._has_given_up = False

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> AbstractAsyncContextManager[StreamedAnswer]:
        """See `StreamingHttp`. More requests than there may be connections wait for one."""
        return _Exchange(self, url, body, headers)

    async def begin(self, origin: _Origin, message: bytes) -> tuple[_Connection, AnswerReader]:
        """A connection with the head of the answer on it; it takes room until `end`."""
        await self._room.acquire()
        try:
            if self._has_given_up:
                raise StreamBrokenError("no more requests are made")
            return await self._begun(origin, message)
        except BaseException:
            self._room.release()
            raise

    def end(self, origin: _Origin, connection: _Connection, reader: AnswerReader) -> None:
        """The answer was read, or nobody reads it any more."""
        self._used.discard(connection)
        connection.reader = None
        reader.leave()
        if connection.is_open and reader.may_keep:
            self._keep(origin, connection)
        else:
            connection.abort()
        self._room.release()

    def give_up(self) -> None:
        """Break off every answer that is read, as its server could, and make no more requests: for whoever has to end
        and would rather say so to those that wait than be cut off with them."""
        self._has_given_up = True
        for connection in list(self._used):
            connection.abort()

    async def close(self) -> None:
        """Close every connection, used or not."""
        unused = [connection for kept in self._unused.values() for connection in kept]
        for connection in (*unused, *self._used):
            connection.abort()
        self._unused.clear()
        await asyncio.sleep(0)  # the turn in which sockets are closed

    async def _begun(self, origin: _Origin, message: bytes) -> tuple[_Connection, AnswerReader]:
        """A connection with the head of the answer on it."""
        kept = self._kept(origin)
        if kept is not None:
            reader = await self._head(kept, message, may_fail=True)
            if reader is not None:
                return kept, reader
            # It was closed while nobody used it, and we heard of that only now: nothing of this request was read.
        connection = await self._connected(origin)
        reader = await self._head(connection, message, may_fail=False)
        assert reader is not None
        return connection, reader

    async def _head(self, connection: _Connection, message: bytes, *, may_fail: bool) -> AnswerReader | None:
        self._used.add(connection)
        reader = connection.begin(message, self._silence_seconds)
        try:
            await reader.head()
        except BaseException as error:
            self._used.discard(connection)
            connection.reader = None
            reader.leave()
            connection.abort()
            if may_fail and isinstance(error, StreamBrokenError) and reader.was_lost_unread:
                return None
            raise
        return reader

    async def _connected(self, origin: _Origin) -> _Connection:
        host, port, is_encrypted = origin
        if is_encrypted and self._tls is None:
            self._tls = ssl.create_default_context()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await loop.create_connection(
                    _Connection, host, port, ssl=self._tls if is_encrypted else None
                )
        except TimeoutError:
            raise StreamBrokenError(f"no connection within {self._connect_seconds:g} s") from None
        except OSError as error:
            raise StreamBrokenError(f"no connection: {error}") from error
        return connection

    def _kept(self, origin: _Origin) -> _Connection | None:
        """The connection that was used last, so that those which are too many grow old."""
        kept = self._unused.get(origin)
        now = asyncio.get_running_loop().time()
        while kept:
            connection = kept.pop()
            if connection.is_open and now - connection.unused_since < _KEEP_SECONDS:
                return connection
            connection.abort()
        return None

    def _keep(self, origin: _Origin, connection: _Connection) -> None:
        kept = self._unused.setdefault(origin, deque())
        connection.unused_since = now = asyncio.get_running_loop().time()
        while kept and (not kept[0].is_open or now - kept[0].unused_since >= _KEEP_SECONDS):
            kept.popleft().abort()
        kept.append(connection)


class _Exchange(AbstractAsyncContextManager[StreamedAnswer]):
    """One request and its answer. Not a generator: those cost more than the rest of this."""

    __slots__ = ("_begun", "_body", "_connections", "_headers", "_origin", "_url")

    def __init__(self, connections: HttpConnections, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        self._connections, self._url, self._body, self._headers = connections, url, body, headers
        self._origin: _Origin
        self._begun: tuple[_Connection, AnswerReader]

    async def __aenter__(self) -> StreamedAnswer:
        self._origin, message = _message(self._url, self._body, self._headers)
        self._begun = await self._connections.begin(self._origin, message)
        return self._begun[1]

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connections.end(self._origin, *self._begun)


def _message(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[_Origin, bytes]:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise StreamBrokenError(f"{parts.scheme or 'no'} address of a server: http or https is needed")
    is_encrypted = parts.scheme == "https"
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    lines = [f"POST {path} HTTP/1.1", f"host: {parts.netloc.rpartition('@')[2]}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header has one line")
    head = "\r\n".join(lines) + "\r\n\r\n"
    origin = (parts.hostname, parts.port or (443 if is_encrypted else 80), is_encrypted)
    return origin, head.encode("latin-1") + body
