"""Promotions that take a second person: who decides, and what is asked again when a proposal is applied."""

from typing import Any

import pytest

from policy.governance import PromotionSafety
from policy.roles import Role
from registry.audit import AuditAction
from registry.errors import (
    ForbiddenError,
    IncompatibleError,
    NotFoundError,
    PreconditionFailedError,
    SecondPersonError,
    SignatureRequiredError,
    StateError,
    TombstonedError,
)
from registry.identifiers import PromotionId, SigningKeyId
from registry.revision import Promotion, PromotionState, RevisionState
from tests.registry.promoting import NARROW, ONE, THREE, TWO, moved, present, proposed
from tests.registry.world import ANN, BEA, CARL, DAN, OLGA, STRING, ZOE, World, a_registry, an_actor

pytestmark = pytest.mark.usefixtures("each_database")


async def test_a_second_person_is_neither_author_nor_proposer() -> None:
    async with a_registry() as world:
        await world.set_policy(two_person_promotion=True)
        await world.register(STRING, actor=DAN)
        promotion = await proposed(world, ONE)
        assert promotion.state is PromotionState.PROPOSED
        assert await present(world) is None
        approve = world.catalogue.promoter.approve
        for actor in (ANN, CARL, OLGA):
            with pytest.raises(ForbiddenError):
                await approve(actor, promotion.promotion_id)
        with pytest.raises(SecondPersonError):
            await approve(DAN, promotion.promotion_id)
        with pytest.raises(SecondPersonError):
            await approve(an_actor("ann", Role.APPROVER), promotion.promotion_id)
        assert (await approve(BEA, promotion.promotion_id, reason="good")).number == 1
        assert await present(world) == 1
        with pytest.raises(StateError) as decided:
            await approve(BEA, promotion.promotion_id)
        assert decided.value.code == "promotion_decided"
        # Other aliases move freely.
        await moved(world, ONE, alias="canary")


async def _waiting(world: World, **policy: object) -> tuple[Promotion, SigningKeyId]:
    """Revision 1 is behind `prod`, and revision 2 is proposed and signed."""
    await world.register(NARROW)
    await world.register({"type": "integer", "maximum": 5})
    await world.register({"type": "integer", "maximum": 3})
    await moved(world, ONE)
    key = await world.trust()
    await world.sign(2, key)
    rules: dict[str, Any] = {"two_person_promotion": True, "require_signature": True, **policy}
    await world.set_policy(**rules)
    return await proposed(world, TWO), key


async def test_a_revision_retired_since_the_proposal_is_not_promoted() -> None:
    async with a_registry() as world:
        promotion, _ = await _waiting(world)
        await world.catalogue.lifecycle.tombstone_revision(ANN, "invoice", TWO, reason="")
        with pytest.raises(TombstonedError):
            await world.catalogue.promoter.approve(BEA, promotion.promotion_id)
        assert await present(world) == 1


async def test_a_revision_at_its_sunset_since_the_proposal_is_not_promoted() -> None:
    async with a_registry() as world:
        promotion, _ = await _waiting(world)
        await world.catalogue.lifecycle.set_state(ANN, "invoice", TWO, RevisionState.SUNSET, reason="")
        with pytest.raises(StateError):
            await world.catalogue.promoter.approve(BEA, promotion.promotion_id)


async def test_a_key_revoked_since_the_proposal_signs_no_more() -> None:
    async with a_registry() as world:
        promotion, key = await _waiting(world)
        await world.catalogue.signing.revoke_key(OLGA, key, reason="stolen")
        with pytest.raises(SignatureRequiredError):
            await world.catalogue.promoter.approve(BEA, promotion.promotion_id)


async def test_an_alias_moved_since_the_proposal_is_another_question() -> None:
    async with a_registry() as world:
        promotion, key = await _waiting(world)
        await world.sign(3, key)
        other = await proposed(world, THREE)
        await world.catalogue.promoter.approve(BEA, other.promotion_id)
        with pytest.raises(PreconditionFailedError):
            await world.catalogue.promoter.approve(BEA, promotion.promotion_id)
        assert await present(world) == 3


