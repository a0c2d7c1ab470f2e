"""The hold of one generation on its `Idempotency-Key`: renewed while it runs, ended with what is kept, or freed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog

from gateway.errors import GatewayError
from gateway.policies.errors import ServingRefusedError
from gateway.problem_response import problem_response
from gateway.problems import problem_of
from gateway.record import RequestRecord
from gateway.tasks import TaskOwner
from registry.errors import RegistryError
from registry.identifiers import TenantId
from registry.store.idempotency import IdempotencyStore

LEASE_SECONDS: Final = 30.0
"""After a gateway died, so long at most until the next request with the key runs."""
_RENEW_SECONDS: Final = 10.0
"""Two renewals may fail before a lease is lost."""
_LASTING: Final = frozenset({400, 413, 415, 422})
"""Refusals because of the request itself. Others are of the moment: of a key, a contract, a budget, a node."""
_KEPT_HEADERS: Final = ("content-type", "x-should-retry", "x-schemagate-completion")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What the store knows the holder of a key by."""

    tenant: TenantId
    key_digest: str
    lease: str


class GenerationLease:
    """Made when the key was claimed. Ends exactly once: by `keep`, `free` or `end_with`."""

    def __init__(self, store: IdempotencyStore, hold: Hold, tasks: TaskOwner, record: RequestRecord) -> None:
        self._store = store
        self._hold = hold
        self._record = record
        self._renewing = tasks.start(self._renew(), name="idempotency lease")

    async def keep(self, *, status: int, headers: Mapping[str, str], body: bytes) -> bool:
        """Keep the answer. False where it is too large, the lease was lost, or the database does not answer."""
        self._renewing.cancel()
        kept = self._of_record() | {name: headers[name] for name in _KEPT_HEADERS if name in headers}
        try:
            return await self._store.finish(
                self._hold.tenant,
                self._hold.key_digest,
                self._hold.lease,
                status=status,
                headers=kept | {name: value for name, value in headers.items() if name.startswith(":")},
                body=body,
            )
        except RegistryError as error:
            _log.warning("an answer could not be kept", request_id=self._record.request_id, why=str(error))
            return False

    async def free(self) -> None:
        """Keep nothing: the same request runs again."""
        self._renewing.cancel()
        try:
            await self._store.abandon(self._hold.tenant, self._hold.key_digest, self._hold.lease)
        except RegistryError as error:
            _log.warning("a lease could not be given back", request_id=self._record.request_id, why=str(error))

    async def end_with(self, error: BaseException) -> None:
        """Keep a refusal that is the request's own doing; free the key after anything else."""
        if isinstance(error, GatewayError | RegistryError):
            problem = problem_of(error)
            # What a backend is not able to do, or a policy does not allow, an operator may change any moment.
            if problem.status in _LASTING and not isinstance(error, ServingRefusedError):
                response = problem_response(problem, self._record)
                await self.keep(status=problem.status, headers=response.headers, body=bytes(response.body))
                return
        await self.free()

    def _of_record(self) -> dict[str, str]:
        """What the answer's headers say of its making."""
        record = self._record
        of_record = {
            "x-schemagate-completion": None if record.completion == "none" else record.completion,
            "x-schemagate-downgrade": record.downgrade,
            "x-schemagate-contract": record.contract_digest,
            "x-schemagate-revision": None if record.resolved is None else record.resolved.revision.revision_id,
        }
        return {name: value for name, value in of_record.items() if value is not None}

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            try:
                is_held = await self._store.renew(
                    self._hold.tenant,
                    self._hold.key_digest,
                    self._hold.lease,
                    at=datetime.now(UTC),
                    lease_seconds=LEASE_SECONDS,
                )
            except RegistryError as error:
                _log.warning("a lease could not be renewed", request_id=self._record.request_id, why=str(error))
                continue
            if not is_held:
                _log.warning("a lease was lost", request_id=self._record.request_id)
                return
