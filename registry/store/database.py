"""One database: its connections, its transactions, and bringing its tables up to this version.

Calling order: `open`, then anything, then `close`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import URL, make_url, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from registry.errors import StoreUnavailableError
from registry.store.faults import mapped
from registry.store.migrations.upgrade import upgrade
from registry.store.sqlite import prepare_sqlite

POOL_CONNECTIONS: Final = 15
"""Of one process; who needs one more waits, up to `CHECKOUT_SECONDS`."""
CHECKOUT_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 5.0
STATEMENT_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 15.0
"""PostgreSQL ends a transaction from which nothing comes for so long, and with it the locks of a gateway that is frozen
or cut off: what others write for its tenant waits on them."""
WRITE_TURN_SECONDS: Final = 10.0
"""How long a writer of this process waits for those before it; SQLite has one writer at a time."""

_DRIVERS: Final = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "postgresql+asyncpg": "postgresql+asyncpg",
}
"""By how a URL begins. Where it names no driver it means ours, and not the one that the library would look for."""


class Database:
    """SQLite or PostgreSQL behind one pair of context managers."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._is_memory = self._is_sqlite and engine.url.database in {None, "", ":memory:"}
        # SQLite's own way of waiting for the writer polls, and is not fair; within a process a queue is.
        self._turn = asyncio.Lock()
        self._writes = engine.execution_options(schemagate_begin="BEGIN IMMEDIATE") if self._is_sqlite else engine
        # A single SELECT is its own transaction; on PostgreSQL this saves two round trips out of three.
        self._looks = engine if self._is_sqlite else engine.execution_options(isolation_level="AUTOCOMMIT")

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect, and make or migrate the tables; several processes may do so at once.

        Raises:
            StoreUnavailableError: no such driver, or the database does not open.
            StoreVersionError: a newer version has made or migrated it.
        """
        engine = make_engine(url)
        try:
            with mapped(commits=True):
                await upgrade(engine)
        except BaseException:
            await engine.dispose()
            raise
        return cls(engine)

    async def close(self) -> None:
        """Give every connection back."""
        await self._engine.dispose()

    async def ping(self) -> None:
        """Ask the database for an answer.

        Raises:
            StoreUnavailableError: it gives none.
        """
        async with self.looking() as session:
            await session.execute(text("SELECT 1"))

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite: one writer, no row locks."""
        return self._is_sqlite

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that writes nothing.

        Raises:
            StoreUnavailableError: the database did not answer.
        """
        with mapped(commits=False):
            if self._is_memory:
                async with self._my_turn(), self._engine.begin() as connection:
                    yield connection
            else:
                async with self._engine.begin() as connection:
                    yield connection

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[AsyncConnection]:
        """For one statement that reads.

        Raises:
            StoreUnavailableError: the database did not answer.
        """
        if self._is_sqlite:
            async with self.reading() as connection:
                yield connection
        else:
            with mapped(commits=False):
                async with self._looks.connect() as connection:
                    yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction: committed when the block ends, rolled back when it raises.

        Raises:
            TransientStoreError: rolled back by the database; `faults.retried` methods try again.
            StoreUnavailableError: the database did not answer; whether it committed is known only if it was not
                asked to yet.
        """
        with mapped(commits=True):
            if self._is_sqlite:
                async with self._my_turn(), self._writes.begin() as connection:
                    yield connection
            else:
                async with self._writes.begin() as connection:
                    yield connection

    @asynccontextmanager
    async def _my_turn(self) -> AsyncIterator[None]:
        async with asyncio.timeout(WRITE_TURN_SECONDS):
            await self._turn.acquire()
        try:
            yield
        finally:
            self._turn.release()


def make_engine(url: str) -> AsyncEngine:
    """The connections to a database, as `Database` wants them; nothing is connected yet.

    Raises:
        StoreUnavailableError: there is no such driver, or no such directory.
    """
    try:
        return _engine(make_url(url))
    except (SQLAlchemyError, ImportError, ValueError, TypeError) as error:
        raise StoreUnavailableError from error


def _engine(url: URL) -> AsyncEngine:
    if url.drivername not in _DRIVERS:
        known = "SQLite (sqlite+aiosqlite:///file) and PostgreSQL (postgresql+asyncpg://user@host/name)"
        raise ValueError(f"{url.drivername} is not known: only {known} are")
    url = url.set(drivername=_DRIVERS[url.drivername])
    if url.get_backend_name() == "sqlite":
        _refuse_unless_it_can_be_made(url.database)
        is_file = url.database not in {None, "", ":memory:"}
        pool: dict[str, Any] = _pool() if is_file else {}
        engine = create_async_engine(url, connect_args={"timeout": CONNECT_SECONDS}, **pool)
        prepare_sqlite(engine)
        return engine
    settings = {
        "application_name": "schemagate",
        "jit": "off",  # compiling a query costs more than these queries do
        "idle_in_transaction_session_timeout": f"{round(IDLE_SECONDS * 1000)}ms",
    }
    arguments: dict[str, Any] = {
        "timeout": CONNECT_SECONDS,
        "command_timeout": STATEMENT_SECONDS,
        "server_settings": settings,
    }
    return create_async_engine(url, connect_args=arguments, **_pool())


def _pool() -> dict[str, Any]:
    return {"pool_size": POOL_CONNECTIONS, "max_overflow": 0, "pool_timeout": CHECKOUT_SECONDS}


def _refuse_unless_it_can_be_made(file: str | None) -> None:
    """A file database in no directory is found here: a failed connect leaves the driver's thread behind, which may
    speak up after its event loop is gone."""
    if file and file != ":memory:" and not Path(file).absolute().parent.is_dir():
        raise StoreUnavailableError from FileNotFoundError(f"{Path(file).parent} is not a directory")
