"""From a reference to everything that decides how it is served, in one statement.

The statement is the same, and touches the same, whether another tenant's private contract exists or not: its
conditions ask for the viewer's own or for what is shared, and nothing is filtered afterwards.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, and_, bindparam, case, or_, select, union_all
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

MAX_CANDIDATES: Final = 20
"""Of the newest revisions with one digest, so many are considered on each side: own and shared."""

_SERVED_STATES: Final = (RevisionState.ACTIVE.value, RevisionState.DEPRECATED.value)


async def find_served(
    session: AsyncConnection, viewer: TenantId, reference: Reference
) -> ServedRevision | BareContract | None:
    """See `ContractStore.serving`."""
    statement, asked = _question(viewer, reference)
    found = (await session.execute(statement, {"viewer": viewer, **asked})).all()
    return _read(found, is_alias=isinstance(reference, ByAlias)) if found else None


def _question(viewer: TenantId, reference: Reference) -> tuple[Select[Any], dict[str, str | int | None]]:
    owner = viewer if reference.owner is None else reference.owner
    match reference:
        case ByAlias():
            return _BY_ALIAS, {"owner": owner, "name": reference.name, "alias": reference.alias}
        case ByNumber():
            return _BY_NUMBER, {"owner": owner, "name": reference.name, "number": reference.number}
        case ByDigest(name=None):
            return _BY_DIGEST, {"digest": reference.digest}
        case ByDigest(name=name):
            return _BY_NAME_AND_DIGEST, {"owner": owner, "name": name, "digest": reference.digest}


def _read(found: Sequence[rows.AnyRow], *, is_alias: bool) -> ServedRevision | BareContract:
    """One row a signature, or one without any."""
    first = found[0]
    contract = rows.contract(first)
    if first.revision_statuses__state is None:
        return BareContract(contract=contract)
    return ServedRevision(
        contract=contract,
        revision=rows.revision(first),
        status=rows.status(first),
        alias=rows.alias(first) if is_alias else None,
        signatures=tuple(
            (rows.signature(row), rows.signing_key(row)) for row in found if row.signatures__key_id is not None
        ),
        policy=RegistryPolicy() if first.policy is None else read_policy(first.policy),
    )


# Statements are made once: making one takes longer than a database takes to answer it.

_VIEWER: Final = bindparam("viewer", type_=CONTRACTS.c.tenant.type)
_DIGEST: Final = bindparam("digest", type_=REVISIONS.c.digest.type)

_VISIBLE: Final[ColumnElement[bool]] = or_(
    CONTRACTS.c.tenant == _VIEWER,
    and_(CONTRACTS.c.visibility == Visibility.SHARED.value, CONTRACTS.c.tombstoned_at.is_(None)),
)


def _complete(tables: FromClause, *columns: ColumnElement[Any]) -> Select[Any]:
    """Add status, signatures with their keys, and the owner's policy; another's retired revision is not there."""
    status = and_(
        STATUSES.c.revision_id == REVISIONS.c.revision_id,
        or_(STATUSES.c.tombstoned_at.is_(None), CONTRACTS.c.tenant == _VIEWER),
    )
    key = and_(SIGNING_KEYS.c.tenant == SIGNATURES.c.tenant, SIGNING_KEYS.c.key_id == SIGNATURES.c.key_id)
    joined = (
        tables.outerjoin(STATUSES, status)
        .outerjoin(SIGNATURES, SIGNATURES.c.revision_id == STATUSES.c.revision_id)
        .outerjoin(SIGNING_KEYS, key)
        .outerjoin(POLICIES, POLICIES.c.tenant == CONTRACTS.c.tenant)
    )
    statement = select(*rows.CONTRACT, *rows.REVISION, *columns, *rows.SIGNATURE, POLICIES.c.policy)
    return statement.select_from(joined).order_by(SIGNATURES.c.signed_at, SIGNATURES.c.key_id)


_THIS: Final = and_(CONTRACTS.c.tenant == bindparam("owner"), CONTRACTS.c.name == bindparam("name"), _VISIBLE)

_BY_ALIAS: Final = _complete(
    CONTRACTS.outerjoin(
        ALIASES,
        and_(
            ALIASES.c.tenant == CONTRACTS.c.tenant,
            ALIASES.c.name == CONTRACTS.c.name,
            ALIASES.c.alias == bindparam("alias"),
        ),
    ).outerjoin(REVISIONS, REVISIONS.c.revision_id == ALIASES.c.revision_id),
    *rows.ALIAS,
).where(_THIS)

_BY_NUMBER: Final = _complete(
    CONTRACTS.outerjoin(
        REVISIONS,
        and_(
            REVISIONS.c.tenant == CONTRACTS.c.tenant,
            REVISIONS.c.name == CONTRACTS.c.name,
            REVISIONS.c.number == bindparam("number"),
        ),
    )
).where(_THIS)


def _best(*conditions: ColumnElement[bool]) -> Any:
    """The id of the revision that a digest leads to. What others share is found by an index of its own, so that their
    private revisions of the same content are not even passed over."""
    own = (
        select(REVISIONS.c.revision_id)
        .join(STATUSES, STATUSES.c.revision_id == REVISIONS.c.revision_id)
        .where(REVISIONS.c.tenant == _VIEWER, REVISIONS.c.digest == _DIGEST, STATUSES.c.tombstoned_at.is_(None))
        .where(*conditions)
        .order_by(REVISIONS.c.created_at.desc())
    )
    shared = (
        select(STATUSES.c.revision_id)
        .join(REVISIONS, STATUSES.c.revision_id == REVISIONS.c.revision_id)
        .where(STATUSES.c.is_shared, STATUSES.c.digest == _DIGEST)
        .where(*conditions)
        .order_by(STATUSES.c.created_at.desc())
    )
    candidates = [select(side.limit(MAX_CANDIDATES).subquery().c.revision_id) for side in (own, shared)]
    return (
        select(REVISIONS.c.revision_id)
        .join(STATUSES, STATUSES.c.revision_id == REVISIONS.c.revision_id)
        .where(REVISIONS.c.revision_id.in_(union_all(*candidates)))
        .order_by(
            case((STATUSES.c.state.in_(_SERVED_STATES), 0), else_=1),
            case((REVISIONS.c.tenant == _VIEWER, 0), else_=1),
            REVISIONS.c.created_at.desc(),
            REVISIONS.c.revision_id,
        )
        .limit(1)
        .scalar_subquery()
    )


_OF_CONTRACT: Final = and_(CONTRACTS.c.tenant == REVISIONS.c.tenant, CONTRACTS.c.name == REVISIONS.c.name)

_BY_DIGEST: Final = _complete(REVISIONS.join(CONTRACTS, _OF_CONTRACT)).where(REVISIONS.c.revision_id == _best())

_BY_NAME_AND_DIGEST: Final = _complete(
    CONTRACTS.outerjoin(
        REVISIONS,
        REVISIONS.c.revision_id
        == _best(REVISIONS.c.tenant == bindparam("owner"), REVISIONS.c.name == bindparam("name")),
    )
).where(_THIS)
