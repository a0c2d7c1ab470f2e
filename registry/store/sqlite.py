"""What SQLite has to be told on every connection."""

import asyncio
import sqlite3
from time import monotonic
from typing import Any, Final

import aiosqlite
from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine

BUSY_MILLISECONDS: Final = 5_000
"""How long a writer waits for one of another process before it gives up."""
_RETRY_SECONDS: Final = 0.01

_PRAGMAS: Final = (
    f"PRAGMA busy_timeout={BUSY_MILLISECONDS}",
    # What was acknowledged is on the disk, not on its way.
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    # `INSERT OR REPLACE` deletes what it replaces: only so do the triggers against deleting see it.
    "PRAGMA recursive_triggers=ON",
)


def prepare_sqlite(engine: AsyncEngine) -> None:
    """Have every connection of `engine` prepared, and transactions begun as their execution option says.

    Python's driver begins transactions of its own accord, and only before it writes; with that a look and the write
    after it would be two transactions.
    """

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in _PRAGMAS:
            cursor.execute(pragma)
        cursor.close()
        connection.run_async(_log_ahead)

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("schemagate_begin", "BEGIN"))


async def _log_ahead(connection: aiosqlite.Connection) -> None:
    """Keep a write-ahead log, so that a writer never makes a reader fail.

    SQLite refuses the change at once, however long its busy timeout, while another process writes to the file as it was
    before (two gateways starting on a new database): the waiting is ours to do.
    """
    deadline = monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            await connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= deadline:
                raise
        await asyncio.sleep(_RETRY_SECONDS)
