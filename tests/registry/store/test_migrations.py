"""Opening a database: made, taken over, migrated by one of several at once, or refused when it is newer."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from gateway.auth.store import KeyStore
from gateway.identifiers import KeyId
from policy.roles import Role
from registry.errors import StoreUnavailableError
from registry.identifiers import PrincipalId
from registry.store.database import Database, make_engine
from registry.store.faults import StoreVersionError
from registry.store.migrate import main
from registry.store.tables.schema import METADATA
from tests.conftest import ROOT
from tests.registry.store.world import opened

FORMER_TABLES = """
CREATE TABLE tenants (id VARCHAR(64) NOT NULL, created_at {moment} NOT NULL, PRIMARY KEY (id));
CREATE TABLE api_keys (
    id VARCHAR(32) NOT NULL, tenant_id VARCHAR(64) NOT NULL, digest VARCHAR(64) NOT NULL, label VARCHAR(128) NOT NULL,
    created_at {moment} NOT NULL, expires_at {moment}, revoked_at {moment},
    PRIMARY KEY (id), FOREIGN KEY(tenant_id) REFERENCES tenants (id)
);
CREATE INDEX ix_api_keys_tenant_id ON api_keys (tenant_id);
INSERT INTO tenants VALUES ('acme', '2025-05-01 10:00:00.000000');
INSERT INTO api_keys VALUES
    ('00112233aabbccdd', 'acme', '{digest}', 'ci', '2025-05-01 10:00:00.000000', NULL, '2025-06-01 10:00:00.000000');
"""
"""What the gateway's first version made, and what it kept in it."""


def differences(connection: Connection) -> list[object]:
    """What Alembic would still have to do."""
    # SQLite gives defaults back as they were spelt, which Alembic takes for a difference.
    options = {"compare_server_default": connection.dialect.name == "postgresql", "compare_type": True}
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), METADATA))


async def run_script(database: Database, script: str) -> None:
    async with database.writing() as session:
        for statement in filter(None, map(str.strip, script.split(";"))):
            await session.execute(text(statement))


async def test_the_steps_make_exactly_the_tables_that_the_code_knows(empty_database_url: str) -> None:
    async with opened(empty_database_url) as world, world.database.writing() as session:
        assert await session.run_sync(differences) == []


async def test_a_database_of_the_former_version_is_taken_over_with_its_keys(empty_database_url: str) -> None:
    moment = "DATETIME" if empty_database_url.startswith("sqlite") else "TIMESTAMP WITH TIME ZONE"
    # A bare connection: opening the database would already make the tables.
    bare = Database(make_engine(empty_database_url))
    await run_script(bare, FORMER_TABLES.format(moment=moment, digest="d" * 64))
    await bare.close()
    store = await KeyStore.open(empty_database_url)
    record = await store.find(KeyId("00112233aabbccdd"))
    assert record is not None
    assert (record.tenant, record.label, record.digest) == ("acme", "ci", "d" * 64)
    assert (record.created_at.isoformat(), record.expires_at) == ("2025-05-01T10:00:00+00:00", None)
    assert record.revoked_at is not None
    assert (record.principal, record.team) == (PrincipalId("key:00112233aabbccdd"), None)
    assert record.roles == frozenset({Role.CALLER})
    async with store.database.writing() as session:
        assert await session.run_sync(differences) == []
    await store.close()


async def test_opening_again_changes_nothing(empty_database_url: str) -> None:
    async with opened(empty_database_url) as world:
        made = await world.register(1)
    async with opened(empty_database_url) as world:
        stored = await world.contracts.revision_by_id(made.revision.revision_id)
        assert stored is not None
        assert stored.revision == made.revision


async def test_a_database_of_a_newer_version_is_refused(database_url: str) -> None:
    async with opened(database_url) as world:
        await run_script(world.database, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreVersionError, match=r"'9999'.*start the newer version"):
        await Database.open(database_url)


async def test_processes_that_start_together_make_the_tables_once(empty_database_url: str) -> None:
    command = [sys.executable, "-m", "registry.store.migrate", empty_database_url]
    starting = [
        await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE
        )
        for _ in range(3)
    ]
    outcomes = [await process.communicate() for process in starting]
    assert [process.returncode for process in starting] == [0, 0, 0], outcomes
    async with opened(empty_database_url) as world, world.database.writing() as session:
        assert await session.run_sync(differences) == []


async def test_opening_a_new_file_waits_for_the_process_that_writes_to_it(tmp_path: Path) -> None:
    file = tmp_path / "shared.db"
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    opening = asyncio.create_task(Database.open(f"sqlite+aiosqlite:///{file}"))
    await asyncio.sleep(0.2)
    assert not opening.done()
    other.execute("COMMIT")
    database = await opening
    await database.ping()
    await database.close()
    other.close()


async def test_one_process_opens_it_many_times_at_once(empty_database_url: str) -> None:
    databases = await asyncio.gather(*(Database.open(empty_database_url) for _ in range(5)))
    for database in databases:
        await database.ping()
        await database.close()


async def test_a_step_that_fails_leaves_the_database_as_it_was(empty_database_url: str) -> None:
    bare = Database(make_engine(empty_database_url))
    await run_script(bare, "CREATE TABLE aliases (something INTEGER)")  # in the way of the third step
    await bare.close()
    with pytest.raises(StoreUnavailableError):
        await Database.open(empty_database_url)
    bare = Database(make_engine(empty_database_url))
    async with bare.writing() as session:
        tables = await session.run_sync(lambda connection: inspect(connection).get_table_names())
    await bare.close()
    assert tables == ["aliases"]


def test_the_command_migrates_and_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"sqlite+aiosqlite:///{tmp_path / 'new.db'}"]) == 0
    assert (tmp_path / "new.db").is_file()
    assert main([f"sqlite+aiosqlite:///{tmp_path / 'missing' / 'new.db'}"]) == 1
    assert "is not a directory" in capsys.readouterr().err
    assert main([]) == 2
