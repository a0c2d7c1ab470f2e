# ruff: noqa: S608 - the statements are made of names that stand in this file
"""What was stored stays: every statement that would change or delete it is refused by the database itself."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from registry.identifiers import SigningKeyId
from registry.revision import Dependency, Signature, SigningKey
from registry.store.signatures import SignatureStore
from registry.store.tables.schema import METADATA
from tests.registry.store.world import ACME, ADA, INVOICE, NOON, World, number, opened

TABLES = ("revisions", "revision_dependencies", "schema_ids", "signatures", "audit_events")
COLUMNS = {
    "revisions": ("source_text", "canonical_text", "digest", "number", "policy", "author", "created_at", "message"),
    "revision_dependencies": ("dependency_id",),
    "schema_ids": ("schema_id", "source_digest"),
    "signatures": ("signature", "signed_by", "key_id"),
    "audit_events": ("details", "digest", "previous", "sequence", "actor", "at"),
}

COLUMN_NAMES = {table: [column.name for column in METADATA.tables[table].columns] for table in TABLES}
IDENTITY = {"revisions": "revision_id", "signatures": "key_id", "audit_events": "tenant"}
"""A column whose change makes a row another one, which SQLite would still put in the place of that of its rowid."""


async def fill(world: World) -> None:
    """At least one row in each table."""
    first = await world.register(1)
    dependency = Dependency(
        uri="schemagate:invoice@1", digest=first.revision.digest, revision_id=first.revision.revision_id
    )
    await world.register(2, dependencies=(dependency,))
    store = SignatureStore(world.database)
    key = SigningKey(
        key_id=SigningKeyId("ed25519:1"),
        tenant=ACME,
        public_key=base64.b64encode(bytes(32)).decode(),
        label="",
        principal=ADA.principal,
        added_at=NOON,
    )
    await store.add_key(ADA, key)
    await store.add_signature(
        ADA,
        INVOICE,
        number(1),
        Signature(
            revision_id=first.revision.revision_id,
            key_id=key.key_id,
            signature="c2lnbmF0dXJl",
            signed_by=ADA.principal,
            signed_at=NOON,
        ),
    )


async def refuses(world: World, statement: str) -> bool:
    """Whether the database refuses it, for the reason that the table is append-only."""
    try:
        async with world.database.writing() as session:
            await session.execute(text(statement))
    except IntegrityError as error:
        return "append-only" in str(error)
    return False


async def contents(world: World) -> dict[str, list[tuple[object, ...]]]:
    async with world.database.reading() as session:
        return {
            table: [tuple(row) for row in await session.execute(select(METADATA.tables[table]))] for table in TABLES
        }


@pytest.mark.parametrize("table", TABLES)
async def test_no_row_is_changed_or_deleted(database_url: str, table: str) -> None:
    async with opened(database_url) as world:
        await fill(world)
        before = await contents(world)
        assert before[table]
        for column in COLUMNS[table]:
            assert await refuses(world, f"UPDATE {table} SET {column} = {column}")
        assert await refuses(world, f"DELETE FROM {table}")
        if not world.database.is_sqlite:
            assert await refuses(world, f"TRUNCATE {table} CASCADE")
        assert await contents(world) == before


@pytest.mark.parametrize("recursive", ["ON", "OFF"])
@pytest.mark.parametrize("table", ["revisions", "signatures", "audit_events"])
async def test_on_sqlite_no_row_is_replaced(tmp_path: Path, table: str, recursive: str) -> None:
    """SQLite's REPLACE deletes first, and asks the triggers against deleting only if its connection says so."""
    async with opened(f"sqlite+aiosqlite:///{tmp_path / 'registry.db'}") as world:
        await fill(world)
        before = await contents(world)
        async with world.database.reading() as session:
            await session.execute(text(f"PRAGMA recursive_triggers={recursive}"))
        assert await refuses(world, f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}")
        names = ", ".join(name for name in COLUMN_NAMES[table] if name != IDENTITY[table])
        taking = f"rowid, {IDENTITY[table]}, {names}) SELECT 1, 'another', {names} FROM {table} WHERE rowid = 1"
        assert await refuses(world, f"INSERT OR REPLACE INTO {table} ({taking}")
        assert await contents(world) == before


async def test_an_upsert_is_an_update(database_url: str) -> None:
    async with opened(database_url) as world:
        await fill(world)
        before = await contents(world)
        assert await refuses(
            world,
            "INSERT INTO revisions SELECT * FROM revisions WHERE true "
            "ON CONFLICT (revision_id) DO UPDATE SET message = 'changed'",
        )
        assert await contents(world) == before


async def test_what_may_change_changes(database_url: str) -> None:
    """The triggers bind nothing else: a revision's status is another table's row."""
    async with opened(database_url) as world:
        await fill(world)
        made = await world.contracts.revision(ACME, INVOICE, number(2))
        assert made is not None
        gone = await world.contracts.tombstone_revision(ADA, INVOICE, number(2), reason="x", at=NOON)
        assert gone.revision == made.revision
        assert gone.status == replace(made.status, tombstoned_at=NOON, changed_at=NOON, reason="x")
