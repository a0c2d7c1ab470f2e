"""Keys in SQL, on both databases: whose they are, what they may do, and what the audit tells of them."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gateway.auth.bootstrap import BOOTSTRAP_PRINCIPAL, BOOTSTRAP_TENANT, make_bootstrap_key
from gateway.auth.issue import issue_key
from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.operator import OPERATOR_AT_HAND, Operator
from gateway.auth.records import KeyRecord, principal_of
from gateway.auth.store import KeyStore
from gateway.errors import StoreUnavailableError
from gateway.identifiers import KeyId
from policy.roles import ALL_ROLES, Role
from registry.audit import AuditEvent
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.store.audit_log import AuditLog

ACME, OTHER = TenantId("acme"), TenantId("other")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PEPPER = Pepper("a pepper only for tests")


def record(key_id: str, *, tenant: TenantId = ACME, label: str = "ci") -> KeyRecord:
    return KeyRecord(
        key_id=KeyId(key_id),
        tenant=tenant,
        digest="d" * 64,
        label=label,
        created_at=NOON,
        expires_at=NOON + timedelta(days=1),
        principal=PrincipalId("ada"),
        team=TeamName("billing"),
        roles=frozenset({Role.AUTHOR, Role.APPROVER}),
    )


async def events(store: KeyStore, tenant: TenantId = ACME) -> tuple[AuditEvent, ...]:
    return await AuditLog(store.database).events(tenant, after=0, limit=100)


async def test_a_key_is_read_as_it_was_kept(database_url: str) -> None:
    store = await KeyStore.open(database_url)
    kept = [record("a"), replace(record("b"), team=None, roles=frozenset()), record("c", tenant=OTHER)]
    for each in kept:
        await store.add(each)
    assert [await store.find(each.key_id) for each in kept] == kept
    assert await store.find(KeyId("d")) is None
    assert list(await store.records()) == kept
    assert list(await store.records(OTHER)) == kept[2:]
    await store.close()


async def test_making_and_revoking_are_told_in_the_tenants_audit(database_url: str) -> None:
    store = await KeyStore.open(database_url)
    await store.add(record("a"), by=Operator(principal=PrincipalId("root")))
    assert await store.revoke(KeyId("a"), at=NOON)
    assert not await store.revoke(KeyId("a"), at=NOON)
    assert not await store.revoke(KeyId("none"), at=NOON)
    issued, revoked = await events(store)
    assert (issued.action, issued.actor, dict(issued.subject)) == ("key.issued", "root", {"key": "a"})
    assert issued.details == {
        "label": "ci",
        "principal": "ada",
        "team": "billing",
        "roles": ["approver", "author"],
        "expires_at": "2026-03-02T12:00:00+00:00",
    }
    assert (revoked.action, revoked.actor) == ("key.revoked", OPERATOR_AT_HAND)
    assert "d" * 64 not in repr((issued, revoked))
    assert await events(store, OTHER) == ()
    await store.close()


async def test_keys_are_revoked_by_label_within_a_tenant(database_url: str) -> None:
    store = await KeyStore.open(database_url)
    for each in (record("a"), record("b"), record("c", label="mine"), record("d", tenant=OTHER)):
        await store.add(each)
    assert await store.revoke_labelled(ACME, "ci", at=NOON) == 2
    assert await store.revoke_labelled(ACME, "ci", at=NOON) == 0
    assert [each.key_id for each in await store.records() if each.revoked_at is None] == ["c", "d"]
    assert [dict(event.subject)["key"] for event in (await events(store))[-2:]] == ["a", "b"]
    await store.close()


async def test_a_tenant_begins_with_its_first_key_however_many_come_first(database_url: str) -> None:
    store = await KeyStore.open(database_url)
    await asyncio.gather(*(store.add(record(f"{index:02d}")) for index in range(10)))
    assert len(await store.records(ACME)) == 10
    assert [event.sequence for event in await events(store)] == list(range(1, 11))
    await store.close()


async def test_a_key_that_is_not_said_to_be_anybodys_is_its_own(database_url: str) -> None:
    store = await KeyStore.open(database_url)
    first = await issue_key(store, PEPPER, tenant=ACME, label="", at=NOON)
    second = await issue_key(store, PEPPER, tenant=ACME, label="", at=NOON)
    records = [await store.find(key.key_id) for key in (first, second)]
    assert [each and each.principal for each in records] == [principal_of(first.key_id), principal_of(second.key_id)]
    assert [each and each.roles for each in records] == [frozenset({Role.CALLER})] * 2
    await store.close()


async def test_the_bootstrap_key_may_do_everything(database_url: str) -> None:
    key = ApiKey.read(await make_bootstrap_key(database_url=database_url, pepper="a pepper only for tests"))
    assert key is not None
    store = await KeyStore.open(database_url)
    kept = await store.find(key.key_id)
    assert kept is not None
    assert (kept.tenant, kept.principal, kept.roles) == (BOOTSTRAP_TENANT, BOOTSTRAP_PRINCIPAL, ALL_ROLES)
    await store.close()


@pytest.mark.parametrize("changes", [{"label": "x" * 129}, {"principal": PrincipalId("x" * 129)}])
def test_a_record_that_no_database_could_hold_is_not_made(changes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="at most 128"):
        replace(record("a"), **changes)  # type: ignore[arg-type]


async def test_a_database_that_does_not_answer_has_the_gateways_name(database_url: str) -> None:
    with pytest.raises(StoreUnavailableError):
        await KeyStore.open("postgresql+asyncpg://nobody@127.0.0.1:1/nothing")
    store = await KeyStore.open(database_url)
    async with store.database.writing() as session:
        await session.exec_driver_sql("DROP TABLE api_keys")
    for attempt in (
        store.find(KeyId("a")),
        store.records(),
        store.add(record("a")),
        store.revoke(KeyId("a"), at=NOON),
        store.revoke_labelled(ACME, "ci", at=NOON),
    ):
        with pytest.raises(StoreUnavailableError):
            await attempt
    await store.ping()
    await store.close()
