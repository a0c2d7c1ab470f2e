"""Revisions by what they are or refer to, rather than by number. Whatever is found is bounded."""

from typing import Any

from sqlalchemy import Select, and_, case, not_
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.contract import ContractDigest
from registry.identifiers import ContractName, RevisionId, SchemaId, TenantId
from registry.store import rows
from registry.store.bounds import MAX_DEPENDENTS, MAX_SAME
from registry.store.looking import select_revisions
from registry.store.records import StoredRevision
from registry.store.tables.contracts import DEPENDENCIES, REVISIONS, STATUSES


async def with_digest(
    session: AsyncConnection,
    viewer: TenantId,
    digest: ContractDigest,
    *,
    name: ContractName | None,
    owner: TenantId | None,
) -> tuple[StoredRevision, ...]:
    """See `ContractStore.revisions_with_digest`: the viewer's own and what is shared, each by an index of its own."""
    live = (REVISIONS.c.digest == digest, STATUSES.c.tombstoned_at.is_(None))
    own = select_revisions().where(*live, REVISIONS.c.tenant == viewer)
    shared = select_revisions().where(*live, STATUSES.c.is_shared, STATUSES.c.digest == digest)
    found: dict[RevisionId, StoredRevision] = {}
    for side, order in ((own, REVISIONS.c.created_at), (shared, STATUSES.c.created_at)):
        asked = side if name is None else side.where(REVISIONS.c.name == name)
        asked = asked if owner is None else asked.where(REVISIONS.c.tenant == owner)
        for stored in await _all(session, asked.order_by(order.desc()).limit(MAX_SAME)):
            found[stored.revision.revision_id] = stored
    newest = sorted(found.values(), key=lambda each: (each.revision.created_at, each.revision.number), reverse=True)
    return tuple(newest[:MAX_SAME])


async def with_schema_id(session: AsyncConnection, tenant: TenantId, schema_id: SchemaId) -> tuple[StoredRevision, ...]:
    """See `ContractStore.revisions_with_schema_id`."""
    statement = select_revisions().where(REVISIONS.c.tenant == tenant, REVISIONS.c.schema_id == schema_id)
    return await _all(session, statement.order_by(REVISIONS.c.created_at, REVISIONS.c.number).limit(MAX_SAME))


async def with_source(
    session: AsyncConnection, tenant: TenantId, name: ContractName, source_digest: str
) -> StoredRevision | None:
    """See `ContractStore.revision_with_source`."""
    statement = select_revisions().where(
        REVISIONS.c.tenant == tenant,
        REVISIONS.c.name == name,
        REVISIONS.c.source_digest == source_digest,
        STATUSES.c.tombstoned_at.is_(None),
    )
    found = await _all(session, statement.order_by(REVISIONS.c.number.desc()).limit(1))
    return found[0] if found else None


async def dependents(session: AsyncConnection, revision_id: RevisionId) -> tuple[StoredRevision, ...]:
    """See `ContractStore.dependents`."""
    statement = (
        select_revisions()
        .join(DEPENDENCIES, DEPENDENCIES.c.revision_id == REVISIONS.c.revision_id)
        .where(DEPENDENCIES.c.dependency_id == revision_id, STATUSES.c.tombstoned_at.is_(None))
        .order_by(REVISIONS.c.created_at, REVISIONS.c.revision_id)
    )
    return await _all(session, statement.limit(MAX_DEPENDENTS))


async def dependents_of_contract(
    session: AsyncConnection, tenant: TenantId, name: ContractName
) -> tuple[StoredRevision, ...]:
    """See `ContractStore.dependents_of_contract`."""
    needed = REVISIONS.alias("needed")
    own = and_(REVISIONS.c.tenant == tenant, REVISIONS.c.name == name)
    statement = (
        select_revisions()
        .join(DEPENDENCIES, DEPENDENCIES.c.revision_id == REVISIONS.c.revision_id)
        .join(needed, needed.c.revision_id == DEPENDENCIES.c.dependency_id)
        .where(needed.c.tenant == tenant, needed.c.name == name, STATUSES.c.tombstoned_at.is_(None), not_(own))
        .order_by(case((REVISIONS.c.tenant == tenant, 0), else_=1), REVISIONS.c.created_at, REVISIONS.c.revision_id)
    )
    found = await _all(session, statement.limit(MAX_DEPENDENTS))
    return tuple({each.revision.revision_id: each for each in found}.values())


async def _all(session: AsyncConnection, statement: Select[Any]) -> tuple[StoredRevision, ...]:
    return tuple(rows.stored(row) for row in await session.execute(statement))
