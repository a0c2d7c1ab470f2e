"""Tenants and their teams in SQL. Every method is one transaction."""

from datetime import datetime
from typing import Final

from sqlalchemy import func, insert, select, update

from gateway.auth.faults import or_unavailable
from gateway.auth.operator import Operator
from gateway.auth.records import TeamRecord, TenantRecord
from gateway.auth.rows import team_record, tenant_record
from registry.audit import AuditAction
from registry.contract import JsonValue
from registry.errors import NotFoundError, StateError
from registry.identifiers import TeamName, TenantId
from registry.store.audit_log import append_event
from registry.store.cursors import read_cursor, write_cursor
from registry.store.database import Database
from registry.store.ledger import inserting, lock_ledger
from registry.store.records import Page
from registry.store.tables.tenancy import TEAMS, TENANTS

MAX_TEAMS: Final = 1_000
"""Of one tenant."""


class TenantStore:
    """Tenants, in the database that they share with everything else."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @or_unavailable
    async def find(self, tenant: TenantId) -> TenantRecord | None:
        """The tenant, disabled or not."""
        async with self._database.looking() as session:
            row = (await session.execute(select(TENANTS).where(TENANTS.c.id == tenant))).one_or_none()
        return None if row is None else tenant_record(row)

    @or_unavailable
    async def page(self, *, cursor: str | None, limit: int) -> Page[TenantRecord]:
        """All tenants by id. Raises `InvalidNameError` for a cursor of another list."""
        question = ("tenants",)
        statement = select(TENANTS).order_by(TENANTS.c.id).limit(limit + 1)
        if cursor is not None:
            statement = statement.where(TENANTS.c.id > str(read_cursor(question, cursor, shape=(str,))[0]))
        async with self._database.looking() as session:
            found = [tenant_record(row) for row in await session.execute(statement)]
        if len(found) <= limit:
            return Page(items=tuple(found))
        return Page(items=tuple(found[:limit]), next_cursor=write_cursor(question, (found[limit - 1].tenant,)))

    @or_unavailable
    async def create(self, tenant: TenantId, *, name: str, by: Operator, at: datetime) -> TenantRecord:
        """Make a tenant.

        Raises:
            StateError: there is one of that id.
        """
        values = {"id": tenant, "name": name, "created_at": at}
        async with self._database.writing() as session:
            await lock_ledger(session, tenant)
            made = inserting(session, TENANTS).values(values).on_conflict_do_nothing().returning(TENANTS.c.id)
            if (await session.execute(made)).one_or_none() is None:
                raise StateError("known_tenant", f"there is a tenant {tenant!r} already")
            await append_event(
                session,
                tenant=tenant,
                actor=by.principal,
                key_id=by.key_id,
                action=AuditAction.TENANT_CREATED,
                subject={"tenant": tenant},
                details={"name": name, **by.told_in(tenant)},
                at=at,
            )
        return TenantRecord(tenant=tenant, name=name, created_at=at)

    @or_unavailable
    async def change(
        self, tenant: TenantId, *, name: str | None = None, disabled: bool | None = None, by: Operator, at: datetime
    ) -> TenantRecord:
        """Rename, disable or enable a tenant; what is None stays, and what is so already is told nobody.

        Raises:
            NotFoundError: there is no such tenant.
        """
        async with self._database.writing() as session:
            await lock_ledger(session, tenant)
            row = (await session.execute(select(TENANTS).where(TENANTS.c.id == tenant))).one_or_none()
            if row is None:
                raise NotFoundError("tenant", tenant)
            present = tenant_record(row)
            details: dict[str, JsonValue] = {}
            values: dict[str, object] = {}
            if name is not None and name != present.name:
                details["name"], values["name"] = name, name
            if disabled is not None and disabled != (present.disabled_at is not None):
                details["disabled"], values["disabled_at"] = disabled, at if disabled else None
            if not values:
                return present
            await session.execute(update(TENANTS).where(TENANTS.c.id == tenant).values(values))
            await append_event(
                session,
                tenant=tenant,
                actor=by.principal,
                key_id=by.key_id,
                action=AuditAction.TENANT_CHANGED,
                subject={"tenant": tenant},
                details={**details, **by.told_in(tenant)},
                at=at,
            )
            return tenant_record((await session.execute(select(TENANTS).where(TENANTS.c.id == tenant))).one())

    @or_unavailable
    async def teams(self, tenant: TenantId) -> tuple[TeamRecord, ...]:
        """A tenant's teams by name; there are at most `MAX_TEAMS`."""
        statement = select(TEAMS).where(TEAMS.c.tenant_id == tenant).order_by(TEAMS.c.name)
        async with self._database.looking() as session:
            return tuple(team_record(row) for row in await session.execute(statement))

    @or_unavailable
    async def create_team(self, tenant: TenantId, team: TeamName, *, by: Operator, at: datetime) -> TeamRecord:
        """Make a team.

        Raises:
            NotFoundError: there is no such tenant.
            StateError: it has a team of that name, or `MAX_TEAMS`.
        """
        async with self._database.writing() as session:
            await lock_ledger(session, tenant)
            if (await session.execute(select(TENANTS.c.id).where(TENANTS.c.id == tenant))).one_or_none() is None:
                raise NotFoundError("tenant", tenant)
            known = select(TEAMS.c.name).where(TEAMS.c.tenant_id == tenant, TEAMS.c.name == team)
            if (await session.execute(known)).one_or_none() is not None:
                raise StateError("known_team", f"the tenant has a team {team!r} already")
            count = select(func.count()).select_from(TEAMS).where(TEAMS.c.tenant_id == tenant)
            if (await session.execute(count)).scalar_one() >= MAX_TEAMS:
                raise StateError("too_many_teams", f"a tenant has at most {MAX_TEAMS} teams")
            await session.execute(insert(TEAMS).values(tenant_id=tenant, name=team, created_at=at))
            await append_event(
                session,
                tenant=tenant,
                actor=by.principal,
                key_id=by.key_id,
                action=AuditAction.TEAM_CREATED,
                subject={"team": team},
                details=by.told_in(tenant),
                at=at,
            )
        return TeamRecord(tenant=tenant, team=team, created_at=at)
