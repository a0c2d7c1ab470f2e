"""API keys in SQL.

Calling order: `open`, then anything, then `close`. Every method is one transaction; no session outlives its call.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Self

from sqlalchemy import ColumnElement, Select, bindparam, func, insert, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.auth.faults import or_unavailable
from gateway.auth.operator import AT_HAND, Operator
from gateway.auth.records import KeyRecord
from gateway.auth.rows import key_record, key_values, sorted_names
from gateway.errors import StoreUnavailableError
from gateway.identifiers import KeyId
from registry.audit import AuditAction
from registry.contract import JsonValue
from registry.errors import InvalidNameError, NotFoundError, StateError
from registry.errors import StoreUnavailableError as RegistryUnavailableError
from registry.identifiers import TenantId
from registry.store.audit_log import append_event
from registry.store.cursors import read_cursor, write_cursor
from registry.store.database import Database
from registry.store.ledger import inserting, lock_ledger
from registry.store.records import Page
from registry.store.tables.tenancy import API_KEYS, TEAMS, TENANTS

MAX_KEYS: Final = 10_000
"""Of one tenant, revoked ones included: they stay, because the audit names them."""

_KEYS_WITH_TENANTS: Final = API_KEYS.join(TENANTS, TENANTS.c.id == API_KEYS.c.tenant_id)


class KeyStore:
    """Keys, in the database that they share with everything else."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    async def open(cls, database_url: str) -> Self:
        """Connect, and make or migrate the tables.

        Raises:
            StoreUnavailableError: the URL is not one of an asynchronous driver, the database does not open, or it was
                made by a newer version.
        """
        try:
            return cls(await Database.open(database_url))
        except RegistryUnavailableError as error:
            raise StoreUnavailableError from error

    @property
    def database(self) -> Database:
        """Where the keys are; the registry's stores may share it."""
        return self._database

    async def close(self) -> None:
        """Close the database."""
        await self._database.close()

    @or_unavailable
    async def ping(self) -> None:
        """Ask the database for an answer.

        Raises:
            StoreUnavailableError: it gives none.
        """
        await self._database.ping()

    @or_unavailable
    async def find(self, key_id: KeyId) -> KeyRecord | None:
        """The key of that id, live or not.

        Raises:
            StoreUnavailableError: the database does not answer; nothing is known of the key.
        """
        async with self._database.looking() as session:
            row = (await session.execute(_keys().where(API_KEYS.c.id == key_id))).one_or_none()
        return None if row is None else key_record(row)

    @or_unavailable
    async def records(self, tenant: TenantId | None = None) -> Sequence[KeyRecord]:
        """Every key, or a tenant's, oldest first."""
        statement = _keys().order_by(API_KEYS.c.created_at, API_KEYS.c.id)
        if tenant is not None:
            statement = statement.where(API_KEYS.c.tenant_id == tenant)
        async with self._database.looking() as session:
            return [key_record(row) for row in await session.execute(statement)]

    @or_unavailable
    async def page(self, tenant: TenantId, *, cursor: str | None, limit: int) -> Page[KeyRecord]:
        """A tenant's keys, oldest first.

        Raises:
            InvalidNameError: the cursor is not one of this list.
        """
        question = ("keys", tenant)
        statement = _keys().where(API_KEYS.c.tenant_id == tenant)
        if cursor is not None:
            made, key_id = read_cursor(question, cursor, shape=(str, str))
            try:
                place = tuple_(bindparam("made", datetime.fromisoformat(str(made)), API_KEYS.c.created_at.type), key_id)
            except ValueError as error:
                raise InvalidNameError("a cursor", cursor) from error
            statement = statement.where(tuple_(API_KEYS.c.created_at, API_KEYS.c.id) > place)
        statement = statement.order_by(API_KEYS.c.created_at, API_KEYS.c.id).limit(limit + 1)
        async with self._database.looking() as session:
            found = [key_record(row) for row in await session.execute(statement)]
        if len(found) <= limit:
            return Page(items=tuple(found))
        last = found[limit - 1]
        after = write_cursor(question, (last.created_at.isoformat(), last.key_id))
        return Page(items=tuple(found[:limit]), next_cursor=after)

    @or_unavailable
    async def add(self, record: KeyRecord, *, by: Operator = AT_HAND, makes_tenant: bool = True) -> None:
        """Keep a new key; with `makes_tenant`, its tenant and its team come into being with their first key.

        Raises:
            NotFoundError: there is no such tenant, or it has no such team.
            StateError: the tenant has `MAX_KEYS`.
        """
        async with self._database.writing() as session:
            await lock_ledger(session, record.tenant)
            if makes_tenant:
                await _make_tenant_and_team(session, record)
            else:
                await _require_tenant_and_team(session, record)
            count = select(func.count()).select_from(API_KEYS).where(API_KEYS.c.tenant_id == record.tenant)
            if (await session.execute(count)).scalar_one() >= MAX_KEYS:
                raise StateError("too_many_keys", f"a tenant has at most {MAX_KEYS} keys, revoked ones included")
            await session.execute(insert(API_KEYS).values(key_values(record)))
            details: dict[str, JsonValue] = {
                "label": record.label,
                "principal": record.principal,
                "team": record.team,
                "roles": [*sorted_names(record.roles)],
                "expires_at": None if record.expires_at is None else record.expires_at.isoformat(),
            }
            if record.scopes is not None:
                details["scopes"] = [*sorted_names(record.scopes)]
            await _tell(session, record, AuditAction.KEY_ISSUED, details, by=by, at=record.created_at)

    @or_unavailable
    async def change(
        self,
        tenant: TenantId,
        key_id: KeyId,
        changed: Callable[[KeyRecord], KeyRecord],
        *,
        action: AuditAction,
        details: Mapping[str, JsonValue],
        by: Operator,
        at: datetime,
    ) -> KeyRecord:
        """Put what `changed` makes of a key in its place. It is called with the key as it is while nobody writes.

        Raises:
            NotFoundError: the tenant has no such key.
            Whatever `changed` raises; then nothing is changed.
        """
        async with self._database.writing() as session:
            await lock_ledger(session, tenant)
            this = API_KEYS.c.id == key_id
            row = (await session.execute(_keys().where(this, API_KEYS.c.tenant_id == tenant))).one_or_none()
            if row is None:
                raise NotFoundError("key", key_id)
            present = key_record(row)
            record = changed(present)
            before, after = key_values(present), key_values(record)
            values = {name: value for name, value in after.items() if value != before[name]}
            if values:
                await session.execute(update(API_KEYS).where(this).values(values))
                await _tell(session, record, action, details, by=by, at=at)
            return record

    @or_unavailable
    async def revoke(self, key_id: KeyId, *, at: datetime, by: Operator = AT_HAND) -> bool:
        """Revoke a key that is not revoked yet; whether there was one."""
        async with self._database.writing() as session:
            owner = select(API_KEYS.c.tenant_id).where(API_KEYS.c.id == key_id)
            tenant = (await session.execute(owner)).scalar_one_or_none()
            if tenant is None:
                return False
            return await _revoke(session, TenantId(tenant), API_KEYS.c.id == key_id, at=at, by=by) == 1

    @or_unavailable
    async def revoke_labelled(self, tenant: TenantId, label: str, *, at: datetime, by: Operator = AT_HAND) -> int:
        """Revoke every live key of a tenant with that label; how many."""
        async with self._database.writing() as session:
            return await _revoke(session, tenant, API_KEYS.c.label == label, at=at, by=by)

    @or_unavailable
    async def mark_used(self, moments: Mapping[KeyId, datetime]) -> None:
        """Write down when keys were last used. No event, no ledger: nothing that a tenant does waits for it."""
        # In one order everywhere: gateways that write at one moment must not wait for each other in a circle.
        rows = [{"key": key, "at": moments[key]} for key in sorted(moments)]
        if not rows:
            return
        used = API_KEYS.c.last_used_at
        at = bindparam("at", type_=used.type)
        statement = (
            update(API_KEYS)
            .where(API_KEYS.c.id == bindparam("key"), or_(used.is_(None), used < at))
            .values(last_used_at=at)
        )
        async with self._database.writing() as session:
            await session.execute(statement, rows)

    @or_unavailable
    async def replace_digest(self, key_id: KeyId, *, old: str, new: str) -> None:
        """The same secret under another pepper; nothing where the key has another secret by now."""
        here = update(API_KEYS).where(API_KEYS.c.id == key_id)
        async with self._database.writing() as session:
            await session.execute(here.where(API_KEYS.c.digest == old).values(digest=new))
            await session.execute(here.where(API_KEYS.c.previous_digest == old).values(previous_digest=new))


