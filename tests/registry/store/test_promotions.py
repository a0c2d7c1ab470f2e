"""A promotion is proposed once and decided once; applying it moves the alias in the same transaction."""

import asyncio

import pytest

from registry.errors import InvalidNameError, NotFoundError, PreconditionFailedError, StateError, TombstonedError
from registry.identifiers import ContractName, PromotionId
from registry.revision import Promotion, PromotionState, RevisionState
from registry.store import promotions
from registry.store.cursors import write_cursor
from registry.store.promotions import PromotionStore
from tests.registry.store.world import ACME, ADA, BOB, EVE, INVOICE, NOON, OTHER, PROD, World, later, number, opened


async def propose(
    world: World, to: int = 1, *, at: float = 0, name: ContractName = INVOICE, version: int | None = None
) -> Promotion:
    return await PromotionStore(world.database).propose(
        ADA, name, PROD, number(to), alias_version=version, reason="please", details={"safety": "proved"}, at=later(at)
    )


async def test_a_proposal_is_kept_until_it_is_decided(database_url: str) -> None:
    async with opened(database_url) as world:
        store = PromotionStore(world.database)
        await world.register(1)
        proposed = await propose(world)
        assert await store.get(ACME, proposed.promotion_id) == proposed
        assert await store.get(OTHER, proposed.promotion_id) is None
        assert (proposed.state, proposed.proposed_by, proposed.reason) == ("proposed", "ada", "please")
        assert await world.contracts.alias(ACME, INVOICE, PROD) is None
        decided = await store.decide(
            BOB,
            proposed.promotion_id,
            PromotionState.APPLIED,
            expected_version=None,
            must_be_new=True,
            reason="fine",
            at=later(9),
        )
        assert (decided.promotion.state, decided.promotion.decided_by) == (PromotionState.APPLIED, "bob")
        assert await store.get(ACME, proposed.promotion_id) == decided.promotion
        assert decided.alias == await world.contracts.alias(ACME, INVOICE, PROD)
        assert decided.alias is not None
        assert (decided.alias.number, decided.alias.moved_by) == (1, "bob")
        events = (await world.audit.events(ACME, after=0, limit=100))[-3:]
        assert [event.action for event in events] == ["promotion.proposed", "promotion.applied", "alias.moved"]
        assert events[0].details["safety"] == "proved"
        assert events[2].details["promotion"] == proposed.promotion_id


@pytest.mark.parametrize("state", [PromotionState.REJECTED, PromotionState.WITHDRAWN])
async def test_what_is_not_applied_moves_nothing(database_url: str, state: PromotionState) -> None:
    async with opened(database_url) as world:
        store = PromotionStore(world.database)
        await world.register(1)
        proposed = await propose(world)
        decided = await store.decide(BOB, proposed.promotion_id, state, expected_version=None, reason="no", at=NOON)
        assert (decided.promotion.state, decided.alias) == (state, None)
        assert await world.contracts.aliases(ACME, INVOICE) == ()
        assert (await world.actions())[-1] == f"promotion.{state.value}"
        with pytest.raises(StateError) as caught:
            await store.decide(
                BOB, proposed.promotion_id, PromotionState.APPLIED, expected_version=None, reason="", at=NOON
            )
        assert caught.value.code == "promotion_decided"


async def test_of_many_decisions_one_counts(database_url: str) -> None:
    async with opened(database_url) as world:
        store = PromotionStore(world.database)
        await world.register(1)
        proposed = await propose(world)

        async def decide(state: PromotionState) -> PromotionState | None:
            try:
                decided = await store.decide(
                    BOB, proposed.promotion_id, state, expected_version=None, reason="", at=NOON
                )
            except StateError:
                return None
            return decided.promotion.state

        ways = [PromotionState.APPLIED, PromotionState.REJECTED, PromotionState.WITHDRAWN] * 3
        ends = [end for end in await asyncio.gather(*map(decide, ways)) if end is not None]
        assert len(ends) == 1
        kept = await store.get(ACME, proposed.promotion_id)
        assert kept is not None
        assert kept.state is ends[0]
        assert bool(await world.contracts.aliases(ACME, INVOICE)) == (ends[0] is PromotionState.APPLIED)


