"""`Idempotency-Key` on generation: the same request again gets the first answer, a stream as a stream.

An answer is kept when it is finished: what was said, a truncated one too, and what was refused because of the request
itself. What was refused because of the moment is not kept, nor what a caller left before its end: that runs again.
A key that is in use is held by a lease, renewed while the answer is made, so that nobody waits for a gateway that died.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, assert_never

from starlette.requests import Request
from starlette.responses import Response

from gateway.auth.authenticator import Caller
from gateway.caller_watch import CallerWatch
from gateway.errors import IdempotencyConflictError, IdempotencyInProgressError
from gateway.event_stream import EventStream
from gateway.generation_lease import LEASE_SECONDS, GenerationLease, Hold
from gateway.idempotency_keys import key_digest, read_key, request_digest
from gateway.kept_answers import KeptStream, finish_whole, replayed
from gateway.record import RequestRecord
from gateway.services import Services
from policy.serving import RunningTwin
from registry.store.idempotency import Beginning, Begun, InProgress, Mismatch, Replay

RETRY_SECONDS: Final = 5.0
"""What a request is told whose twin is running. Stock clients wait so long between their few attempts."""
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 1.0
"""Between two looks of one who waits for its twin."""

Work = Callable[[], Awaitable[Response]]


async def generated_once(
    services: Services, request: Request, record: RequestRecord, *, caller: Caller, body: bytes, work: Work
) -> Response:
    """The answer of `work`, or the first answer to the same request. `body` is every byte that was sent.

    Called when the caller is known and the body is there, before anything of it is read.

    Raises:
        IdempotencyConflictError: the key was sent with another request.
        IdempotencyInProgressError: the first request is still running, and policy does not let its twins wait.
        StoreUnavailableError: the registry's; a keyed request is not run where it cannot be said whether it has run.
        GatewayError, RegistryError: whatever `work` raises.
    """
    key = read_key(request)
    if key is None:
        return await work()
    asked = _Asked(services, request, caller, key=key, body=body)
    begun = await asked.begin()
    match begun:
        case Begun():
            return await asked.run(begun, record, work)
        case Replay() | Mismatch() | InProgress():
            # It counts as one request; what is decoded counts itself.
            await services.admit(caller, record)
            settled = await asked.joined(begun) if isinstance(begun, InProgress) else begun
        case _:
            assert_never(begun)
    results = services.metrics.replays
    match settled:
        case Replay():
            results.labels(result="joined" if isinstance(begun, InProgress) else "replayed").inc()
            return replayed(settled)
        case Mismatch():
            results.labels(result="conflict").inc()
            raise IdempotencyConflictError
        case InProgress():
            results.labels(result="in_progress").inc()
            raise IdempotencyInProgressError(retry_after_seconds=RETRY_SECONDS)
        case Begun():
            # The first request came to nothing: this one is the first now, and is counted as what it decodes.
            if record.at_end is not None:
                await record.at_end()
                record.at_end = None
            return await asked.run(settled, record, work)
        case _:
            assert_never(settled)


class _Asked:
    """One keyed request."""

    def __init__(self, services: Services, request: Request, caller: Caller, *, key: str, body: bytes) -> None:
        self._services = services
        self._request = request
        self._tenant = caller.tenant
        self._key_digest = key_digest(caller.actor.principal, key)
        self._request_digest = request_digest(request, body)

    async def begin(self) -> Beginning:
        """Claim the key, or learn what became of who did."""
        return await self._services.catalogue.idempotency.begin(
            self._tenant,
            self._key_digest,
            self._request_digest,
            at=datetime.now(UTC),
            lease_seconds=LEASE_SECONDS,
            keep_seconds=self._services.settings.generation_keep_seconds,
        )

    async def joined(self, begun: Beginning) -> Beginning:
        """What the twin that is running comes to, where policy lets this one wait for it."""
        policies = await self._services.policies.of_tenant(self._tenant)
        if policies.of_contract(None).running_twin is not RunningTwin.JOIN:
            return begun
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + self._services.settings.request_seconds, _FIRST_PAUSE_SECONDS
        async with CallerWatch(self._request.receive, self._services.tasks):
            while isinstance(begun, InProgress) and loop.time() < deadline:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
                begun = await self.begin()
        return begun

    async def run(self, begun: Begun, record: RequestRecord, work: Work) -> Response:
        """Be the first; the answer is kept where it is one that will not change."""
        services = self._services
        hold = Hold(tenant=self._tenant, key_digest=self._key_digest, lease=begun.lease)
        lease = GenerationLease(services.catalogue.idempotency, hold, services.tasks, record)
        try:
            response = await work()
        except BaseException as error:
            await lease.end_with(error)
            raise
        if isinstance(response, EventStream):
            return KeptStream(response, lease, record)
        await finish_whole(response, lease)
        return response
