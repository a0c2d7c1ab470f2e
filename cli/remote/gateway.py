"""A gateway, as commands ask it: JSON both ways, within bounds, asked again where that is safe.

Reads may be sent again as they are. A write carries an `Idempotency-Key`, under which the gateway does it once however
often it arrives, so it may be sent again too when the connection broke and nobody knows whether it arrived. A redirect
is not followed: the key belongs to the address that was named.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit
from uuid import uuid4

import httpx

from cli.remote.exits import CommandError, Exit
from cli.remote.members import Members
from cli.remote.refusals import refusal
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json
from registry.text import canonical_json

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
MAX_ANSWER_NESTING: Final = 400
"""Above any contract's text with an answer around it."""
MAX_TRIES: Final = 5
MAX_WAIT_SECONDS: Final = 20.0
"""For one "ask again"; who asks for a longer wait is answered to the user."""
_FIRST_WAIT_SECONDS: Final = 0.2
_TIMEOUT: Final = httpx.Timeout(10.0, read=180.0)
"""Registering may take several comparisons, of ten seconds each."""
_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9_-]{1,63}\.){0,9}[A-Za-z0-9_-]{1,63}\.?|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]{1,41}", re.ASCII
)
"""A name or an address; letters beyond ASCII are written as their punycode."""
_MOMENTARY: Final = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A 2xx answer: its body as it was written, and as it was read (an empty body is an empty object)."""

    status: int
    members: Members
    version: int | None
    """The ETag."""


class Gateway:
    """One gateway under one key. `sleep` and `transport` are for tests."""

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = _checked_url(url)
        self._sleep = sleep
        self._client = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {_checked_key(api_key)}", "Accept": "application/json"},
            timeout=_TIMEOUT,
            transport=transport,
            follow_redirects=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Members:
        """What is there. Raises `CommandError`."""
        return self._ask("GET", path, query or {}, None, {}).members

    def post(self, path: str, body: Mapping[str, JsonValue]) -> Members:
        """What a question with a body is answered; nothing is changed by it. Raises `CommandError`."""
        return self._ask("POST", path, {}, body, {}).members

    def write(
        self,
        method: str,
        path: str,
        body: Mapping[str, JsonValue],
        *,
        query: Mapping[str, str] | None = None,
        version: int | None = None,
        must_be_new: bool = False,
    ) -> Answer:
        """Change something, once. `version` is what has to be there still. Raises `CommandError`."""
        headers = {"Idempotency-Key": uuid4().hex}
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        if must_be_new:
            headers["If-None-Match"] = "*"
        return self._ask(method, path, query or {}, body, headers)

    def pages(self, path: str, query: Mapping[str, str], *, limit: int) -> Iterator[Members]:
        """The items of a list from its beginning, at most `limit`."""
        cursor: str | None = None
        left = limit
        while left > 0:
            asked = {**query, "limit": str(min(left, 100)), **({} if cursor is None else {"cursor": cursor})}
            page = self.get(path, asked)
            items = page.each("data")[:left]
            yield from items
            left -= len(items)
            cursor = page.optional_text("next_cursor")
            if cursor is None or not items:
                return

    @contextmanager
    def lines(self, path: str) -> Iterator[Iterator[bytes]]:
        """An answer that is too large to hold, in pieces. It is not asked for again once it has begun."""
        try:
            with self._client.stream("GET", path) as response:
                if not response.is_success:
                    raise refusal(response.status_code, _read(response), response.headers)
                yield response.iter_bytes()
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise self._silent(error) from error

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, JsonValue] | None,
        headers: Mapping[str, str],
    ) -> Answer:
        content = None if body is None else canonical_json(dict(body)).encode(errors="surrogatepass")
        sent = dict(headers) if content is None else {**headers, "Content-Type": "application/json"}
        request = self._client.build_request(method, path, params=dict(query), content=content, headers=sent)
        for attempt in range(1, MAX_TRIES + 1):
            backoff = _FIRST_WAIT_SECONDS * 2 ** (attempt - 1)
            try:
                with self._stream(request) as response:
                    status, data, answered = response.status_code, _read(response), response.headers
            except (httpx.TransportError, httpx.DecodingError) as error:
                if attempt == MAX_TRIES or isinstance(error, httpx.TimeoutException | httpx.DecodingError):
                    raise self._silent(error) from error
                self._sleep(backoff)
                continue
            if 200 <= status < 300:
                return Answer(status=status, members=_members(data), version=_version(answered))
            wait = _asked_wait(status, answered, data, backoff)
            if attempt == MAX_TRIES or wait is None:
                raise refusal(status, data, answered)
            self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def _stream(self, request: httpx.Request) -> Iterator[httpx.Response]:
        response = self._client.send(request, stream=True)
        try:
            yield response
        finally:
            response.close()

    def _silent(self, error: Exception) -> CommandError:
        why = str(error) or type(error).__name__
        message = f"{self.url} does not answer: {why}; start it (`schemagate up`), or say where it is: SCHEMAGATE_URL"
        return CommandError(message, exit_code=Exit.TRY_AGAIN, code="gateway_unreachable")


def _read(response: httpx.Response) -> bytes:
    data = bytearray()
    for piece in response.iter_bytes():
        data += piece
        if len(data) > MAX_ANSWER_BYTES:
            message = f"the gateway's answer is longer than {MAX_ANSWER_BYTES} bytes"
            raise CommandError(message, exit_code=Exit.TRY_AGAIN, code="unexpected_answer")
    return bytes(data)


def _members(data: bytes) -> Members:
    if not data:
        return Members({})
    try:
        value = parse_json(data, max_bytes=MAX_ANSWER_BYTES, max_nesting=MAX_ANSWER_NESTING)
    except ContractRejectedError:
        value = None
    if not isinstance(value, dict):
        message = "the answer is not a JSON object: is there a Schemagate gateway at that address?"
        raise CommandError(message, exit_code=Exit.TRY_AGAIN, code="unexpected_answer")
    return Members(value)


def _asked_wait(status: int, headers: httpx.Headers, data: bytes, backoff: float) -> float | None:
    """Seconds until the same may be sent again; None where that changes nothing, or takes too long."""
    is_running = status == 409 and b'"idempotency_in_progress"' in data
    if not is_running and (status not in _MOMENTARY or headers.get("x-should-retry") == "false"):
        return None
    try:
        asked = float(headers.get("retry-after", "0"))
    except ValueError:  # a date: not what a gateway sends
        return None
    wait = max(asked, backoff)
    return wait if 0 <= wait <= MAX_WAIT_SECONDS else None


def _version(headers: httpx.Headers) -> int | None:
    tag = headers.get("etag", "").strip('"')
    return int(tag) if tag.isascii() and tag.isdecimal() and len(tag) <= 18 else None


def _checked_url(url: str) -> str:
    try:
        read = urlsplit(url)
        is_usable = read.scheme in {"http", "https"} and read.port != 0
    except ValueError:  # a port or an address in brackets that is none
        read, is_usable = urlsplit(""), False
    is_usable = is_usable and url.isprintable() and not (read.query or read.fragment or read.username)
    is_usable = is_usable and _HOST.fullmatch(read.hostname or "") is not None
    if not is_usable:
        message = f"{url[:200]!r} is no address of a gateway: write something like http://127.0.0.1:8080"
        raise CommandError(message, exit_code=Exit.USAGE, code="invalid_url")
    return url.rstrip("/").removesuffix("/v1")


def _checked_key(text: str) -> str:
    if not text:
        message = "no API key: set SCHEMAGATE_API_KEY, or give --api-key"
        raise CommandError(message, exit_code=Exit.FORBIDDEN, code="missing_api_key")
    if not (text.isascii() and text.isprintable()) or " " in text or len(text) > 1_000:
        message = "the API key holds characters that no key has"
        raise CommandError(message, exit_code=Exit.FORBIDDEN, code="invalid_api_key")
    return text
