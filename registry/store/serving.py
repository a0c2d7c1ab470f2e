"""From a reference to everything that decides how it is served, in one statement.

The statement is the same, and touches the same, whether another tenant's private contract exists or not: its
conditions ask for the viewer's own or for what is shared, and nothing is filtered afterwards.
"""

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from policy.governance import RegistryPolicy
from registry.identifiers import TenantId
from registry.naming import ByAlias, ByDigest, ByNumber, Reference
from registry.revision import RevisionState, Visibility
from registry.store import rows
from registry.store.encoding import read_policy
from registry.store.records import BareContract, ServedRevision
from registry.store.tables.contracts import ALIASES, CONTRACTS, REVISIONS, STATUSES
from registry.store.tables.signing import SIGNATURES, SIGNING_KEYS
from registry.store.tables.tenancy import POLICIES

MAX_CANDIDATES = 20
"""Of the newest revisions with one digest, so many are considered on each side: own and shared."""

_SERVED_STATES = (RevisionState.ACTIVE.value, RevisionState.DEPRECATED.value)


async def find_served(
    session: AsyncConnection, viewer: TenantId, reference: Reference
) -> ServedRevision | BareContract | None:
    """See `ContractStore.serving`."""
    found = (await session.execute(_statement(viewer, reference))).all()
    if not found:
        return None
    first = found[0]
    contract = rows.contract(first)
    if first.revisions__revision_id is None or first.revision_statuses__state is None:
        return BareContract(contract=contract)
    return ServedRevision(
        contract=contract,
        revision=rows.revision(first),
        status=rows.status(first),
        alias=None if first.aliases__alias is None else rows.alias(first),
        signatures=tuple(
            (rows.signature(row), rows.signing_key(row)) for row in found if row.signatures__key_id is not None
        ),
        policy=RegistryPolicy() if first.policy is None else read_policy(first.policy),
    )


def _statement(viewer: TenantId, reference: Reference) -> Select[Any]:
    match reference:
        case ByAlias():
            pointing = ALIASES.c.alias == reference.alias
            return _by_name(viewer, reference, pointing, REVISIONS.c.revision_id == ALIASES.c.revision_id)
        case ByNumber():
            wanted = and_(
                REVISIONS.c.tenant == CONTRACTS.c.tenant,
                REVISIONS.c.name == CONTRACTS.c.name,
                REVISIONS.c.number == reference.number,
            )
            return _by_name(viewer, reference, literal(False), wanted)
        case ByDigest():
            return _by_digest(viewer, reference)


def _visible(viewer: TenantId) -> ColumnElement[bool]:
    shared = and_(CONTRACTS.c.visibility == Visibility.SHARED.value, CONTRACTS.c.tombstoned_at.is_(None))
    return or_(CONTRACTS.c.tenant == viewer, shared)


def _by_name(
    viewer: TenantId,
    reference: ByAlias | ByNumber,
    pointing: ColumnElement[bool],
    wanted: ColumnElement[bool],
) -> Select[Any]:
    owner = viewer if reference.owner is None else reference.owner
    of_contract = and_(ALIASES.c.tenant == CONTRACTS.c.tenant, ALIASES.c.name == CONTRACTS.c.name)
    tables = CONTRACTS.outerjoin(ALIASES, and_(of_contract, pointing)).outerjoin(REVISIONS, wanted)
    this = (CONTRACTS.c.tenant == owner, CONTRACTS.c.name == reference.name)
    return _complete(viewer, tables).where(*this, _visible(viewer)).order_by(SIGNATURES.c.signed_at)


def _by_digest(viewer: TenantId, reference: ByDigest) -> Select[Any]:
    own = (
        select(REVISIONS.c.revision_id)
        .join(STATUSES, STATUSES.c.revision_id == REVISIONS.c.revision_id)
        .where(REVISIONS.c.tenant == viewer, REVISIONS.c.digest == reference.digest, STATUSES.c.tombstoned_at.is_(None))
        .order_by(REVISIONS.c.created_at.desc())
    )
    shared = (
        select(STATUSES.c.revision_id)
        .join(REVISIONS, STATUSES.c.revision_id == REVISIONS.c.revision_id)
        .where(STATUSES.c.is_shared, STATUSES.c.digest == reference.digest)
        .order_by(STATUSES.c.created_at.desc())
    )
    if reference.name is not None:
        own, shared = (side.where(REVISIONS.c.name == reference.name) for side in (own, shared))
        owner = viewer if reference.owner is None else reference.owner
        own, shared = (side.where(REVISIONS.c.tenant == owner) for side in (own, shared))
    candidates = [select(side.limit(MAX_CANDIDATES).subquery().c.revision_id) for side in (own, shared)]
    best = (
        select(REVISIONS.c.revision_id)
        .join(STATUSES, STATUSES.c.revision_id == REVISIONS.c.revision_id)
        .where(or_(*(REVISIONS.c.revision_id.in_(side) for side in candidates)))
        .order_by(
            case((STATUSES.c.state.in_(_SERVED_STATES), 0), else_=1),
            case((REVISIONS.c.tenant == viewer, 0), else_=1),
            REVISIONS.c.created_at.desc(),
            REVISIONS.c.revision_id,
        )
        .limit(1)
        .scalar_subquery()
    )
    tables = REVISIONS.join(
        CONTRACTS, and_(CONTRACTS.c.tenant == REVISIONS.c.tenant, CONTRACTS.c.name == REVISIONS.c.name)
    ).outerjoin(ALIASES, literal(False))
    return _complete(viewer, tables).where(REVISIONS.c.revision_id == best).order_by(SIGNATURES.c.signed_at)


def _complete(viewer: TenantId, tables: Any) -> Select[Any]:
    """Add status, signatures with their keys, and the owner's policy; another's retired revision is not there."""
    status = and_(
        STATUSES.c.revision_id == REVISIONS.c.revision_id,
        or_(STATUSES.c.tombstoned_at.is_(None), CONTRACTS.c.tenant == viewer),
    )
    key = and_(SIGNING_KEYS.c.tenant == SIGNATURES.c.tenant, SIGNING_KEYS.c.key_id == SIGNATURES.c.key_id)
    joined = (
        tables.outerjoin(STATUSES, status)
        .outerjoin(SIGNATURES, SIGNATURES.c.revision_id == REVISIONS.c.revision_id)
        .outerjoin(SIGNING_KEYS, key)
        .outerjoin(POLICIES, POLICIES.c.tenant == CONTRACTS.c.tenant)
    )
    return select(*rows.CONTRACT, *rows.REVISION, *rows.ALIAS, *rows.SIGNATURE, POLICIES.c.policy).select_from(joined)
