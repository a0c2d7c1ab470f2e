"""`Idempotency-Key` on writes: the same request again gets the first answer, another one under the same key is refused.

Keys belong to a tenant and a principal, and only their digests are stored. What an operation has done and that it is
remembered are two transactions: after a crash between them the request runs once more when the lease has ended, and
every operation of this API is the same when it is done twice. Answers that say "ask again" are not kept.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import assert_never

import structlog
from starlette.responses import Response

from gateway.call import Call
from gateway.errors import GatewayError, IdempotencyConflictError, IdempotencyInProgressError
from gateway.idempotency_keys import key_digest, read_key, request_digest
from gateway.problem_response import problem_response
from gateway.problems import problem_of
from registry.errors import RegistryError
from registry.store.idempotency import Begun, InProgress, Mismatch, Replay

LEASE_SECONDS = 60
"""After this long without an answer the first request is taken for dead, and the next one runs."""
KEEP_SECONDS = 24 * 3600
_RETRY_SECONDS = 1.0

_log = structlog.get_logger(__name__)

_KEPT_HEADERS = ("etag", "location", "x-should-retry")
"""Of an answer; the others belong to the request that is answered."""
_MOMENTARY = frozenset({429, 500, 502, 503, 504})
"""Says nothing about the request: asked again, it runs again."""


async def once(call: Call, body: bytes, work: Callable[[], Awaitable[Response]]) -> Response:
    """The answer of `work`, or the first answer to the same request.

    Raises:
        IdempotencyConflictError: the key was sent with another request.
        IdempotencyInProgressError: the first request is still running.
        GatewayError, RegistryError: whatever `work` raises; kept as an answer too, unless it is a failure of ours.
    """
    key = read_key(call.request)
    if key is None:
        return await work()
    tenant, store, results = call.actor.tenant, call.catalogue.idempotency, call.services.metrics.replays
    digest = key_digest(call.actor.principal, key)
    begun = await store.begin(
        tenant,
        digest,
        request_digest(call.request, body),
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
            return await _Attempt(call, digest, begun.lease).run(work)
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
