"""When a key was used last, on both databases."""

from datetime import UTC, datetime

from gateway.auth.keys import ApiKey
from tests.gateway.auth.world import opened


async def test_last_use_is_written_by_the_minute_and_never_backwards(database_url: str) -> None:
    world = await opened(database_url)
    key, unused = await world.issue(), await world.issue()

    async def last_used(which: ApiKey) -> datetime | None:
        found = await world.store.find(which.key_id)
        assert found is not None
        return found.last_used_at

    before = datetime.now(UTC)
    for _ in range(3):
        assert await world.takes(key)
    assert await last_used(key) is None  # a request waits for nothing
    await world.uses.write()
    first = await last_used(key)
    assert first is not None
    assert first >= before
    world.now += 30
    assert await world.takes(key)
    await world.uses.write()
    assert await last_used(key) == first  # at most once a minute
    world.now += 40
    await world.uses.write()
    second = await last_used(key)
    assert second is not None
    assert second > first
    await world.store.mark_used({key.key_id: first})
    assert await last_used(key) == second
    assert await last_used(unused) is None
    assert await world.takes(unused)
    await world.uses.close()
    assert await last_used(unused) is not None
    await world.store.close()


async def test_a_database_that_fails_keeps_the_moments_for_the_next_time(database_url: str) -> None:
    world = await opened(database_url)
    key = await world.issue()
    assert await world.takes(key)
    async with world.store.database.writing() as session:
        await session.exec_driver_sql("ALTER TABLE api_keys RENAME TO away")
    await world.uses.write()
    async with world.store.database.writing() as session:
        await session.exec_driver_sql("ALTER TABLE away RENAME TO api_keys")
    await world.uses.write()
    found = await world.store.find(key.key_id)
    assert found is not None
    assert found.last_used_at is not None
    await world.store.close()
