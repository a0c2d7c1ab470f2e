"""Transactions: what is committed, what is undone, and who waits for whom."""

import asyncio
import sqlite3
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from sqlalchemy import text

from registry.errors import InvalidNameError, StoreUnavailableError
from registry.identifiers import ContractName, PromotionId, RevisionId, SchemaId, SigningKeyId
from registry.store import database as database_module
from registry.store import sqlite
from registry.store.database import Database, make_engine
from registry.store.faults import retried
from registry.store.ledger import lock_ledger
from registry.store.promotions import PromotionStore
from registry.store.signatures import SignatureStore
from tests.postgres import Postgres, running_postgres
from tests.registry.store.world import ACME, INVOICE, World, opened

WRITE = "INSERT INTO tenants (id, created_at) VALUES ('{}', '2026-01-01 00:00:00')"


async def tenants(world: World) -> list[str]:
    async with world.database.reading() as session:
        return list((await session.execute(text("SELECT id FROM tenants ORDER BY id"))).scalars())


class _OnPurposeError(Exception):
    pass


async def test_a_block_that_raises_is_undone(database_url: str) -> None:
    async def write_and_fail(world: World) -> None:
        async with world.database.writing() as session:
            await session.execute(text(WRITE.format("undone")))
            raise _OnPurposeError

    async with opened(database_url) as world:
        with pytest.raises(_OnPurposeError):
            await write_and_fail(world)
        async with world.database.writing() as session:
            await session.execute(text(WRITE.format("done")))
        assert await tenants(world) == ["done"]


async def test_a_task_that_is_cancelled_is_undone_and_blocks_nobody(database_url: str) -> None:
    async with opened(database_url) as world:
        begun = asyncio.Event()

        async def write_and_wait() -> None:
            async with world.database.writing() as session:
                await session.execute(text(WRITE.format("undone")))
                begun.set()
                await asyncio.Event().wait()

        async with asyncio.TaskGroup() as group:
            task = group.create_task(write_and_wait())
            await begun.wait()
            task.cancel()
        async with world.database.writing() as session:
            await session.execute(text(WRITE.format("done")))
        assert await tenants(world) == ["done"]


async def test_tasks_cancelled_at_any_moment_leave_a_database_that_works(database_url: str) -> None:
    async with opened(database_url) as world:
        for turn in range(20):
            task = asyncio.ensure_future(world.register(turn))
            for _ in range(turn * 3):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                assert task.exception() is None
        contract = await world.contracts.contract(ACME, INVOICE)
        latest = 0 if contract is None else contract.latest
        made = await world.register(1_000)
        assert made.revision.number == latest + 1
        events = await world.audit.events(ACME, after=0, limit=100)
        assert [event.previous for event in events[1:]] == [event.digest for event in events[:-1]]


async def test_a_reader_does_not_wait_for_a_writer(database_url: str) -> None:
    async with opened(database_url) as world, world.database.writing() as session:
        await session.execute(text(WRITE.format("not yet")))
        assert await tenants(world) == []


async def test_on_sqlite_what_was_acknowledged_is_on_the_disk(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'registry.db'}"
    async with opened(url) as world, world.database.reading() as session:
        settings = {
            name: (await session.exec_driver_sql(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "recursive_triggers")
        }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 5000,
        "recursive_triggers": 1,
    }


async def test_a_writer_that_falls_silent_does_not_hold_its_tenants_others_for_ever(
    postgres: Postgres, postgres_template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.make_database(template=postgres_template)
    async with AsyncExitStack() as stack:
        other = await stack.enter_async_context(opened(url))
        with monkeypatch.context() as changed:
            changed.setattr(database_module, "IDLE_SECONDS", 1.0)
            frozen = await stack.enter_async_context(opened(url))

        async def fall_silent() -> None:
            async with frozen.database.writing() as session:
                await lock_ledger(session, ACME)
                made = await other.register(1)  # waits for the lock, until it is taken away
                assert made.revision.number == 1
                await session.execute(text(WRITE.format("too-late")))

        with pytest.raises(StoreUnavailableError):
            await fall_silent()
        assert "too-late" not in await tenants(other)
    postgres.drop_database(url)


async def test_a_database_in_memory_serves_one_task_after_the_other() -> None:
    async with opened("sqlite+aiosqlite://") as world:
        await world.register(1)
        found = await asyncio.gather(*(world.contracts.contract(ACME, INVOICE) for _ in range(5)))
        assert {contract.latest for contract in found if contract is not None} == {1}


@pytest.mark.parametrize(
    "url",
    [
        "",
        "no url",
        "sqlite+pysqlite:///file.db",
        "mysql+aiomysql://localhost/x",
        "postgresql+psycopg2://localhost/x",
        "sqlite+aiosqlite:////no/such/directory/file.db",
        "postgresql+asyncpg://nobody@127.0.0.1:1/nothing",
        "postgresql+asyncpg://nobody@/nothing?host=/no/such/socket",
    ],
)
async def test_what_cannot_be_opened_is_unavailable(url: str) -> None:
    with pytest.raises(StoreUnavailableError):
        await Database.open(url)


async def test_a_url_that_names_no_driver_means_ours(database_url: str) -> None:
    kind, plus, rest = database_url.partition("+")
    bare = f"{kind}:{rest.partition(':')[2]}"
    assert plus
    async with opened(bare) as world:
        await world.database.ping()


def test_a_driver_that_is_not_ours_is_named_with_those_that_are() -> None:
    with pytest.raises(StoreUnavailableError) as refused:
        make_engine("postgresql+psycopg2://localhost/x")
    assert "postgresql+asyncpg" in str(refused.value.__cause__)


async def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is not a database, and long enough to be seen as none" * 20)
    with pytest.raises(StoreUnavailableError):
        await Database.open(f"sqlite+aiosqlite:///{tmp_path / 'text.db'}")


async def test_a_table_that_is_gone_is_unavailable(database_url: str) -> None:
    async with opened(database_url) as world:
        async with world.database.writing() as session:
            await session.execute(text("DROP TABLE aliases"))
        with pytest.raises(StoreUnavailableError):
            await world.contracts.aliases(ACME, INVOICE)


async def test_another_processs_writer_is_waited_for_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_PRAGMAS", ("PRAGMA busy_timeout=50", *sqlite._PRAGMAS[1:]))
    path = tmp_path / "registry.db"
    async with opened(f"sqlite+aiosqlite:///{path}") as world:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            with pytest.raises(StoreUnavailableError):
                await world.register(1)
            assert await world.contracts.contract(ACME, INVOICE) is None
        finally:
            other.execute("ROLLBACK")
            other.close()
        assert (await world.register(1)).is_new


async def test_a_turn_is_waited_for_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "WRITE_TURN_SECONDS", 0.05)
    async with opened(f"sqlite+aiosqlite:///{tmp_path / 'registry.db'}") as world:
        async with world.database.writing():
            with pytest.raises(StoreUnavailableError):
                await world.register(1)
        assert (await world.register(1)).is_new


