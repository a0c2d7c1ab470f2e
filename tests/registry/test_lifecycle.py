"""States, retirement, changes of a contract, and who would miss it."""

from datetime import UTC, date, datetime

import pytest

from registry.audit import AuditAction
from registry.compatibility.modes import CompatibilityMode
from registry.errors import InvalidNameError, NotFoundError, PreconditionFailedError, StateError, TombstonedError
from registry.identifiers import ContractName, RevisionNumber, TeamName
from registry.revision import RevisionState, Visibility
from registry.store.records import ContractChanges, UsageCount
from tests.registry.world import ACME, ANN, INTEGER, OLGA, STRING, ZOE, a_registry, closed

pytestmark = pytest.mark.usefixtures("each_database")

ONE, TWO = RevisionNumber(1), RevisionNumber(2)
NAME = ContractName("invoice")


async def test_states_go_forwards_only() -> None:
    async with a_registry() as world:
        await world.register(STRING, state=RevisionState.DRAFT)
        order = list(RevisionState)
        for place, state in enumerate(order):
            stored = await world.catalogue.lifecycle.set_state(ANN, "invoice", ONE, state, reason="on")
            assert stored.status.state is state
            for earlier in order[:place]:
                with pytest.raises(StateError) as back:
                    await world.catalogue.lifecycle.set_state(ANN, "invoice", ONE, earlier, reason="back")
                assert back.value.code == "backwards_state"
        changes = [e for e in await world.events() if e.action is AuditAction.REVISION_STATE_CHANGED]
        assert [(e.details["from"], e.details["to"]) for e in changes] == [
            ("draft", "active"),
            ("active", "deprecated"),
            ("deprecated", "sunset"),
        ]


async def test_what_an_alias_points_to_neither_sets_nor_is_retired() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.catalogue.promoter.promote(ANN, "invoice", "canary", ONE)
        lifecycle = world.catalogue.lifecycle
        for refused in (
            lifecycle.set_state(ANN, "invoice", ONE, RevisionState.SUNSET, reason=""),
            lifecycle.tombstone_revision(ANN, "invoice", ONE, reason=""),
            lifecycle.tombstone_contract(ANN, "invoice", reason=""),
        ):
            with pytest.raises(StateError) as held:
                await refused
            assert held.value.code == "still_referenced"
        await lifecycle.set_state(ANN, "invoice", ONE, RevisionState.DEPRECATED, reason="")
        await world.catalogue.promoter.drop(ANN, "invoice", "canary")
        await lifecycle.tombstone_revision(ANN, "invoice", ONE, reason="done")
        with pytest.raises(TombstonedError):
            await lifecycle.tombstone_revision(ANN, "invoice", ONE, reason="again")
        with pytest.raises(NotFoundError):
            await lifecycle.tombstone_revision(ANN, "invoice", TWO, reason="")


async def test_retiring_keeps_the_bytes_and_the_number() -> None:
    async with a_registry() as world:
        revision = await world.register(STRING)
        await world.catalogue.lifecycle.tombstone_revision(ANN, "invoice", ONE, reason="done")
        stored = await world.catalogue.contracts.revision(ACME, NAME, ONE)
        assert stored is not None
        assert stored.revision == revision
        assert stored.status.reason == "done"
        assert (await world.catalogue.contracts.revisions(ACME, NAME)).items == ()
        assert (await world.register(INTEGER)).number == 2


async def test_a_contract_changes_under_its_version() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        change = world.catalogue.lifecycle.change_contract
        changes = ContractChanges(
            team=TeamName("finance"), compatibility=CompatibilityMode.FULL, visibility=Visibility.SHARED
        )
        changed = await change(ANN, "invoice", changes, expected_version=1)
        assert (changed.team, changed.compatibility, changed.visibility, changed.version) == (
            "finance",
            CompatibilityMode.FULL,
            Visibility.SHARED,
            2,
        )
        with pytest.raises(PreconditionFailedError):
            await change(OLGA, "invoice", ContractChanges(description="x"), expected_version=1)
        with pytest.raises(InvalidNameError):
            await change(OLGA, "invoice", ContractChanges(team=TeamName("no team/")), expected_version=None)
        with pytest.raises(InvalidNameError):
            await change(OLGA, "invoice", ContractChanges(description="\x00"), expected_version=None)


async def test_what_others_are_made_of_stays_shared() -> None:
    async with a_registry() as world:
        await world.register(INTEGER, name="money", visibility=Visibility.SHARED)
        await world.register(closed(total={"$ref": "schemagate:acme/money@1"}), actor=ZOE)
        private = ContractChanges(visibility=Visibility.PRIVATE)
        with pytest.raises(StateError) as held:
            await world.catalogue.lifecycle.change_contract(ANN, "money", private, expected_version=None)
        assert held.value.code == "still_referenced"


async def test_a_contract_nobody_uses_is_safe_to_retire() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        report = await world.catalogue.lifecycle.usage(ANN, "invoice")
        assert (report.safe_to_retire, report.reasons, report.revisions) == (True, (), ())
        await world.catalogue.lifecycle.tombstone_contract(ANN, "invoice", reason="")


async def test_aliases_readers_and_recent_requests_speak_against_retiring() -> None:
    async with a_registry() as world:
        revision = await world.register(INTEGER)
        await world.register(closed(total={"$ref": "schemagate:invoice@1"}), name="other")
        await world.catalogue.promoter.promote(ANN, "invoice", "prod", ONE)
        used = datetime(2026, 2, 20, 8, tzinfo=UTC)
        count = UsageCount(revision_id=revision.revision_id, day=date(2026, 2, 20), num_requests=7, last_used_at=used)
        await world.catalogue.usage.add([count])
        report = await world.catalogue.lifecycle.usage(ANN, "invoice")
        assert not report.safe_to_retire
        assert len(report.reasons) == 3
        assert [(each.number, each.num_requests) for each in report.revisions] == [(1, 7)]
        assert (report.num_dependents, report.others_depend) == (1, False)
        await world.catalogue.lifecycle.tombstone_contract(ANN, "other", reason="")
        await world.catalogue.promoter.drop(ANN, "invoice", "prod")
        assert len((await world.catalogue.lifecycle.usage(ANN, "invoice")).reasons) == 1
        world.clock.forward(days=31)
        assert (await world.catalogue.lifecycle.usage(ANN, "invoice")).safe_to_retire
