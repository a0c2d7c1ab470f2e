"""`Idempotency-Key` on writes: the same request again gets the first answer, another one under the same key is refused.

Keys belong to a tenant and a principal, and only their digests are stored. What an operation has done and that it is
remembered are two transactions: after a crash between them the request runs once more when the lease has ended, and
every operation of this API is the same when it is done twice. Answers that say "ask again" are not kept.
"""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import assert_never

import structlog
from starlette.responses import Response

from gateway.call import Call
from gateway.errors import (
    GatewayError,
    IdempotencyConflictError,
    IdempotencyInProgressError,
    InvalidRequestError,
    RequestFault,
)
from gateway.problem_response import problem_response
from gateway.problems import problem_of
from registry.errors import RegistryError
from registry.store.idempotency import Begun, InProgress, Mismatch, Replay

MAX_KEY_CHARACTERS = 255
LEASE_SECONDS = 60
"""After this long without an answer the first request is taken for dead, and the next one runs."""
KEEP_SECONDS = 24 * 3600
_RETRY_SECONDS = 1.0

_log = structlog.get_logger(__name__)

_KEY = re.compile(rf"[\x21-\x7e]{{1,{MAX_KEY_CHARACTERS}}}", re.ASCII)
_KEPT_HEADERS = ("etag", "location", "x-should-retry")
"""Of an answer; the others belong to the request that is answered."""
_ASKING_HEADERS = ("if-match", "if-none-match")
"""A part of what is asked."""
_MOMENTARY = frozenset({429, 500, 502, 503, 504})
"""Says nothing about the request: asked again, it runs again."""


async def once(call: Call, body: bytes, work: Callable[[], Awaitable[Response]]) -> Response:
    """The answer of `work`, or the first answer to the same request.

    Raises:
        IdempotencyConflictError: the key was sent with another request.
        IdempotencyInProgressError: the first request is still running.
        GatewayError, RegistryError: whatever `work` raises; kept as an answer too, unless it is a failure of ours.
    """
    key = call.request.headers.get("idempotency-key")
    if key is None:
        return await work()
    if _KEY.fullmatch(key) is None:
        message = f"`Idempotency-Key` is 1 to {MAX_KEY_CHARACTERS} printable characters without spaces"
        raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param="idempotency-key")
    tenant, store, results = call.actor.tenant, call.catalogue.idempotency, call.services.metrics.replays
    key_digest = _digest(call.actor.principal.encode(), key.encode())
    begun = await store.begin(
        tenant,
        key_digest,
        _request_digest(call, body),
        at=datetime.now(UTC),
        lease_seconds=LEASE_SECONDS,
        keep_seconds=KEEP_SECONDS,
    )
    match begun:
        case Replay():
            results.labels(result="replayed").inc()
            headers = {**begun.headers, "Idempotent-Replayed": "true"}
            return Response(begun.body, status_code=begun.status, headers=headers, media_type="application/json")
        case Mismatch():
            results.labels(result="conflict").inc()
            raise IdempotencyConflictError
        case InProgress():
            results.labels(result="in_progress").inc()
            raise IdempotencyInProgressError(retry_after_seconds=_RETRY_SECONDS)
        case Begun():
            return await _Attempt(call, key_digest, begun.lease).run(work)
        case _:
            assert_never(begun)


class _Attempt:
    """The request that holds the lease."""

    def __init__(self, call: Call, key_digest: str, lease: str) -> None:
        self._call = call
        self._store = call.catalogue.idempotency
        self._key_digest = key_digest
        self._lease = lease

    async def run(self, work: Callable[[], Awaitable[Response]]) -> Response:
        """Do the work; its answer is kept, also where it is a refusal that says something about the request."""
        try:
            response = await work()
        except (GatewayError, RegistryError) as error:
            problem = problem_of(error)
            if problem.status in _MOMENTARY:
                await self._abandon()
            else:
                await self._finish(problem_response(problem, self._call.record))
            raise
        except Exception:
            await self._abandon()
            raise
        await self._finish(response)
        return response

    async def _finish(self, response: Response) -> None:
        """What was done stays done if this fails: the lease runs out, and the request may be sent again."""
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        try:
            await self._store.finish(
                self._call.actor.tenant,
                self._key_digest,
                self._lease,
                status=response.status_code,
                headers=headers,
                body=bytes(response.body),
            )
        except RegistryError as error:
            _log.warning("an answer could not be kept", request_id=self._call.record.request_id, why=str(error))

    async def _abandon(self) -> None:
        try:
            await self._store.abandon(self._call.actor.tenant, self._key_digest, self._lease)
        except RegistryError as error:
            _log.warning("a lease could not be given back", request_id=self._call.record.request_id, why=str(error))


def _request_digest(call: Call, body: bytes) -> str:
    request = call.request
    asked = [request.headers.get(name, "").encode() for name in _ASKING_HEADERS]
    return _digest(request.method.encode(), request.url.path.encode(), request.url.query.encode(), *asked, body)


def _digest(*parts: bytes) -> str:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
