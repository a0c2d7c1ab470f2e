"""Tenants and API keys in SQL. The only module of the gateway that knows SQLAlchemy.

Calling order: `open`, then anything, then `close`. Every method is one transaction; no session outlives its call.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import Any, Final, ParamSpec, Self, TypeVar

from sqlalchemy import ColumnElement, Row, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.errors import StoreUnavailableError
from gateway.identifiers import KeyId
from policy.roles import Role
from registry.audit import AuditAction
from registry.errors import StoreUnavailableError as RegistryUnavailableError
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.store.audit_log import append_event
from registry.store.database import Database
from registry.store.faults import retried
from registry.store.ledger import inserting, lock_ledger
from registry.store.tables.tenancy import API_KEYS, TENANTS

OPERATOR_AT_HAND: Final = PrincipalId("operator-at-hand")
"""Who the audit names where keys are made and revoked by whoever holds the database itself."""

MAX_TEXT_CHARACTERS: Final = 128
"""Of a label and of a principal."""

_CALLER_ONLY: Final = frozenset({Role.CALLER})

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def _or_unavailable(method: Callable[_Parameters, Awaitable[_Result]]) -> Callable[_Parameters, Awaitable[_Result]]:
    """Tried again while that may help; then the registry's word for it becomes the gateway's."""
    again = retried(method)

    @wraps(method)
    async def asked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return await again(*args, **kwargs)
        except RegistryUnavailableError as error:
            raise StoreUnavailableError from error

    return asked


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A key as it is kept. `digest` is keyed (HMAC): useless without the pepper, and still not shown."""

    key_id: KeyId
    tenant: TenantId
    digest: str = field(repr=False)
    label: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    principal: PrincipalId
    """Whose key it is; two-person rules compare this."""
    team: TeamName | None = None
    roles: frozenset[Role] = _CALLER_ONLY

    def __post_init__(self) -> None:
        if max(len(self.label), len(self.principal)) > MAX_TEXT_CHARACTERS:
            raise ValueError(f"a key's label and its principal have at most {MAX_TEXT_CHARACTERS} characters each")

    def is_live(self, now: datetime) -> bool:
        """Neither revoked nor expired at `now`."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def principal_of(key_id: KeyId) -> PrincipalId:
    """Who holds a key that was made without saying for whom: nobody but this key."""
    return PrincipalId(f"key:{key_id}")


class KeyStore:
    """Keys and their tenants, in one database."""

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

    @_or_unavailable
    async def ping(self) -> None:
        """Ask the database for an answer.

        Raises:
            StoreUnavailableError: it gives none.
        """
        await self._database.ping()

    @_or_unavailable
    async def add(self, record: KeyRecord, *, by: PrincipalId = OPERATOR_AT_HAND) -> None:
        """Keep a new key; its tenant comes into being with its first key."""
        async with self._database.writing() as session:
            await lock_ledger(session, record.tenant)
            tenant = {"id": record.tenant, "created_at": record.created_at}
            await session.execute(inserting(session, TENANTS).values(tenant).on_conflict_do_nothing())
            await session.execute(insert(API_KEYS).values(_values(record)))
            await append_event(
                session,
                tenant=record.tenant,
                actor=by,
                key_id=None,
                action=AuditAction.KEY_ISSUED,
                subject={"key": record.key_id},
                details={
                    "label": record.label,
                    "principal": record.principal,
                    "team": record.team,
                    "roles": [*_sorted(record.roles)],
                    "expires_at": None if record.expires_at is None else record.expires_at.isoformat(),
                },
                at=record.created_at,
            )

    @_or_unavailable
    async def find(self, key_id: KeyId) -> KeyRecord | None:
        """The key of that id, live or not.

        Raises:
            StoreUnavailableError: the database does not answer; nothing is known of the key.
        """
        async with self._database.looking() as session:
            row = (await session.execute(select(API_KEYS).where(API_KEYS.c.id == key_id))).one_or_none()
        return None if row is None else _record(row)

    @_or_unavailable
    async def records(self, tenant: TenantId | None = None) -> Sequence[KeyRecord]:
        """Every key, or a tenant's, oldest first."""
        statement = select(API_KEYS).order_by(API_KEYS.c.created_at, API_KEYS.c.id)
        if tenant is not None:
            statement = statement.where(API_KEYS.c.tenant_id == tenant)
        async with self._database.looking() as session:
            return [_record(row) for row in await session.execute(statement)]

    @_or_unavailable
    async def revoke(self, key_id: KeyId, *, at: datetime, by: PrincipalId = OPERATOR_AT_HAND) -> bool:
        """Revoke a key that is not revoked yet; whether there was one."""
        async with self._database.writing() as session:
            owner = select(API_KEYS.c.tenant_id).where(API_KEYS.c.id == key_id)
            tenant = (await session.execute(owner)).scalar_one_or_none()
            if tenant is None:
                return False
            return await _revoke(session, TenantId(tenant), API_KEYS.c.id == key_id, at=at, by=by) == 1

    @_or_unavailable
    async def revoke_labelled(
        self, tenant: TenantId, label: str, *, at: datetime, by: PrincipalId = OPERATOR_AT_HAND
    ) -> int:
        """Revoke every live key of a tenant with that label; how many."""
        async with self._database.writing() as session:
            return await _revoke(session, tenant, API_KEYS.c.label == label, at=at, by=by)


async def _revoke(
    session: AsyncConnection, tenant: TenantId, which: ColumnElement[bool], *, at: datetime, by: PrincipalId
) -> int:
    await lock_ledger(session, tenant)
    ended = (
        update(API_KEYS)
        .where(API_KEYS.c.tenant_id == tenant, which, API_KEYS.c.revoked_at.is_(None))
        .values(revoked_at=at)
        .returning(API_KEYS.c.id)
    )
    keys = sorted(row.id for row in await session.execute(ended))
    for key in keys:
        await append_event(
            session,
            tenant=tenant,
            actor=by,
            key_id=None,
            action=AuditAction.KEY_REVOKED,
            subject={"key": key},
            details={},
            at=at,
        )
    return len(keys)


def _sorted(roles: frozenset[Role]) -> list[str]:
    return sorted(role.value for role in roles)


def _values(record: KeyRecord) -> dict[str, Any]:
    return {
        "id": record.key_id,
        "tenant_id": record.tenant,
        "digest": record.digest,
        "label": record.label,
        "created_at": record.created_at,
        "expires_at": record.expires_at,
        "revoked_at": record.revoked_at,
        "principal": record.principal,
        "team": record.team,
        "roles": ",".join(_sorted(record.roles)),
    }


def _record(row: Row[Any]) -> KeyRecord:
    return KeyRecord(
        key_id=KeyId(row.id),
        tenant=TenantId(row.tenant_id),
        digest=row.digest,
        label=row.label,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        # A gateway of the version before, running beside this one, leaves it empty.
        principal=PrincipalId(row.principal) if row.principal else principal_of(KeyId(row.id)),
        team=None if row.team is None else TeamName(row.team),
        roles=frozenset(Role(name) for name in row.roles.split(",") if name),
    )
