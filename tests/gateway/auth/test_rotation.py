"""Rotating keys and their pepper, on both databases: what is taken when."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from gateway.auth.key_desk import KeyChange, KeyDesk
from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.operator import AT_HAND
from registry.errors import StateError
from tests.gateway.auth.world import ACME, HOUR, PEPPER, opened


async def test_the_secret_before_is_taken_for_as_long_as_was_asked(database_url: str) -> None:
    world, at = await opened(database_url), datetime.now(UTC)
    first = await world.issue()
    assert await world.takes(first)
    second, record = await world.desk.rotate(ACME, first.key_id, overlap=HOUR, by=AT_HAND, at=at)
    assert second.key_id == first.key_id == record.key_id
    assert second.secret != first.secret
    world.now += 1
    assert await world.takes(first)
    assert await world.takes(second)
    # As if the hour had passed: the database says when it ends, and a cached key is looked at again each time.
    world.now += 1
    kept = await world.store.find(first.key_id)
    assert kept is not None
    digests = [PEPPER.digest(first), PEPPER.digest(second)]
    assert [kept.accepts(digest, at + HOUR - timedelta(seconds=1)) for digest in digests] == [True, True]
    assert [kept.accepts(digest, at + HOUR) for digest in digests] == [False, True]
    await world.store.close()


async def test_an_overlap_ends_even_while_the_key_is_cached(database_url: str) -> None:
    world = await opened(database_url)
    first = await world.issue()
    await world.desk.rotate(ACME, first.key_id, overlap=timedelta(seconds=2), by=AT_HAND, at=datetime.now(UTC))
    world.now += 1
    assert await world.takes(first)  # and is cached now; this clock stands still
    await asyncio.sleep(2.1)
    assert not await world.takes(first)
    await world.store.close()


async def test_without_an_overlap_the_secret_before_ends_within_a_second(database_url: str) -> None:
    world = await opened(database_url)
    first = await world.issue()
    assert await world.takes(first)
    second, _ = await world.desk.rotate(ACME, first.key_id, overlap=timedelta(0), by=AT_HAND, at=datetime.now(UTC))
    assert await world.takes(second)
    world.now += 1
    assert not await world.takes(first)
    assert await world.takes(second)
    await world.store.close()


async def test_the_replica_that_rotates_forgets_at_once(database_url: str) -> None:
    world = await opened(database_url)
    desk = KeyDesk(world.store, PEPPER, changed=world.gate.forget)
    first = await world.issue()
    assert await world.takes(first)
    second, _ = await desk.rotate(ACME, first.key_id, overlap=timedelta(0), by=AT_HAND, at=datetime.now(UTC))
    assert not await world.takes(first)
    assert await world.takes(second)
    await desk.revoke(ACME, first.key_id, by=AT_HAND, at=datetime.now(UTC))
    assert not await world.takes(second)
    await world.store.close()


async def test_two_secrets_are_the_most(database_url: str) -> None:
    world, at = await opened(database_url), datetime.now(UTC)
    first = await world.issue()
    second, _ = await world.desk.rotate(ACME, first.key_id, overlap=HOUR, by=AT_HAND, at=at)
    with pytest.raises(StateError, match="no overlap") as refused:
        await world.desk.rotate(ACME, first.key_id, overlap=HOUR, by=AT_HAND, at=at)
    assert refused.value.code == "rotation_in_progress"
    world.now += 1
    assert await world.takes(first)
    assert await world.takes(second)
    third, _ = await world.desk.rotate(ACME, first.key_id, overlap=timedelta(0), by=AT_HAND, at=at)
    world.now += 1
    assert [await world.takes(key) for key in (first, second, third)] == [False, False, True]
    later, _ = await world.desk.rotate(ACME, first.key_id, overlap=HOUR, by=AT_HAND, at=at + 2 * HOUR)
    world.now += 1
    assert [await world.takes(key) for key in (third, later)] == [True, True]
    await world.store.close()


async def test_rotations_at_one_moment_leave_two_good_secrets(database_url: str) -> None:
    world, at = await opened(database_url), datetime.now(UTC)
    first = await world.issue()
    outcomes = await asyncio.gather(
        *(world.desk.rotate(ACME, first.key_id, overlap=HOUR, by=AT_HAND, at=at) for _ in range(5)),
        return_exceptions=True,
    )
    made = [outcome[0] for outcome in outcomes if isinstance(outcome, tuple)]
    assert len(made) == 1
    assert sum(isinstance(outcome, StateError) for outcome in outcomes) == 4
    assert await world.takes(first)
    assert await world.takes(made[0])
    await world.store.close()


async def test_what_is_no_longer_live_is_not_rotated_and_what_is_revoked_not_changed(database_url: str) -> None:
    world, at = await opened(database_url), datetime.now(UTC)
    expired = await world.issue(expires_at=at - HOUR)
    revoked = await world.issue()
    await world.desk.revoke(ACME, revoked.key_id, by=AT_HAND, at=at)
    for key in (expired, revoked):
        with pytest.raises(StateError) as refused:
            await world.desk.rotate(ACME, key.key_id, overlap=HOUR, by=AT_HAND, at=at)
        assert refused.value.code == "key_not_live"
    with pytest.raises(StateError):
        await world.desk.change(ACME, revoked.key_id, KeyChange(ends_expiry=True), by=AT_HAND, at=at)
    again = await world.desk.revoke(ACME, revoked.key_id, by=AT_HAND, at=at + HOUR)
    assert again.revoked_at == at
    await world.desk.change(ACME, expired.key_id, KeyChange(expires_at=at + HOUR), by=AT_HAND, at=at)
    assert await world.takes(expired)
    await world.store.close()


async def test_a_pepper_is_changed_without_anybody_noticing(database_url: str) -> None:
    old, new = "the pepper of the year before", "the pepper of this year"
    before = await opened(database_url, pepper=Pepper(old))
    key, rotated, unused = await before.issue(), await before.issue(), await before.issue()
    newest, _ = await before.desk.rotate(ACME, rotated.key_id, overlap=HOUR, by=AT_HAND, at=datetime.now(UTC))
    await before.store.close()
    during = await opened(database_url, pepper=Pepper(new, former=old))
    for each in (key, rotated, newest):
        assert await during.takes(each)
        await during.uses.write()
    assert not await during.takes(ApiKey.rotated(key.key_id))
    await during.store.close()
    after = await opened(database_url, pepper=Pepper(new))
    assert [await after.takes(each) for each in (key, rotated, newest, unused)] == [True, True, True, False]
    await after.store.close()


def test_a_short_former_pepper_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16"):
        Pepper("long enough to be one", former="short")
