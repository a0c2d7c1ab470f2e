"""Bringing a database up to this version, by one process at a time."""

from importlib.resources import files
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from registry.store.faults import StoreVersionError

_LOCK: Final = 0x5C4E3A6A7E
"""PostgreSQL's name for "I am migrating"; any number, the same in every process."""


async def upgrade(engine: AsyncEngine) -> None:
    """Take every missing step, all in one transaction that others wait for.

    Raises:
        StoreVersionError: the database has taken a step that this version does not know.
    """
    async with engine.begin() as connection:
        # Most starts find nothing to do, and need not wait for a writer to learn so.
        if await connection.run_sync(_is_current):
            return
    async with engine.execution_options(schemagate_begin="BEGIN IMMEDIATE").begin() as connection:
        if connection.dialect.name == "postgresql":
            await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        await connection.run_sync(_upgrade)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("registry.store.migrations")))
    config.set_main_option("path_separator", "os")
    return config


def _is_current(connection: Connection) -> bool:
    script = ScriptDirectory.from_config(_config())
    return MigrationContext.configure(connection).get_current_revision() == script.get_current_head()


def _upgrade(connection: Connection) -> None:
    config = _config()
    script = ScriptDirectory.from_config(config)
    present = MigrationContext.configure(connection).get_current_revision()
    if present == script.get_current_head():
        return
    if present is not None and present not in {step.revision for step in script.walk_revisions()}:
        raise StoreVersionError(present)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
