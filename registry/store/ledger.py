"""A tenant's ledger: locked first by every write for the tenant, it hands out what counts within the tenant."""

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import Insert as PostgresInsert
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import Table

from registry.audit import GENESIS, EventDigest
from registry.identifiers import SchemaId, TenantId
from registry.store.tables.tenancy import LEDGERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The row as it is while this transaction holds it."""

    tenant: TenantId
    last_schema_id: SchemaId
    audit_sequence: int
    audit_digest: EventDigest


def inserting(session: AsyncConnection, table: Table) -> PostgresInsert | SqliteInsert:
    """An INSERT that knows `on_conflict_…`, in the words of the session's database."""
    return sqlite.insert(table) if session.dialect.name == "sqlite" else postgresql.insert(table)


async def lock_ledger(session: AsyncConnection, tenant: TenantId) -> Ledger:
    """The tenant's row, ours until the transaction ends; made if this is the tenant's first write."""
    look = select(LEDGERS).where(LEDGERS.c.tenant == tenant).with_for_update()
    row = (await session.execute(look)).one_or_none()
    if row is None:
        fresh = {"tenant": tenant, "last_schema_id": 0, "audit_sequence": 0, "audit_digest": GENESIS}
        await session.execute(inserting(session, LEDGERS).values(fresh).on_conflict_do_nothing())
        row = (await session.execute(look)).one()
    return Ledger(
        tenant=tenant,
        last_schema_id=SchemaId(row.last_schema_id),
        audit_sequence=row.audit_sequence,
        audit_digest=EventDigest(row.audit_digest),
    )


async def take_schema_id(session: AsyncConnection, tenant: TenantId) -> SchemaId:
    """The next schema id of the tenant. The ledger is locked already."""
    taken = (
        update(LEDGERS)
        .where(LEDGERS.c.tenant == tenant)
        .values(last_schema_id=LEDGERS.c.last_schema_id + 1)
        .returning(LEDGERS.c.last_schema_id)
    )
    return SchemaId((await session.execute(taken)).scalar_one())
