"""Moving an alias back: an emergency that waits for nobody, and goes one step."""

import pytest

from policy.governance import PromotionSafety
from registry.audit import AuditAction
from registry.errors import (
    ForbiddenError,
    NotFoundError,
    PreconditionFailedError,
    SignatureRequiredError,
    StateError,
    TombstonedError,
)
from registry.revision import RevisionState
from tests.registry.promoting import NARROW, ONE, TWO, WIDE, moved, present, proposed
from tests.registry.world import ANN, BEA, CARL, a_registry

pytestmark = pytest.mark.usefixtures("each_database")


async def test_a_rollback_waits_for_nobody_and_asks_for_no_proof() -> None:
    async with a_registry() as world:
        await world.register(NARROW)
        await world.register(WIDE)
        await moved(world, ONE)
        await moved(world, TWO)
        await world.set_policy(two_person_promotion=True, promotion_safety=PromotionSafety.BOTH)
        rollback = world.catalogue.promoter.rollback
        with pytest.raises(ForbiddenError):
            await rollback(CARL, "invoice", "prod")
        with pytest.raises(PreconditionFailedError):
            await rollback(BEA, "invoice", "prod", expected_version=1)
        back = await rollback(BEA, "invoice", "prod", expected_version=2, reason="outage")
        assert (back.number, back.previous, back.version) == (1, None, 3)
        last = (await world.events())[-1]
        assert last.details["previous"] == 2
        assert (last.action, last.actor, last.details["reason"]) == (AuditAction.ALIAS_ROLLED_BACK, "bea", "outage")


async def test_a_rollback_goes_back_once_and_forward_again_is_a_promotion() -> None:
    async with a_registry() as world:
        await world.register(NARROW)
        await world.register(WIDE)
        await moved(world, ONE)
        await moved(world, TWO)
        await world.set_policy(two_person_promotion=True)
        await world.catalogue.promoter.rollback(BEA, "invoice", "prod", reason="it broke")
        with pytest.raises(StateError) as again:
            await world.catalogue.promoter.rollback(ANN, "invoice", "prod")
        assert again.value.code == "no_previous_revision"
        assert "promote the revision" in str(again.value)
        assert await present(world) == 1
        assert (await proposed(world, TWO)).number == 2


async def test_a_rollback_asks_that_there_is_something_to_serve_there() -> None:
    async with a_registry() as world:
        await world.register(NARROW)
        await world.register(WIDE)
        rollback = world.catalogue.promoter.rollback
        with pytest.raises(NotFoundError):
            await rollback(ANN, "invoice", "prod")
        await moved(world, ONE)
        with pytest.raises(StateError) as first:
            await rollback(ANN, "invoice", "prod")
        assert first.value.code == "no_previous_revision"
        await moved(world, TWO)
        await world.set_policy(require_signature=True)
        with pytest.raises(SignatureRequiredError):
            await rollback(ANN, "invoice", "prod")
        await world.set_policy()
        await world.catalogue.lifecycle.set_state(ANN, "invoice", ONE, RevisionState.SUNSET, reason="")
        with pytest.raises(StateError):
            await rollback(ANN, "invoice", "prod")
        await world.catalogue.lifecycle.tombstone_revision(ANN, "invoice", ONE, reason="")
        with pytest.raises(TombstonedError):
            await rollback(ANN, "invoice", "prod")
