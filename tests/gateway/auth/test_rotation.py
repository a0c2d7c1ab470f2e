"""Rotating, changing and revoking keys, on both databases: what is taken when, and what the audit tells of it."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateway.auth.authenticator import Authenticator
from gateway.auth.key_desk import KeyChange, KeyDesk
from gateway.auth.key_uses import KeyUses
from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.operator import AT_HAND, Operator
from gateway.auth.records import KeyRecord
from gateway.auth.store import KeyStore
from gateway.auth.tenant_store import TenantStore
from gateway.errors import TenantDisabledError, UnauthenticatedError
from gateway.identifiers import KeyId
from policy.roles import Role
from policy.scopes import Scope
from registry.errors import InvalidNameError, NotFoundError, StateError
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.store.audit_log import AuditLog

ACME, OTHER = TenantId("acme"), TenantId("other")
PEPPER = Pepper("a pepper only for tests")
HOUR = timedelta(hours=1)


class World:
    """One database with a desk and an authenticator whose clock the test turns."""

    def __init__(self, store: KeyStore, *, pepper: Pepper = PEPPER) -> None:
        self.store = store
        self.tenants = TenantStore(store.database)
        self.now = 100.0
        self.uses = KeyUses(store, monotonic=lambda: self.now)
        self.gate = Authenticator(store, pepper, uses=self.uses, monotonic=lambda: self.now)
        self.desk = KeyDesk(store, pepper)

    async def issue(self, *, tenant: TenantId = ACME, **changes: Any) -> ApiKey:
        terms: dict[str, Any] = {
            "label": "", "principal": None, "team": None, "roles": frozenset({Role.CALLER}), "scopes": None,
            "expires_at": None, "by": AT_HAND, "at": datetime.now(UTC),
        }  # fmt: skip
        key, _ = await self.desk.issue(tenant=tenant, **(terms | changes))
        return key

    async def takes(self, key: ApiKey) -> bool:
        try:
            caller = await self.gate.authenticate(f"Bearer {key.text}")
        except UnauthenticatedError:
            return False
        assert caller.key_id == key.key_id
        return True


async def opened(database_url: str, **options: Any) -> World:
    world = World(await KeyStore.open(database_url), **options)
    for tenant in (ACME, OTHER):
        if await world.tenants.find(tenant) is None:
            await world.tenants.create(tenant, name="", by=AT_HAND, at=datetime.now(UTC))
    return world


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


async def test_a_key_is_another_tenants_as_if_it_were_not_there(database_url: str) -> None:
    world, at = await opened(database_url), datetime.now(UTC)
    key = await world.issue()
    for attempt in (
        world.desk.rotate(OTHER, key.key_id, overlap=HOUR, by=AT_HAND, at=at),
        world.desk.change(OTHER, key.key_id, KeyChange(label="mine"), by=AT_HAND, at=at),
        world.desk.revoke(OTHER, key.key_id, by=AT_HAND, at=at),
        world.desk.revoke(ACME, KeyId("0" * 16), by=AT_HAND, at=at),
        world.issue(tenant=TenantId("nobody")),
        world.issue(team=TeamName("billing")),
    ):
        with pytest.raises(NotFoundError):
            await attempt
    assert await world.takes(key)
    await world.store.close()


async def test_every_change_is_told_in_the_audit_and_no_digest(database_url: str) -> None:
    world, at = await opened(database_url), datetime(2026, 3, 1, 12, tzinfo=UTC)
    olga = Operator(principal=PrincipalId("olga"), key_id="0" * 16, tenant=TenantId("local"))
    await world.tenants.create_team(ACME, TeamName("billing"), by=olga, at=at)
    key = await world.issue(by=olga, team=TeamName("billing"), scopes=frozenset({Scope.GENERATE}), at=at)
    await world.desk.rotate(ACME, key.key_id, overlap=HOUR, by=olga, at=at)
    change = KeyChange(label="ci", roles=frozenset({Role.AUTHOR}), ends_scopes=True, expires_at=at + HOUR)
    await world.desk.change(ACME, key.key_id, change, by=olga, at=at)
    await world.desk.change(ACME, key.key_id, change, by=olga, at=at)  # nothing is another now
    await world.desk.revoke(ACME, key.key_id, by=olga, at=at)
    await world.tenants.change(ACME, name="Acme", disabled=True, by=olga, at=at)
    await world.tenants.change(ACME, name="Acme", disabled=True, by=olga, at=at)
    await world.tenants.change(ACME, disabled=False, by=AT_HAND, at=at)
    events = await AuditLog(world.store.database).events(ACME, after=0, limit=100)
    assert [(event.action.value, event.actor, event.key_id, dict(event.details)) for event in events[1:]] == [
        ("team.created", "olga", "0" * 16, {"operator_of": "local"}),
        (
            "key.issued", "olga", "0" * 16,
            {
                "label": "", "principal": f"key:{key.key_id}", "team": "billing", "roles": ["caller"],
                "scopes": ["generate"], "expires_at": None, "operator_of": "local",
            },
        ),
        ("key.rotated", "olga", "0" * 16, {"overlap_seconds": 3600, "operator_of": "local"}),
        (
            "key.changed", "olga", "0" * 16,
            {
                "label": "ci", "roles": ["author"], "scopes": None, "expires_at": "2026-03-01T13:00:00+00:00",
                "operator_of": "local",
            },
        ),
        ("key.revoked", "olga", "0" * 16, {"operator_of": "local"}),
        ("tenant.changed", "olga", "0" * 16, {"name": "Acme", "disabled": True, "operator_of": "local"}),
        ("tenant.changed", "operator-at-hand", None, {"disabled": False}),
    ]  # fmt: skip
    assert events[0].action.value == "tenant.created"
    assert PEPPER.digest(key) not in repr(events)
    await world.store.close()


async def test_a_disabled_tenant_lets_nobody_in_and_loses_nothing(database_url: str) -> None:
    world, at = await opened(database_url), datetime.now(UTC)
    key, others = await world.issue(), await world.issue(tenant=OTHER)
    assert await world.takes(key)
    await world.tenants.change(ACME, disabled=True, by=AT_HAND, at=at)
    world.now += 1
    with pytest.raises(TenantDisabledError):
        await world.takes(key)
    assert await world.takes(others)
    await world.tenants.change(ACME, disabled=False, by=AT_HAND, at=at)
    world.now += 1
    assert await world.takes(key)
    await world.store.close()


async def test_keys_are_listed_in_pages_and_a_cursor_belongs_to_its_list(database_url: str) -> None:
    world, at = await opened(database_url), datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
    # Three at each moment: the id decides among them.
    keys = [await world.issue(at=at + timedelta(seconds=number // 3)) for number in range(10)]
    found: list[KeyRecord] = []
    cursor = None
    while True:
        page = await world.store.page(ACME, cursor=cursor, limit=4)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
        with pytest.raises(InvalidNameError):
            await world.store.page(OTHER, cursor=cursor, limit=4)
    assert sorted(each.key_id for each in found) == sorted(key.key_id for key in keys)
    assert len(found) == 10
    assert [each.created_at for each in found] == sorted(each.created_at for each in found)
    for bad in ("x", "", "W10"):
        with pytest.raises(InvalidNameError):
            await world.store.page(ACME, cursor=bad, limit=4)
    ids = [ACME, OTHER, *(TenantId(f"t{number:02d}") for number in range(5))]
    for tenant in ids[2:]:
        await world.tenants.create(tenant, name="", by=AT_HAND, at=at)
    first = await world.tenants.page(cursor=None, limit=5)
    rest = await world.tenants.page(cursor=first.next_cursor, limit=5)
    assert [each.tenant for each in (*first.items, *rest.items)] == ids
    assert rest.next_cursor is None
    await world.store.close()


async def test_tenants_and_teams_are_made_once(database_url: str) -> None:
    world, at = await opened(database_url), datetime.now(UTC)
    for attempt, code in (
        (world.tenants.create(ACME, name="", by=AT_HAND, at=at), "known_tenant"),
        (world.tenants.create_team(ACME, TeamName("a"), by=AT_HAND, at=at), None),
        (world.tenants.create_team(ACME, TeamName("a"), by=AT_HAND, at=at), "known_team"),
        (world.tenants.create_team(OTHER, TeamName("a"), by=AT_HAND, at=at), None),
    ):
        if code is None:
            await attempt
            continue
        with pytest.raises(StateError) as refused:
            await attempt
        assert refused.value.code == code
    with pytest.raises(NotFoundError):
        await world.tenants.create_team(TenantId("nobody"), TeamName("a"), by=AT_HAND, at=at)
    with pytest.raises(NotFoundError):
        await world.tenants.change(TenantId("nobody"), name="x", by=AT_HAND, at=at)
    assert [each.team for each in await world.tenants.teams(ACME)] == ["a"]
    await world.store.close()


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
