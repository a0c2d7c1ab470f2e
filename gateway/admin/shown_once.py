"""Answers that hold a secret: given once, and kept without it, so that no store of answers is a store of secrets."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus

from starlette.responses import Response

from gateway.admin.members import key_member, key_values
from gateway.admin.protocol import KeyShown
from gateway.auth.keys import ApiKey
from gateway.auth.records import KeyRecord
from gateway.call import Call, answer
from gateway.errors import SecretShownError
from gateway.idempotency import once
from registry.parsing import parse_json

_MAX_NESTING = 16
_NO_STORE = {"Cache-Control": "no-store"}


async def shown_once(
    call: Call, body: bytes, work: Callable[[], Awaitable[tuple[ApiKey, KeyRecord]]], *, status: int
) -> Response:
    """The key that `work` makes, in clear.

    Raises:
        SecretShownError: the same request was done before. What it made is there; its secret cannot be said again.
        Whatever `work` and `once` raise.
    """
    made: list[tuple[ApiKey, KeyRecord]] = []

    async def remembered() -> Response:
        key, record = await work()
        made.append((key, record))
        return answer(key_member(record, datetime.now(UTC)), status=status)

    response = await once(call, body, remembered)
    if made:
        key, record = made[0]
        shown = KeyShown(**key_values(record, datetime.now(UTC)), key=key.text)
        return answer(shown, status=status, headers=_NO_STORE)
    if response.status_code >= HTTPStatus.BAD_REQUEST:
        return response
    kept = parse_json(bytes(response.body), max_bytes=len(response.body), max_nesting=_MAX_NESTING)
    raise SecretShownError(str(kept["id"]) if isinstance(kept, dict) else "")
