"""The chain in SQL: whole, in order, apart for each tenant, and undone with what it tells."""

from decimal import Decimal

import pytest

from registry.audit import GENESIS, AuditAction, AuditEvent, event_digest
from registry.contract import JsonValue
from registry.identifiers import PrincipalId
from registry.store.audit_log import append_event
from tests.registry.store.world import ACME, EVE, NOON, OTHER, World, later, opened


def recomputed(event: AuditEvent) -> str:
    return event_digest(
        tenant=event.tenant,
        sequence=event.sequence,
        at=event.at,
        actor=event.actor,
        key_id=event.key_id,
        action=event.action,
        subject=event.subject,
        details=event.details,
        previous=event.previous,
    )


async def test_every_event_holds_the_digest_of_the_one_before(database_url: str) -> None:
    async with opened(database_url) as world:
        for content in (1, 2, 3):
            await world.register(content, message="é \U0001f600 \u2028")
        events = await world.audit.events(ACME, after=0, limit=100)
        assert [event.sequence for event in events] == [1, 2, 3, 4]
        assert [event.previous for event in events] == [GENESIS, *(event.digest for event in events[:-1])]
        assert [event.digest for event in events] == [recomputed(event) for event in events]
        head = await world.audit.head(ACME)
        assert head is not None
        assert (head.sequence, head.digest) == (4, events[-1].digest)


async def test_tenants_chains_know_nothing_of_each_other(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.register(1, actor=EVE)
        await world.register(2)
        events = await world.audit.events(OTHER, after=0, limit=100)
        assert [(event.sequence, event.tenant, event.actor) for event in events] == [
            (1, "other", "eve"),
            (2, "other", "eve"),
        ]
        assert events[0].previous == GENESIS


async def test_events_are_read_in_parts(database_url: str) -> None:
    async with opened(database_url) as world:
        for content in (1, 2, 3):
            await world.register(content)
        everything = await world.audit.events(ACME, after=0, limit=100)
        in_parts = [await world.audit.events(ACME, after=after, limit=1) for after in range(5)]
        assert [event for part in in_parts for event in part] == list(everything)
        assert await world.audit.events(ACME, after=0, limit=0) == ()
        assert await world.audit.events(ACME, after=0, limit=-1) == ()


async def test_numbers_and_moments_come_back_as_they_were(database_url: str) -> None:
    async with opened(database_url) as world:
        details: dict[str, JsonValue] = {
            "exact": Decimal("0.1"),
            "large": 2**70,
            "list": [None, True, {"b": 1, "a": "\x00"}],
            "": "",
        }
        async with world.database.writing() as session:
            await append_event(
                session,
                tenant=ACME,
                actor=PrincipalId("ada"),
                key_id=None,
                action=AuditAction.POLICY_SET,
                subject={},
                details=details,
                at=NOON,
            )
        (event,) = await world.audit.events(ACME, after=0, limit=1)
        assert event.details == details
        assert event.at == NOON
        assert event.digest == recomputed(event)


class _OnPurposeError(Exception):
    pass


async def _append_and_fail(world: World) -> None:
    async with world.database.writing() as session:
        await append_event(
            session,
            tenant=ACME,
            actor=PrincipalId("ada"),
            key_id=None,
            action=AuditAction.POLICY_SET,
            subject={},
            details={},
            at=later(1),
        )
        raise _OnPurposeError


async def test_an_event_of_what_did_not_happen_is_not_there(database_url: str) -> None:
    async with opened(database_url) as world:
        with pytest.raises(_OnPurposeError):
            await _append_and_fail(world)
        assert await world.audit.head(ACME) is None
        await world.register(1)
        assert [event.sequence for event in await world.audit.events(ACME, after=0, limit=9)] == [1, 2]
