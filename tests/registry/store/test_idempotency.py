"""A request is done once for a key; whoever asks again gets the answer, or learns why there is none."""

import asyncio

from registry.store.bounds import MAX_REPLAY_BYTES
from registry.store.idempotency import Beginning, Begun, IdempotencyStore, InProgress, Mismatch, Replay
from tests.registry.store.world import ACME, OTHER, later, opened

KEY, REQUEST = "a" * 64, "b" * 64


async def begin(
    store: IdempotencyStore, *, tenant: str = ACME, key: str = KEY, request: str = REQUEST, at: float = 0
) -> Beginning:
    return await store.begin(type(ACME)(tenant), key, request, at=later(at), lease_seconds=10, keep_seconds=100)


async def test_an_answer_is_given_again_until_it_is_forgotten(database_url: str) -> None:
    async with opened(database_url) as world:
        store = IdempotencyStore(world.database)
        begun = await begin(store)
        assert isinstance(begun, Begun)
        assert await begin(store, at=1) == InProgress(until=later(10))
        assert await store.finish(ACME, KEY, begun.lease, status=201, headers={"etag": '"1"'}, body=b"\x00{}")
        again = Replay(status=201, headers={"etag": '"1"'}, body=b"\x00{}")
        assert [await begin(store, at=at) for at in (1, 50, 99)] == [again] * 3
        assert isinstance(await begin(store, at=100), Begun)


async def test_a_key_counts_for_one_tenant_and_one_request(database_url: str) -> None:
    async with opened(database_url) as world:
        store = IdempotencyStore(world.database)
        begun = await begin(store)
        assert isinstance(begun, Begun)
        assert isinstance(await begin(store, tenant=OTHER), Begun)
        assert isinstance(await begin(store, key="c" * 64), Begun)
        assert await begin(store, request="c" * 64, at=1) == Mismatch()
        assert await begin(store, request="c" * 64, at=50) == Mismatch()
        await store.finish(ACME, KEY, begun.lease, status=200, headers={}, body=b"")
        assert await begin(store, request="c" * 64) == Mismatch()


async def test_an_abandoned_key_is_free(database_url: str) -> None:
    async with opened(database_url) as world:
        store = IdempotencyStore(world.database)
        begun = await begin(store)
        assert isinstance(begun, Begun)
        await store.abandon(ACME, KEY, begun.lease)
        assert isinstance(await begin(store, request="c" * 64), Begun)


async def test_who_dies_is_succeeded_and_cannot_come_back(database_url: str) -> None:
    async with opened(database_url) as world:
        store = IdempotencyStore(world.database)
        dead = await begin(store)
        heir = await begin(store, at=10)
        assert isinstance(dead, Begun)
        assert isinstance(heir, Begun)
        assert not await store.finish(ACME, KEY, dead.lease, status=200, headers={}, body=b"dead")
        await store.abandon(ACME, KEY, dead.lease)
        assert await store.finish(ACME, KEY, heir.lease, status=200, headers={}, body=b"heir")
        assert await begin(store, at=11) == Replay(status=200, headers={}, body=b"heir")
        assert not await store.finish(ACME, KEY, heir.lease, status=500, headers={}, body=b"again")


async def test_an_answer_too_large_to_keep_frees_the_key(database_url: str) -> None:
    async with opened(database_url) as world:
        store = IdempotencyStore(world.database)
        begun = await begin(store)
        assert isinstance(begun, Begun)
        body = b"x" * (MAX_REPLAY_BYTES + 1)
        assert not await store.finish(ACME, KEY, begun.lease, status=200, headers={}, body=body)
        assert isinstance(await begin(store, at=1), Begun)


async def test_of_many_at_once_one_begins(database_url: str) -> None:
    async with opened(database_url) as world:
        store = IdempotencyStore(world.database)
        outcomes = await asyncio.gather(*(begin(store) for _ in range(12)))
        assert [isinstance(each, Begun) for each in outcomes].count(True) == 1
        assert outcomes.count(InProgress(until=later(10))) == 11


async def test_what_has_expired_is_swept_away_by_others(database_url: str) -> None:
    async with opened(database_url) as world:
        store = IdempotencyStore(world.database)
        for index in range(5):
            await begin(store, key=f"{index:064x}")
        await begin(store, at=100)
        async with world.database.reading() as session:
            kept = (await session.exec_driver_sql("SELECT key_digest FROM idempotency_records")).scalars().all()
        assert list(kept) == [KEY]


async def test_a_lease_is_held_as_long_as_it_is_renewed(database_url: str) -> None:
    async with opened(database_url) as world:
        store = IdempotencyStore(world.database)
        begun = await begin(store)
        assert isinstance(begun, Begun)
        assert await store.renew(ACME, KEY, begun.lease, at=later(9), lease_seconds=10)
        assert await begin(store, at=18) == InProgress(until=later(19))
        assert isinstance(await begin(store, at=19), Begun)
        assert not await store.renew(ACME, KEY, begun.lease, at=later(19), lease_seconds=10)
