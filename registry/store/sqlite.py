"""What SQLite has to be told on every connection."""

from typing import Any, Final

from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine

BUSY_MILLISECONDS: Final = 5_000
"""How long a writer waits for one of another process before it gives up."""

_PRAGMAS: Final = (
    f"PRAGMA busy_timeout={BUSY_MILLISECONDS}",
    # A writer must never make a reader fail; and what was acknowledged is on the disk, not on its way.
    "PRAGMA journal_mode=WAL",
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

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("schemagate_begin", "BEGIN"))
