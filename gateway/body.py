"""Reading a request body: bounded in bytes before it is read, in time while it is, in nesting before it is parsed."""

import asyncio

from starlette.requests import Request

from gateway.caller_watch import CallerGoneError
from gateway.errors import BodyTooLargeError, InvalidRequestError, MalformedBodyError, RequestFault, SlowBodyError
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.identifiers import TenantId
from registry.parsing import parse_json
from registry.turns import Turns

JSON_TYPES = frozenset({"application/json", ""})
"""What a body says it is, or nothing."""
_INLINE_BYTES = 16 * 1024
"""Above this a body is parsed beside the event loop: a megabyte takes tens of milliseconds, at worst hundreds."""


async def read_body(
    request: Request, *, max_bytes: int, max_seconds: float, media_types: frozenset[str] = JSON_TYPES
) -> bytes:
    """The body's bytes.

    Raises:
        BodyTooLargeError: announced or found to be larger; what was announced too large is not read at all.
        SlowBodyError: it did not arrive in time.
        CallerGoneError: the caller went away.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in media_types:
        raise InvalidRequestError(
            RequestFault.UNSUPPORTED_MEDIA_TYPE, "the body must be `application/json`", param="content-type"
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", ""}:
        raise InvalidRequestError(
            RequestFault.UNSUPPORTED_MEDIA_TYPE, "the body must be sent as it is, not encoded", param="content-encoding"
        )
    announced = request.headers.get("content-length", "")
    # Nineteen digits are more than any limit, and int() has a limit of its own on digits.
    if announced.isdecimal() and int(announced[:19]) > max_bytes:
        raise BodyTooLargeError(limit_bytes=max_bytes, observed_bytes=int(announced[:19]))
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(max_seconds):
            is_over = False
            while not is_over:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise CallerGoneError
                chunk = message.get("body", b"")
                is_over = not message.get("more_body", False)
                size += len(chunk)
                if size > max_bytes:
                    raise BodyTooLargeError(limit_bytes=max_bytes, observed_bytes=size)
                chunks.append(chunk)
    except TimeoutError:
        raise SlowBodyError(limit_seconds=max_seconds) from None
    return b"".join(chunks)


async def parse_body(data: bytes, *, max_bytes: int, max_nesting: int, turns: Turns, tenant: TenantId) -> JsonValue:
    """The body as exact JSON; a long one beside the event loop, in a turn of the tenant's.

    Raises:
        MalformedBodyError: it is not JSON, or not JSON that we read (duplicates, nesting, numbers, surrogates).
    """
    try:
        if len(data) <= _INLINE_BYTES:
            return parse_json(data, max_bytes=max_bytes, max_nesting=max_nesting)
        async with turns.of(tenant):
            return await asyncio.to_thread(parse_json, data, max_bytes=max_bytes, max_nesting=max_nesting)
    except ContractRejectedError as error:
        raise MalformedBodyError(error.rejections) from None
