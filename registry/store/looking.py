"""The statements that find one contract, revision or alias; shared by what reads and what writes."""

from typing import Any

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.errors import NotFoundError, TombstonedError
from registry.identifiers import AliasName, ContractName, RevisionId, RevisionNumber, TenantId
from registry.revision import Alias, Contract, Visibility
from registry.store import rows
from registry.store.records import StoredRevision
from registry.store.tables.contracts import ALIASES, CONTRACTS, REVISIONS, STATUSES

REVISION_WITH_STATUS = REVISIONS.join(STATUSES, STATUSES.c.revision_id == REVISIONS.c.revision_id)


def select_revisions() -> Select[Any]:
    """Revisions with their statuses; add conditions and an order."""
    return select(*rows.REVISION).select_from(REVISION_WITH_STATUS)


async def find_contract(session: AsyncConnection, tenant: TenantId, name: ContractName) -> Contract | None:
    """Retired ones as well."""
    statement = select(*rows.CONTRACT).where(CONTRACTS.c.tenant == tenant, CONTRACTS.c.name == name)
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else rows.contract(row)


async def find_visible_contract(
    session: AsyncConnection, viewer: TenantId, owner: TenantId, name: ContractName
) -> Contract | None:
    """The viewer's own, retired ones as well, or one that is shared. One statement, whatever is there: another
    tenant's private contract does not leave the database."""
    statement = select(*rows.CONTRACT).where(
        CONTRACTS.c.tenant == owner,
        CONTRACTS.c.name == name,
        or_(
            CONTRACTS.c.tenant == viewer,
            and_(CONTRACTS.c.visibility == Visibility.SHARED.value, CONTRACTS.c.tombstoned_at.is_(None)),
        ),
    )
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else rows.contract(row)


async def live_contract(session: AsyncConnection, tenant: TenantId, name: ContractName) -> Contract:
    """The contract that a write is about.

    Raises:
        NotFoundError: the tenant has none of that name.
        TombstonedError: it has been retired.
    """
    found = await find_contract(session, tenant, name)
    if found is None:
        raise NotFoundError("contract", name)
    if found.tombstoned_at is not None:
        raise TombstonedError("contract", name)
    return found


async def find_revision(
    session: AsyncConnection, tenant: TenantId, name: ContractName, number: RevisionNumber
) -> StoredRevision | None:
    """Retired ones as well."""
    statement = select_revisions().where(
        REVISIONS.c.tenant == tenant, REVISIONS.c.name == name, REVISIONS.c.number == number
    )
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else rows.stored(row)


async def live_revision(
    session: AsyncConnection, tenant: TenantId, name: ContractName, number: RevisionNumber, *, lock: bool = False
) -> StoredRevision:
    """The revision that a write is about; with `lock`, what depends on it waits until the transaction ends.

    Raises:
        NotFoundError: the contract has no such number.
        TombstonedError: it has been retired.
    """
    found = await find_revision(session, tenant, name, number)
    if found is not None and lock:
        held = select(STATUSES.c.revision_id).where(STATUSES.c.revision_id == found.revision.revision_id)
        await session.execute(held.with_for_update())
    if found is None:
        raise NotFoundError("revision", f"{name}@{number}")
    if found.status.tombstoned_at is not None:
        raise TombstonedError("revision", f"{name}@{number}")
    return found


async def find_revision_by_id(session: AsyncConnection, revision_id: RevisionId) -> StoredRevision | None:
    """Of any tenant: who asks has to know that its owner or everybody may read it."""
    row = (await session.execute(select_revisions().where(REVISIONS.c.revision_id == revision_id))).one_or_none()
    return None if row is None else rows.stored(row)


async def find_alias(session: AsyncConnection, tenant: TenantId, name: ContractName, alias: AliasName) -> Alias | None:
    """Where it points now."""
    statement = select(*rows.ALIAS).where(ALIASES.c.tenant == tenant, ALIASES.c.name == name, ALIASES.c.alias == alias)
    row = (await session.execute(statement)).one_or_none()
    return None if row is None else rows.alias(row)
