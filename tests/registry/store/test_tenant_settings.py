"""Operators' documents: read as they were set, changed under their version, each change in the chain."""

import asyncio

import pytest

from registry.audit import AuditAction
from registry.contract import JsonValue
from registry.errors import PreconditionFailedError
from registry.parsing import parse_json
from registry.store.tenant_settings import TenantSettingsStore, Topic
from tests.registry.store.world import ACME, ADA, BOB, EVE, NOON, OTHER, later, opened

STRICT: JsonValue = {"floor": "strict"}


async def test_nothing_is_set_at_first(database_url: str) -> None:
    async with opened(database_url) as world:
        assert await TenantSettingsStore(world.database).of_tenant(ACME, Topic.SERVING) == {}


async def test_a_document_is_read_as_it_was_set(database_url: str) -> None:
    async with opened(database_url) as world:
        store = TenantSettingsStore(world.database)
        sent = parse_json('{"b":[1,2.50,null],"a":{"z":"é","y":12345678901234567890}}', max_bytes=99, max_nesting=9)
        first = await store.put(ADA, ACME, Topic.SERVING, "", sent, expected_version=0, at=NOON)
        assert (first.document, first.version, first.changed_at, first.changed_by) == (sent, 1, NOON, ADA.principal)
        assert await store.of_tenant(ACME, Topic.SERVING) == {"": first}


async def test_subjects_topics_and_tenants_are_apart(database_url: str) -> None:
    async with opened(database_url) as world:
        store = TenantSettingsStore(world.database)
        for tenant, topic, subject, number in (
            (ACME, Topic.SERVING, "", 1),
            (ACME, Topic.SERVING, "family:billing.*", 2),
            (ACME, Topic.BUDGET, "", 3),
            (OTHER, Topic.SERVING, "", 4),
        ):
            await store.put(ADA, tenant, topic, subject, {"n": number}, expected_version=None, at=NOON)
        found = await store.of_tenant(ACME, Topic.SERVING)
        assert {subject: each.document for subject, each in found.items()} == {
            "": {"n": 1},
            "family:billing.*": {"n": 2},
        }
        assert {each.version for each in found.values()} == {1}


async def test_a_version_that_has_passed_changes_nothing(database_url: str) -> None:
    async with opened(database_url) as world:
        store = TenantSettingsStore(world.database)
        await store.put(ADA, ACME, Topic.SERVING, "", STRICT, expected_version=0, at=NOON)
        second = await store.put(BOB, ACME, Topic.SERVING, "", {}, expected_version=1, at=later(1))
        assert second.version == 2
        with pytest.raises(PreconditionFailedError) as refused:
            await store.put(ADA, ACME, Topic.SERVING, "", STRICT, expected_version=1, at=later(2))
        assert (refused.value.expected, refused.value.observed) == (1, 2)
        with pytest.raises(PreconditionFailedError):
            await store.put(ADA, ACME, Topic.SERVING, "", STRICT, expected_version=0, at=later(2))
        with pytest.raises(PreconditionFailedError):
            await store.drop(ADA, ACME, Topic.SERVING, "", expected_version=1, at=later(2))
        assert await store.of_tenant(ACME, Topic.SERVING) == {"": second}


async def test_of_many_changes_of_one_version_one_wins(database_url: str) -> None:
    async with opened(database_url) as world:
        store = TenantSettingsStore(world.database)

        async def change(number: int) -> bool:
            try:
                await store.put(ADA, ACME, Topic.SERVING, "", {"n": number}, expected_version=0, at=NOON)
            except PreconditionFailedError as error:
                return error.observed != 1
            return True

        won = await asyncio.gather(*(change(number) for number in range(8)))
        assert won.count(True) == 1
        assert (await store.of_tenant(ACME, Topic.SERVING))[""].document == {"n": won.index(True)}


async def test_dropped_is_as_if_it_had_never_been(database_url: str) -> None:
    async with opened(database_url) as world:
        store = TenantSettingsStore(world.database)
        await store.put(ADA, ACME, Topic.SERVING, "", STRICT, expected_version=None, at=NOON)
        assert await store.drop(ADA, ACME, Topic.SERVING, "", expected_version=1, at=later(1)) is True
        assert await store.of_tenant(ACME, Topic.SERVING) == {}
        assert await store.drop(ADA, ACME, Topic.SERVING, "", expected_version=None, at=later(2)) is False
        with pytest.raises(PreconditionFailedError):  # whoever remembers the one before is not taken for current
            await store.put(BOB, ACME, Topic.SERVING, "", STRICT, expected_version=1, at=later(3))
        anew = await store.put(ADA, ACME, Topic.SERVING, "", STRICT, expected_version=0, at=later(3))
        assert anew.version == 3
        assert await store.of_tenant(ACME, Topic.SERVING) == {"": anew}


async def test_every_change_stands_in_the_chain_of_the_tenant_it_is_about(database_url: str) -> None:
    async with opened(database_url) as world:
        store = TenantSettingsStore(world.database)
        # EVE is of another tenant: an operator of the installation.
        await store.put(EVE, ACME, Topic.SERVING, "family:x", STRICT, expected_version=None, at=NOON)
        await store.drop(EVE, ACME, Topic.SERVING, "family:x", expected_version=None, at=later(1))
        await store.drop(EVE, ACME, Topic.SERVING, "family:x", expected_version=None, at=later(2))
        events = await world.audit.events(ACME, after=0, limit=9)
        assert [(event.action, event.actor) for event in events] == [
            (AuditAction.SETTING_SET, EVE.principal),
            (AuditAction.SETTING_DROPPED, EVE.principal),
        ]
        assert events[0].subject == {"topic": "serving", "subject": "family:x"}
        assert events[0].details == {"to": STRICT, "version": 1}
        assert events[1].details == {"from": STRICT}
        assert await world.audit.events(OTHER, after=0, limit=9) == ()
