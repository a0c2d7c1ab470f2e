"""One POST whose answer is read as it comes: what a client of nodes needs of HTTP, and no more.

`inference_node.http_connections` speaks it over sockets; `HttpxStreams` over any transport of httpx, for whoever has
one already.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import httpx


class StreamBrokenError(Exception):
    """No connection, or one that broke off, fell silent, or spoke something that is not HTTP."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class StreamedAnswer(Protocol):
    """An answer whose head is here. Calling order: `read` until it is empty, or leave the block earlier."""

    @property
    def status(self) -> int:
        """The status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """By names in lower case; of a name that came twice, the last value."""
        ...

    async def read(self) -> bytes:
        """What of the body has come since the last call, at least a byte; empty at the end.

        Raises:
            StreamBrokenError: it ended before its end.
        """
        ...


class StreamingHttp(Protocol):
    """Sends requests. Safe for any number at one time."""

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> AbstractAsyncContextManager[StreamedAnswer]:
        """Send `body` and wait for the head of the answer. Leaving the block before the body's end closes the
        connection, which is how the other side hears that nobody reads any more.

        Raises:
            StreamBrokenError: there was no answer.
        """
        ...


class _HttpxAnswer:
    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._chunks = response.aiter_bytes()

    async def read(self) -> bytes:
        try:
            async for chunk in self._chunks:
                if chunk:
                    return chunk
        except httpx.HTTPError as error:
            raise StreamBrokenError(_reason(error)) from error
        return b""


class HttpxStreams:
    """Over a client that its owner bounds and closes; timeouts are the client's."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    @asynccontextmanager
    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> AsyncIterator[StreamedAnswer]:
        """See `StreamingHttp`."""
        try:
            async with self._http.stream("POST", url, content=body, headers=dict(headers)) as response:
                yield _HttpxAnswer(response)
        except httpx.HTTPError as error:
            raise StreamBrokenError(_reason(error)) from error


def _reason(error: httpx.HTTPError) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
