"""What was found under a reference, as an answer to who asked: what it is, and whether it is served."""

from datetime import datetime

from registry.errors import InvalidNameError, NotFoundError, SignatureRequiredError, StateError, TombstonedError
from registry.governing import demands_of
from registry.identifiers import TenantId
from registry.naming import REFERENCE_RULE, ByAlias, ByDigest, ByNumber, Reference, read_reference
from registry.revision import ResolvedRevision, RevisionState, SignatureStatus
from registry.signatures import status_of
from registry.store.records import BareContract, ServedRevision


def as_reference(reference: str | Reference) -> Reference:
    """Raises `InvalidNameError`."""
    read = read_reference(reference) if isinstance(reference, str) else reference
    if read is None:
        raise InvalidNameError("a reference to a contract", str(reference), reason=REFERENCE_RULE)
    return read


def reference_text(reference: Reference) -> str:
    """How a caller would write it."""
    owner = "" if reference.owner is None else f"{reference.owner}/"
    match reference:
        case ByAlias():
            return f"{owner}{reference.name}@{reference.alias}"
        case ByNumber():
            return f"{owner}{reference.name}@{reference.number}"
        case ByDigest():
            return reference.digest if reference.name is None else f"{owner}{reference.name}@{reference.digest}"


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
    if signature is SignatureStatus.SIGNED:
        return
    alias = None if found.alias is None else found.alias.alias
    if demands_of(found.policy, found.contract.contract_class, alias).signature:
        why = "none of its signatures counts any more" if signature is SignatureStatus.REVOKED else "it has none"
        raise SignatureRequiredError(f"{text[:320]!r} is served only under a live signature, and {why}")
