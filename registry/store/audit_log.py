"""The chain of audit in SQL: appended to within the transaction that does what the event tells."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Row, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.audit import AuditAction, AuditEvent, AuditHead, EventDigest, event_digest
from registry.contract import JsonValue
from registry.identifiers import PrincipalId, TenantId
from registry.revision import Actor
from registry.store.bounds import MAX_EVENTS
from registry.store.database import Database
from registry.store.encoding import read_members, write_members
from registry.store.faults import retried
from registry.store.ledger import lock_ledger
from registry.store.tables.tenancy import AUDIT_EVENTS, LEDGERS


async def append_event(
    session: AsyncConnection,
    *,
    tenant: TenantId,
    actor: PrincipalId,
    key_id: str | None,
    action: AuditAction,
    subject: Mapping[str, JsonValue],
    details: Mapping[str, JsonValue],
    at: datetime,
) -> None:
    """Put an event at the end of the tenant's chain, whose ledger this locks if it is not locked yet."""
    ledger = await lock_ledger(session, tenant)
    sequence = ledger.audit_sequence + 1
    digest = event_digest(
        tenant=tenant,
        sequence=sequence,
        at=at,
        actor=actor,
        key_id=key_id,
        action=action,
        subject=subject,
        details=details,
        previous=ledger.audit_digest,
    )
    await session.execute(
        insert(AUDIT_EVENTS).values(
            tenant=tenant,
            sequence=sequence,
            at=at,
            actor=actor,
            key_id=key_id,
            action=action.value,
            subject=write_members(subject),
            details=write_members(details),
            previous=ledger.audit_digest,
            digest=digest,
        )
    )
    await session.execute(
        update(LEDGERS).where(LEDGERS.c.tenant == tenant).values(audit_sequence=sequence, audit_digest=digest)
    )


async def append(
    session: AsyncConnection,
    actor: Actor,
    action: AuditAction,
    *,
    subject: Mapping[str, JsonValue],
    details: Mapping[str, JsonValue],
    at: datetime,
) -> None:
    """`append_event` for what an actor did in their own tenant."""
    await append_event(
        session,
        tenant=actor.tenant,
        actor=actor.principal,
        key_id=actor.key_id,
        action=action,
        subject=subject,
        details=details,
        at=at,
    )


class AuditLog:
    """Reads chains."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def events(self, tenant: TenantId, *, after: int, limit: int) -> tuple[AuditEvent, ...]:
        """The events that follow number `after`, oldest first, at most `limit` and `MAX_EVENTS`."""
        statement = (
            select(AUDIT_EVENTS)
            .where(AUDIT_EVENTS.c.tenant == tenant, AUDIT_EVENTS.c.sequence > after)
            .order_by(AUDIT_EVENTS.c.sequence)
            .limit(max(0, min(limit, MAX_EVENTS)))
        )
        async with self._database.looking() as session:
            return tuple(_event(row) for row in await session.execute(statement))

    @retried
    async def head(self, tenant: TenantId) -> AuditHead | None:
        """The newest event's place and digest; None for a chain without events."""
        statement = select(LEDGERS).where(LEDGERS.c.tenant == tenant, LEDGERS.c.audit_sequence > 0)
        async with self._database.looking() as session:
            row = (await session.execute(statement)).one_or_none()
        if row is None:
            return None
        return AuditHead(tenant=tenant, sequence=row.audit_sequence, digest=EventDigest(row.audit_digest))


def _event(row: Row[tuple[object, ...]]) -> AuditEvent:
    return AuditEvent(
        tenant=TenantId(row.tenant),
        sequence=row.sequence,
        at=row.at,
        actor=PrincipalId(row.actor),
        key_id=row.key_id,
        action=AuditAction(row.action),
        subject=read_members(row.subject),
        details=read_members(row.details),
        previous=EventDigest(row.previous),
        digest=EventDigest(row.digest),
    )