async def test_a_move_that_is_refused_leaves_the_proposal_open(database_url: str) -> None:
    async with opened(database_url) as world:
        store = PromotionStore(world.database)
        await world.register(1)
        proposed = await propose(world)
        await world.point(1)
        with pytest.raises(PreconditionFailedError):
            await store.decide(
                BOB,
                proposed.promotion_id,
                PromotionState.APPLIED,
                expected_version=None,
                must_be_new=True,
                reason="",
                at=NOON,
            )
        assert await store.get(ACME, proposed.promotion_id) == proposed
        assert "promotion.applied" not in await world.actions()


async def test_what_cannot_be_proposed(database_url: str) -> None:
    async with opened(database_url) as world:
        with pytest.raises(NotFoundError, match="contract"):
            await propose(world)
        await world.register(1)
        with pytest.raises(NotFoundError, match="revision"):
            await propose(world, 2)
        await world.contracts.set_state(ADA, INVOICE, number(1), RevisionState.SUNSET, reason="", at=NOON)
        with pytest.raises(StateError, match="no longer served"):
            await propose(world)
        await world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="", at=NOON)
        with pytest.raises(TombstonedError):
            await propose(world)


async def test_a_promotion_of_another_tenant_is_not_there(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        proposed = await propose(world)
        store = PromotionStore(world.database)
        for actor, promotion_id in ((EVE, proposed.promotion_id), (BOB, PromotionId("prm_none"))):
            with pytest.raises(NotFoundError):
                await store.decide(
                    actor, promotion_id, PromotionState.REJECTED, expected_version=None, reason="", at=NOON
                )


async def test_so_many_may_wait(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotions, "MAX_OPEN_PROMOTIONS", 2)
    async with opened(database_url) as world:
        await world.register(1)
        first = await propose(world)
        await propose(world, version=1)
        assert await propose(world) == first
        with pytest.raises(StateError) as caught:
            await propose(world, version=2)
        assert caught.value.code == "too_many_promotions"
        await PromotionStore(world.database).decide(
            ADA, first.promotion_id, PromotionState.WITHDRAWN, expected_version=None, reason="", at=NOON
        )
        await propose(world)


async def test_promotions_are_listed_newest_first(database_url: str) -> None:
    receipt = ContractName("receipt")
    async with opened(database_url) as world:
        store = PromotionStore(world.database)
        await world.register(1)
        await world.register(1, name=receipt)
        made = [
            await propose(world, at=1),
            await propose(world, at=3, name=receipt),
            await propose(world, at=2, version=3),
            await propose(world, at=3, version=1),
            await propose(world, at=3, version=2),
        ]
        await store.decide(
            BOB, made[0].promotion_id, PromotionState.REJECTED, expected_version=None, reason="", at=NOON
        )
        newest_first = sorted(made, key=lambda each: (each.proposed_at, each.promotion_id), reverse=True)
        found: list[PromotionId] = []
        cursor = None
        while True:
            page = await store.list(ACME, cursor=cursor, limit=2)
            found += [each.promotion_id for each in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert found == [each.promotion_id for each in newest_first]
        open_ones = await store.list(ACME, state=PromotionState.PROPOSED, name=INVOICE)
        assert {each.promotion_id for each in open_ones.items} == {made[index].promotion_id for index in (2, 3, 4)}
        assert (await store.list(OTHER)).items == ()


@pytest.mark.parametrize("moment", ["yesterday", "0001-01-01T00:00:00+23:59"])
async def test_a_cursor_at_no_moment_is_refused(database_url: str, moment: str) -> None:
    async with opened(database_url) as world:
        cursor = write_cursor(("promotions", ACME, None, None), (moment, "prm"))
        with pytest.raises(InvalidNameError):
            await PromotionStore(world.database).list(ACME, cursor=cursor)
