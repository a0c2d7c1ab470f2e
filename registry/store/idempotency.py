"""Answers to requests that carried an Idempotency-Key, kept to be given again.

Calling order: `begin`; on `Begun` do the work, `renew` while it takes long, then `finish` with the answer, or `abandon`
where the same request may well have another answer next time. Whoever dies in between is succeeded by the next to ask,
once the lease is over: what the work itself writes has to be safe to be done twice.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.identifiers import TenantId
from registry.store.bounds import MAX_REPLAY_BYTES
from registry.store.database import Database
from registry.store.encoding import read_members, write_members
from registry.store.faults import TransientStoreError, retried
from registry.store.ledger import inserting
from registry.store.tables.operations import IDEMPOTENCY

_SWEPT = 50
"""Expired records taken away by each `begin`: more than it can add, so that they do not pile up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The asker does the work, and says how it ended under `lease`."""

    lease: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The work was done; this was the answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class InProgress:
    """Somebody is at it now, at most until `until`."""

    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The key was used for another request."""


Beginning = Begun | Replay | InProgress | Mismatch


class IdempotencyStore:
    """Records of all tenants; a key counts within one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @retried
    async def begin(
        self,
        tenant: TenantId,
        key_digest: str,
        request_digest: str,
        *,
        at: datetime,
        lease_seconds: float,
        keep_seconds: float,
    ) -> Beginning:
        """Claim the key for `lease_seconds`, or learn what became of who did. A record is kept for `keep_seconds`."""
        lease = secrets.token_hex(16)
        values = {
            "request_digest": request_digest,
            "lease": lease,
            "lease_expires_at": at + timedelta(seconds=lease_seconds),
            "expires_at": at + timedelta(seconds=keep_seconds),
            "status": None,
            "headers": None,
            "body": None,
        }
        async with self._database.writing() as session:
            await _sweep(session, at)
            free = or_(
                IDEMPOTENCY.c.expires_at <= at,
                and_(
                    IDEMPOTENCY.c.status.is_(None),
                    IDEMPOTENCY.c.lease_expires_at <= at,
                    IDEMPOTENCY.c.request_digest == request_digest,
                ),
            )
            claim = (
                inserting(session, IDEMPOTENCY)
                .values(tenant=tenant, key_digest=key_digest, **values)
                .on_conflict_do_update(
                    index_elements=[IDEMPOTENCY.c.tenant, IDEMPOTENCY.c.key_digest], set_=values, where=free
                )
                .returning(IDEMPOTENCY.c.lease)
            )
            if (await session.execute(claim)).one_or_none() is not None:
                return Begun(lease=lease)
            record = select(IDEMPOTENCY).where(IDEMPOTENCY.c.tenant == tenant, IDEMPOTENCY.c.key_digest == key_digest)
            row = (await session.execute(record)).one_or_none()
            if row is None:
                raise TransientStoreError  # who held the key gave it up between the two statements
        if row.request_digest != request_digest:
            return Mismatch()
        if row.status is None:
            return InProgress(until=row.lease_expires_at)
        headers = {name: str(value) for name, value in read_members(row.headers).items()}
        return Replay(status=row.status, headers=headers, body=bytes(row.body))

    @retried
    async def renew(self, tenant: TenantId, key_digest: str, lease: str, *, at: datetime, lease_seconds: float) -> bool:
        """Hold the key for `lease_seconds` more; False if somebody else has it by now."""
        longer = (
            update(IDEMPOTENCY)
            .where(*_held(tenant, key_digest, lease))
            .values(lease_expires_at=at + timedelta(seconds=lease_seconds))
            .returning(IDEMPOTENCY.c.lease)
        )
        async with self._database.writing() as session:
            return (await session.execute(longer)).one_or_none() is not None

    @retried
    async def finish(
        self, tenant: TenantId, key_digest: str, lease: str, *, status: int, headers: Mapping[str, str], body: bytes
    ) -> bool:
        """Keep the answer; False if the lease was over and somebody else has the key, or the answer is too large."""
        if len(body) > MAX_REPLAY_BYTES:
            await self.abandon(tenant, key_digest, lease)
            return False
        done = (
            update(IDEMPOTENCY)
            .where(*_held(tenant, key_digest, lease))
            .values(status=status, headers=write_members(dict(headers)), body=body)
            .returning(IDEMPOTENCY.c.lease)
        )
        async with self._database.writing() as session:
            return (await session.execute(done)).one_or_none() is not None

    @retried
    async def abandon(self, tenant: TenantId, key_digest: str, lease: str) -> None:
        """Free the key: nothing was done that must not be done again."""
        async with self._database.writing() as session:
            await session.execute(delete(IDEMPOTENCY).where(*_held(tenant, key_digest, lease)))


def _held(tenant: TenantId, key_digest: str, lease: str) -> tuple[ColumnElement[bool], ...]:
    return (
        IDEMPOTENCY.c.tenant == tenant,
        IDEMPOTENCY.c.key_digest == key_digest,
        IDEMPOTENCY.c.lease == lease,
        IDEMPOTENCY.c.status.is_(None),
    )


async def _sweep(session: AsyncConnection, at: datetime) -> None:
    # Rows that another process is taking away are passed over: waiting for them could close a circle.
    over = (
        select(IDEMPOTENCY.c.tenant, IDEMPOTENCY.c.key_digest)
        .where(IDEMPOTENCY.c.expires_at <= at)
        .order_by(IDEMPOTENCY.c.expires_at)
        .limit(_SWEPT)
        .with_for_update(skip_locked=True)
    )
    for row in (await session.execute(over)).all():
        await session.execute(
            delete(IDEMPOTENCY).where(IDEMPOTENCY.c.tenant == row.tenant, IDEMPOTENCY.c.key_digest == row.key_digest)
        )