async def test_an_alias_moved_away_and_back_since_the_proposal_is_another_question_too() -> None:
    async with a_registry() as world:
        promotion, _ = await _waiting(world)
        await world.set_policy()
        await moved(world, THREE)
        await world.catalogue.promoter.rollback(ANN, "invoice", "prod")
        await world.set_policy(two_person_promotion=True)
        with pytest.raises(PreconditionFailedError):
            await world.catalogue.promoter.approve(BEA, promotion.promotion_id)


async def test_an_alias_dropped_or_made_since_the_proposal_is_another_question() -> None:
    async with a_registry() as world:
        promotion, _ = await _waiting(world)
        await world.catalogue.promoter.drop(OLGA, "invoice", "prod")
        with pytest.raises(PreconditionFailedError):
            await world.catalogue.promoter.approve(BEA, promotion.promotion_id)
        first, second = await proposed(world, TWO), await proposed(world, TWO, actor=DAN)
        await world.catalogue.promoter.approve(BEA, first.promotion_id)
        with pytest.raises(PreconditionFailedError):
            await world.catalogue.promoter.approve(BEA, second.promotion_id)


async def test_a_policy_tightened_since_the_proposal_holds() -> None:
    async with a_registry() as world:
        promotion, _ = await _waiting(world)
        await world.set_policy(two_person_promotion=True, promotion_safety=PromotionSafety.PRODUCER_SAFE)
        with pytest.raises(IncompatibleError):
            await world.catalogue.promoter.approve(BEA, promotion.promotion_id)
        with pytest.raises(ForbiddenError):
            await world.catalogue.promoter.approve(BEA, promotion.promotion_id, override=True)
        both = an_actor("pia", Role.APPROVER, Role.OPERATOR)
        assert (await world.catalogue.promoter.approve(both, promotion.promotion_id, override=True)).number == 2
        applied = [e for e in await world.events() if e.action is AuditAction.PROMOTION_APPLIED]
        assert "regardless" in applied[-1].details


async def test_proposals_are_turned_down_by_approvers_and_taken_back_by_who_made_them() -> None:
    async with a_registry() as world:
        promotion, _ = await _waiting(world)
        promoter = world.catalogue.promoter
        with pytest.raises(ForbiddenError):
            await promoter.reject(ANN, promotion.promotion_id)
        with pytest.raises(ForbiddenError):
            await promoter.withdraw(DAN, promotion.promotion_id)
        assert (await promoter.withdraw(ANN, promotion.promotion_id)).state is PromotionState.WITHDRAWN
        second = await proposed(world, TWO)
        assert (await promoter.reject(BEA, second.promotion_id, reason="no")).state is PromotionState.REJECTED
        third = await proposed(world, TWO)
        assert (await promoter.withdraw(OLGA, third.promotion_id)).state is PromotionState.WITHDRAWN
        waiting = await promoter.promotions(CARL, state=PromotionState.PROPOSED)
        assert waiting.items == ()
        assert len((await promoter.promotions(CARL)).items) == 3
        assert await present(world) == 1


async def test_another_tenants_proposals_are_not_there() -> None:
    async with a_registry() as world:
        promotion, _ = await _waiting(world)
        promoter = world.catalogue.promoter
        for promotion_id in (promotion.promotion_id, PromotionId("prm_" + "0" * 32)):
            for ask in (promoter.promotion, promoter.approve, promoter.reject, promoter.withdraw):
                with pytest.raises(NotFoundError, match=promotion_id):
                    await ask(ZOE, promotion_id)
        assert (await promoter.promotions(ZOE)).items == ()


async def test_a_proposal_that_is_sent_twice_is_one() -> None:
    async with a_registry() as world:
        await world.register(NARROW)
        await world.set_policy(two_person_promotion=True)
        first, second = await proposed(world, ONE), await proposed(world, ONE)
        assert second == first
        assert (await proposed(world, ONE, actor=DAN)).promotion_id != first.promotion_id
        await world.catalogue.promoter.withdraw(ANN, first.promotion_id)
        assert (await proposed(world, ONE)).promotion_id != first.promotion_id
        actions = [event.action for event in await world.events()]
        assert actions.count(AuditAction.PROMOTION_PROPOSED) == 3
