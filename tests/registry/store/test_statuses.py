"""States only go forwards; retiring leaves everything in place and is refused while something refers to it."""

import pytest

from registry.errors import NotFoundError, StateError, TombstonedError
from registry.identifiers import ContractName
from registry.revision import Dependency, RevisionState
from registry.store.records import Registered
from tests.registry.store.world import ACME, ADA, EVE, INVOICE, NOON, OTHER, PROD, later, number, opened

ORDER = ContractName("order")


def _on(made: Registered) -> Dependency:
    return Dependency(
        uri=f"schemagate:{made.revision.name}@{made.revision.number}",
        digest=made.revision.digest,
        revision_id=made.revision.revision_id,
    )


@pytest.mark.parametrize("start", ["draft", "active"])
async def test_states_go_forwards_by_one_step_or_more(database_url: str, start: str) -> None:
    async with opened(database_url) as world:
        await world.register(1, state=RevisionState(start))
        for state in (RevisionState.DEPRECATED, RevisionState.SUNSET):
            stored = await world.contracts.set_state(ADA, INVOICE, number(1), state, reason="old", at=later(3))
            assert stored == await world.contracts.revision(ACME, INVOICE, number(1))
            assert (stored.status.state, stored.status.reason, stored.status.changed_at) == (state, "old", later(3))


@pytest.mark.parametrize("state", [RevisionState.DRAFT, RevisionState.ACTIVE])
async def test_no_state_is_gone_back_to(database_url: str, state: RevisionState) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.contracts.set_state(ADA, INVOICE, number(1), RevisionState.DEPRECATED, reason="", at=NOON)
        with pytest.raises(StateError) as caught:
            await world.contracts.set_state(ADA, INVOICE, number(1), state, reason="", at=NOON)
        assert caught.value.code == "backwards_state"


async def test_the_state_it_has_is_no_change(database_url: str) -> None:
    async with opened(database_url) as world:
        made = await world.register(1)
        before = await world.actions()
        same = await world.contracts.set_state(ADA, INVOICE, number(1), RevisionState.ACTIVE, reason="x", at=later(9))
        assert same.status == made.status
        assert await world.actions() == before


async def test_what_an_alias_points_to_does_not_end(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.register(2)
        await world.point(1)
        for attempt in (
            world.contracts.set_state(ADA, INVOICE, number(1), RevisionState.SUNSET, reason="", at=NOON),
            world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="", at=NOON),
            world.contracts.tombstone_contract(ADA, INVOICE, reason="", at=NOON),
        ):
            with pytest.raises(StateError) as caught:
                await attempt
            assert caught.value.code == "still_referenced"
        await world.contracts.set_state(ADA, INVOICE, number(1), RevisionState.DEPRECATED, reason="", at=NOON)
        await world.point(2)
        await world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="", at=NOON)


async def test_a_retired_revision_keeps_its_bytes_and_its_number(database_url: str) -> None:
    async with opened(database_url) as world:
        made = await world.register(1)
        retired = await world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="wrong", at=later(4))
        assert retired.revision == made.revision
        assert (retired.status.tombstoned_at, retired.status.reason) == (later(4), "wrong")
        assert await world.contracts.revision(ACME, INVOICE, number(1)) == retired
        assert (await world.contracts.revisions(ACME, INVOICE)).items == ()
        assert (await world.contracts.revisions(ACME, INVOICE, include_tombstoned=True)).items == (retired,)
        assert await world.contracts.revision_with_source(ACME, INVOICE, f"{1:064x}") is None
        again = await world.register(1)
        assert (again.is_new, again.revision.number) == (True, 2)
        third = await world.register(1)
        assert (third.is_new, third.revision.number) == (False, 2)


async def test_what_is_retired_cannot_change(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="", at=NOON)
        for attempt in (
            world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="", at=NOON),
            world.contracts.set_state(ADA, INVOICE, number(1), RevisionState.SUNSET, reason="", at=NOON),
            world.point(1),
        ):
            with pytest.raises(TombstonedError):
                await attempt


async def test_what_is_not_there_is_not_found(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        for actor, which in ((ADA, 2), (EVE, 1)):
            for attempt in (
                world.contracts.tombstone_revision(actor, INVOICE, number(which), reason="", at=NOON),
                world.contracts.set_state(actor, INVOICE, number(which), RevisionState.SUNSET, reason="", at=NOON),
                world.point(which, actor=actor),
            ):
                with pytest.raises(NotFoundError):
                    await attempt
        with pytest.raises(NotFoundError):
            await world.contracts.tombstone_contract(EVE, INVOICE, reason="", at=NOON)
        assert await world.contracts.revision(OTHER, INVOICE, number(1)) is None


async def test_what_another_revision_refers_to_does_not_end_before_it(database_url: str) -> None:
    async with opened(database_url) as world:
        invoice = await world.register(1)
        await world.register(2, name=ORDER, dependencies=(_on(invoice),))
        for attempt in (
            world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="", at=NOON),
            world.contracts.tombstone_contract(ADA, INVOICE, reason="", at=NOON),
        ):
            with pytest.raises(StateError) as caught:
                await attempt
            assert caught.value.code == "still_referenced"
        await world.contracts.tombstone_revision(ADA, ORDER, number(1), reason="", at=NOON)
        assert await world.contracts.dependents(invoice.revision.revision_id) == ()
        await world.contracts.tombstone_contract(ADA, INVOICE, reason="", at=NOON)


async def test_a_contract_ends_with_all_its_revisions_even_if_they_refer_to_each_other(database_url: str) -> None:
    async with opened(database_url) as world:
        first = await world.register(1)
        await world.register(2, dependencies=(_on(first),))
        gone = await world.contracts.tombstone_contract(ADA, INVOICE, reason="over", at=later(8))
        assert (gone.tombstoned_at, gone.version, gone.latest) == (later(8), 2, 2)
        assert await world.contracts.contract(ACME, INVOICE) == gone
        page = await world.contracts.revisions(ACME, INVOICE, include_tombstoned=True)
        assert [each.status.tombstoned_at for each in page.items] == [later(8), later(8)]
        with pytest.raises(TombstonedError):
            await world.contracts.tombstone_contract(ADA, INVOICE, reason="", at=NOON)
        with pytest.raises(TombstonedError):
            await world.contracts.drop_alias(ADA, INVOICE, PROD, expected_version=None, reason="", at=NOON)