async def test_a_connection_is_waited_for_but_not_for_ever(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "POOL_CONNECTIONS", 1)
    monkeypatch.setattr(database_module, "CHECKOUT_SECONDS", 0.05)
    async with opened(database_url) as world:
        async with world.database.reading():
            with pytest.raises(StoreUnavailableError):
                await world.register(1)
        assert (await world.register(1)).is_new


async def test_a_deadlock_is_broken_by_the_database_and_tried_again(postgres: Postgres, postgres_template: str) -> None:
    url = postgres.make_database(template=postgres_template)
    async with opened(url) as world:
        async with world.database.writing() as session:
            for name in ("a", "b"):
                await session.execute(text(WRITE.format(name)))
        both = asyncio.Barrier(2)
        attempts: list[str] = []

        @retried
        async def lock(first: str, second: str) -> None:
            attempts.append(first)
            async with world.database.writing() as session:
                await session.execute(text(f"UPDATE tenants SET id = id WHERE id = '{first}'"))  # noqa: S608
                if len(attempts) <= 2:
                    await both.wait()
                await session.execute(text(f"UPDATE tenants SET id = id WHERE id = '{second}'"))  # noqa: S608

        await asyncio.gather(lock("a", "b"), lock("b", "a"))
        assert len(attempts) == 3
    postgres.drop_database(url)


async def test_after_the_server_came_back_reads_go_on(postgres: Postgres) -> None:
    """A connection that was lost is noticed when it is used; a read is then simply asked again."""
    with running_postgres(postgres.programs) as server:
        url = server.make_database()
        async with opened(url) as world:
            await world.register(1)
            server.run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='schemagate'")
            assert await world.contracts.contract(ACME, INVOICE) is not None
    assert not server.directory.exists()


async def test_a_server_that_is_gone_is_unavailable(postgres: Postgres) -> None:
    async with AsyncExitStack() as stack:
        with running_postgres(postgres.programs) as server:
            world = await stack.enter_async_context(opened(server.make_database()))
        with pytest.raises(StoreUnavailableError):
            await world.contracts.contract(ACME, INVOICE)
        with pytest.raises(StoreUnavailableError):
            await world.register(1)
        with pytest.raises(StoreUnavailableError):
            await world.database.ping()


async def finds_nothing(asking: Awaitable[object]) -> bool:
    """Whether the answer is "nothing", or that there can be nothing of the kind."""
    try:
        return not await asking
    except InvalidNameError as error:
        return "U+0000 or is out of range" in str(error)


@pytest.mark.parametrize("text", ["a\x00b", "half \ud800", "x" * 100_000])
async def test_a_text_that_no_row_can_hold_finds_nothing(database_url: str, text: str) -> None:
    async with opened(database_url) as world:
        assert await finds_nothing(PromotionStore(world.database).get(ACME, PromotionId(text)))
        assert await finds_nothing(SignatureStore(world.database).key(ACME, SigningKeyId(text)))
        assert await finds_nothing(world.contracts.revision_by_id(RevisionId(text)))
        assert await finds_nothing(world.contracts.contract(ACME, ContractName(text)))
        assert (await world.register(1)).is_new


@pytest.mark.parametrize("number", [2**31, 2**63, -(2**70)])
async def test_a_number_that_no_row_can_have_finds_nothing(database_url: str, number: int) -> None:
    async with opened(database_url) as world:
        assert await finds_nothing(world.contracts.revisions_with_schema_id(ACME, SchemaId(number)))
        assert (await world.register(1)).is_new
