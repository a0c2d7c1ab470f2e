"""The end of a name: which revision a reference means now, and whether it is served.

What is not there and what is another tenant's are one answer, after one and the same question to the store.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from policy.limits import ContractLimits
from registry.contract import CanonicalContract
from registry.dependencies import MAX_SOURCE_NESTING, Dependencies
from registry.errors import (
    ContractRejectedError,
    InvalidNameError,
    NotFoundError,
    SignatureRequiredError,
    StaleRevisionError,
    StateError,
    TombstonedError,
)
from registry.governing import demands_of
from registry.identifiers import TenantId
from registry.naming import ByAlias, ByDigest, ByNumber, Reference, read_reference
from registry.parsing import parse_json
from registry.reading import read_contract
from registry.revision import ResolvedRevision, Revision, RevisionState, SignatureStatus
from registry.signatures import status_of
from registry.store.bounds import MAX_SOURCE_BYTES
from registry.store.contracts import ContractStore
from registry.store.records import BareContract, ServedRevision

Clock = Callable[[], datetime]


class Resolver:
    """Asks the store each time. Gateways ask a `CachedResolver`."""

    def __init__(self, contracts: ContractStore, *, clock: Clock) -> None:
        self._contracts = contracts
        self._dependencies = Dependencies(contracts=contracts)
        self._clock = clock

    async def resolve(self, reference: str | Reference, viewer: TenantId, *, serving: bool) -> ResolvedRevision:
        """What `reference` means to `viewer` now; with `serving`, only what may be served.

        Raises `InvalidNameError`, `NotFoundError`, `TombstonedError`; with `serving` also `StateError`
        (`draft_revision`, `sunset_revision`) and `SignatureRequiredError`.
        """
        read = as_reference(reference)
        return judged(await self.find(read, viewer), read, viewer, serving=serving, at=self._clock())

    async def find(self, reference: Reference, viewer: TenantId) -> ServedRevision | BareContract | None:
        """What the store holds under a reference, not judged."""
        return await self._contracts.serving(viewer, reference)

    def forget(self, tenant: TenantId) -> None:
        """Nothing is remembered here."""

    async def canonical(self, revision: Revision, limits: ContractLimits) -> CanonicalContract:
        """The contract, read again from its text with the texts it was read with.

        Raises `StaleRevisionError` if it no longer reads as what it was stored as: a reader that has changed its mind,
        or bytes that have.
        """
        documents = await self._dependencies.stored(revision)

        def read() -> CanonicalContract:
            value = parse_json(revision.source_text, max_bytes=MAX_SOURCE_BYTES, max_nesting=MAX_SOURCE_NESTING)
            return read_contract(
                revision.kind,
                value,
                limits=limits,
                policy=revision.policy,
                documents=documents,
                dialect=revision.dialect,
            )

        try:
            contract = await asyncio.to_thread(read)
        except ContractRejectedError as error:
            raise StaleRevisionError(f"{_spelled(revision)} is no longer accepted: {error}") from error
        if (contract.digest, contract.annotation_digest) != (revision.digest, revision.annotation_digest):
            raise StaleRevisionError(f"{_spelled(revision)} no longer reads as {revision.digest}")
        return contract


def as_reference(reference: str | Reference) -> Reference:
    """Raises `InvalidNameError`."""
    read = read_reference(reference) if isinstance(reference, str) else reference
    if read is None:
        raise InvalidNameError("a reference to a contract", str(reference))
    return read


def reference_text(reference: Reference) -> str:
    """How a caller would write it."""
    match reference:
        case ByAlias():
            place, which = reference.name, reference.alias
        case ByNumber():
            place, which = reference.name, str(reference.number)
        case ByDigest():
            if reference.name is None:
                return reference.digest
            place, which = reference.name, reference.digest
    return f"{place}@{which}" if reference.owner is None else f"{reference.owner}/{place}@{which}"


def judged(
    found: ServedRevision | BareContract | None, reference: Reference, viewer: TenantId, *, serving: bool, at: datetime
) -> ResolvedRevision:
    """What was found, as an answer to who asked. Raises as `Resolver.resolve` does."""
    text = reference_text(reference)
    if found is None:
        raise NotFoundError("contract", text)
    is_own = found.contract.tenant == viewer
    if isinstance(found, BareContract):
        if found.contract.tombstoned_at is not None:
            raise TombstonedError("contract", text) if is_own else NotFoundError("contract", text)
        raise NotFoundError("alias" if isinstance(reference, ByAlias) else "revision", text)
    if found.contract.tombstoned_at is not None or found.status.tombstoned_at is not None:
        what = "revision" if found.contract.tombstoned_at is None else "contract"
        raise TombstonedError(what, text) if is_own else NotFoundError("contract", text)
    status, signed_by = status_of(found.revision, found.signatures, at)
    if serving:
        _check_served(found, text, status)
    return ResolvedRevision(
        contract=found.contract,
        revision=found.revision,
        status=found.status,
        alias=None if found.alias is None else found.alias.alias,
        signature=status,
        signed_by=signed_by,
    )


def _check_served(found: ServedRevision, text: str, signature: SignatureStatus) -> None:
    match found.status.state:
        case RevisionState.DRAFT:
            raise StateError("draft_revision", f"{text[:320]!r} is a draft: it is served once it is active")
        case RevisionState.SUNSET:
            raise StateError("sunset_revision", f"{text[:320]!r} is no longer served")
        case RevisionState.ACTIVE | RevisionState.DEPRECATED:
            pass
    if found.alias is None or signature is SignatureStatus.SIGNED:
        return
    if demands_of(found.policy, found.contract.contract_class, found.alias.alias).signature:
        why = "none of its signatures counts any more" if signature is SignatureStatus.REVOKED else "it has none"
        raise SignatureRequiredError(f"{text[:320]!r} is served only under a live signature, and {why}")


def _spelled(revision: Revision) -> str:
    return f"{revision.name}@{revision.number}"