def _keys() -> Select[Any]:
    return select(*API_KEYS.c, TENANTS.c.disabled_at).select_from(_KEYS_WITH_TENANTS)


async def _make_tenant_and_team(session: AsyncConnection, record: KeyRecord) -> None:
    tenant = {"id": record.tenant, "created_at": record.created_at}
    await session.execute(inserting(session, TENANTS).values(tenant).on_conflict_do_nothing())
    if record.team is not None:
        team = {"tenant_id": record.tenant, "name": record.team, "created_at": record.created_at}
        await session.execute(inserting(session, TEAMS).values(team).on_conflict_do_nothing())


async def _require_tenant_and_team(session: AsyncConnection, record: KeyRecord) -> None:
    tenant = select(TENANTS.c.id).where(TENANTS.c.id == record.tenant)
    if (await session.execute(tenant)).one_or_none() is None:
        raise NotFoundError("tenant", record.tenant)
    if record.team is not None:
        team = select(TEAMS.c.name).where(TEAMS.c.tenant_id == record.tenant, TEAMS.c.name == record.team)
        if (await session.execute(team)).one_or_none() is None:
            raise NotFoundError("team", record.team)


async def _revoke(
    session: AsyncConnection, tenant: TenantId, which: ColumnElement[bool], *, at: datetime, by: Operator
) -> int:
    await lock_ledger(session, tenant)
    live = _keys().where(API_KEYS.c.tenant_id == tenant, which, API_KEYS.c.revoked_at.is_(None))
    records = [key_record(row) for row in await session.execute(live.order_by(API_KEYS.c.id))]
    for record in records:
        await session.execute(update(API_KEYS).where(API_KEYS.c.id == record.key_id).values(revoked_at=at))
        ended = replace(record, revoked_at=at)
        await _tell(session, ended, AuditAction.KEY_REVOKED, {}, by=by, at=at)
    return len(records)


async def _tell(
    session: AsyncConnection,
    record: KeyRecord,
    action: AuditAction,
    details: Mapping[str, JsonValue],
    *,
    by: Operator,
    at: datetime,
) -> None:
    await append_event(
        session,
        tenant=record.tenant,
        actor=by.principal,
        key_id=by.key_id,
        action=action,
        subject={"key": record.key_id},
        details={**details, **by.told_in(record.tenant)},
        at=at,
    )
