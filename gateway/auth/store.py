"""Tenants and API keys in SQL. The only module of the gateway that knows SQLAlchemy.

Calling order: `open`, then anything, then `close`. Every method is one transaction; no session outlives its call.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from sqlalchemy import DateTime, ForeignKey, String, select, text, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from gateway.errors import StoreUnavailableError
from gateway.identifiers import KeyId
from registry.identifiers import TenantId


class _Tables(DeclarativeBase):
    pass


class _TenantRow(_Tables):
    __tablename__ = "tenants"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))


class _KeyRow(_Tables):
    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    tenant_id: Mapped[str] = mapped_column(ForeignKey("tenants.id"), index=True)
    digest: Mapped[str] = mapped_column(String(64))
    label: Mapped[str] = mapped_column(String(128))
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    expires_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    revoked_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


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

    def is_live(self, now: datetime) -> bool:
        """Neither revoked nor expired at `now`."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def _refuse_unless_it_can_be_made(engine: AsyncEngine) -> None:
    """A file database in no directory is found here: a failed connect leaves the driver's thread behind, which may
    speak up after its event loop is gone."""
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    if file and file != ":memory:" and not Path(file).absolute().parent.is_dir():
        raise StoreUnavailableError from FileNotFoundError(f"{Path(file).parent} is not a directory")


class KeyStore:
    """Keys and their tenants, in one database."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._sessions = async_sessionmaker(engine, expire_on_commit=False)

    @classmethod
    async def open(cls, database_url: str) -> Self:
        """Connect, and make the tables if they are missing.

        Raises:
            StoreUnavailableError: the URL is not one of an asynchronous driver, or the database does not open.
        """
        try:
            engine = create_async_engine(database_url)
        except (SQLAlchemyError, ImportError) as error:
            raise StoreUnavailableError from error
        _refuse_unless_it_can_be_made(engine)
        try:
            async with engine.begin() as connection:
                if engine.dialect.name == "sqlite":
                    # A writer (`schemagate key`, the bootstrap) must never make a reader fail.
                    await connection.execute(text("PRAGMA journal_mode=WAL"))
                await connection.run_sync(_Tables.metadata.create_all)
        except SQLAlchemyError as error:
            await engine.dispose()
            raise StoreUnavailableError from error
        except BaseException:
            await engine.dispose()
            raise
        return cls(engine)

    async def close(self) -> None:
        """Give every connection back."""
        await self._engine.dispose()

    async def ping(self) -> None:
        """Raise whatever the database raises when it does not answer."""
        async with self._engine.connect() as connection:
            await connection.execute(text("SELECT 1"))

    async def add(self, record: KeyRecord) -> None:
        """Keep a new key; its tenant comes into being with its first key."""
        async with self._sessions.begin() as session:
            if await session.get(_TenantRow, record.tenant) is None:
                try:
                    async with session.begin_nested():
                        session.add(_TenantRow(id=record.tenant, created_at=record.created_at))
                except IntegrityError:
                    pass  # another process made the same tenant between our look and our insert
            session.add(
                _KeyRow(
                    id=record.key_id,
                    tenant_id=record.tenant,
                    digest=record.digest,
                    label=record.label,
                    created_at=record.created_at,
                    expires_at=record.expires_at,
                    revoked_at=record.revoked_at,
                )
            )

    async def find(self, key_id: KeyId) -> KeyRecord | None:
        """The key of that id, live or not.

        Raises:
            StoreUnavailableError: the database does not answer; nothing is known of the key.
        """
        try:
            async with self._sessions() as session:
                row = await session.get(_KeyRow, key_id)
        except SQLAlchemyError as error:
            raise StoreUnavailableError from error
        return None if row is None else _record(row)

    async def records(self, tenant: TenantId | None = None) -> Sequence[KeyRecord]:
        """Every key, or a tenant's, oldest first."""
        statement = select(_KeyRow).order_by(_KeyRow.created_at, _KeyRow.id)
        if tenant is not None:
            statement = statement.where(_KeyRow.tenant_id == tenant)
        async with self._sessions() as session:
            return [_record(row) for row in await session.scalars(statement)]

    async def revoke(self, key_id: KeyId, *, at: datetime) -> bool:
        """Revoke a key that is not revoked yet; whether there was one."""
        statement = update(_KeyRow).where(_KeyRow.id == key_id, _KeyRow.revoked_at.is_(None)).values(revoked_at=at)
        async with self._sessions.begin() as session:
            return (await session.execute(statement.returning(_KeyRow.id))).first() is not None

    async def revoke_labelled(self, tenant: TenantId, label: str, *, at: datetime) -> int:
        """Revoke every live key of a tenant with that label; how many."""
        statement = (
            update(_KeyRow)
            .where(_KeyRow.tenant_id == tenant, _KeyRow.label == label, _KeyRow.revoked_at.is_(None))
            .values(revoked_at=at)
            .returning(_KeyRow.id)
        )
        async with self._sessions.begin() as session:
            return len((await session.execute(statement)).all())


def _record(row: _KeyRow) -> KeyRecord:
    return KeyRecord(
        key_id=KeyId(row.id),
        tenant=TenantId(row.tenant_id),
        digest=row.digest,
        label=row.label,
        created_at=_utc(row.created_at),
        expires_at=None if row.expires_at is None else _utc(row.expires_at),
        revoked_at=None if row.revoked_at is None else _utc(row.revoked_at),
    )


def _utc(stamp: datetime) -> datetime:
    # SQLite keeps no zone: what was written as UTC is read back without one.
    return stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=UTC)
