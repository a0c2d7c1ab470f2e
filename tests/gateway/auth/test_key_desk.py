"""What the desk does with keys, tenants and teams, on both databases: whose they are, lists, and the audit of it."""

from datetime import UTC, datetime, timedelta

import pytest

from gateway.auth.key_desk import KeyChange
from gateway.auth.operator import AT_HAND, Operator
from gateway.auth.records import KeyRecord
from gateway.errors import TenantDisabledError
from gateway.identifiers import KeyId
from policy.roles import Role
from policy.scopes import Scope
from registry.errors import InvalidNameError, NotFoundError, StateError
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.store.audit_log import AuditLog
from tests.gateway.auth.world import ACME, HOUR, OTHER, PEPPER, opened


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
