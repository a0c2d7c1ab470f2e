"""Moving aliases: who may, and what has to be shown."""

import asyncio
from typing import Any

import pytest

from policy.governance import PromotionSafety
from registry.audit import AuditAction
from registry.contract import ContractKind
from registry.errors import (
    ForbiddenError,
    IncompatibleError,
    InvalidNameError,
    NotFoundError,
    PreconditionFailedError,
    SignatureRequiredError,
    StateError,
    TombstonedError,
    UndecidedError,
)
from registry.identifiers import ContractName, RevisionNumber
from registry.promotion import Promoted, Proposed
from registry.revision import ContractClass, RevisionState
from tests.registry.promoting import NARROW, ONE, OTHER_WAY, THREE, TWO, WIDE, moved, present, proposed
from tests.registry.world import ACME, ANN, BEA, INTEGER, OLGA, STRING, a_registry

pytestmark = pytest.mark.usefixtures("each_database")


async def test_an_alias_moves_and_remembers_where_it_was() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(INTEGER)
        first, second = await moved(world, ONE), await moved(world, TWO)
        assert (first.number, first.version, first.previous) == (1, 1, None)
        assert (second.number, second.version, second.previous) == (2, 2, 1)
        assert await moved(world, TWO) == second
        assert [e.action for e in await world.events()].count(AuditAction.ALIAS_MOVED) == 2


async def test_promoting_a_draft_activates_it_if_the_level_lets_it() -> None:
    async with a_registry() as world:
        await world.set_policy(compatibility="BACKWARD")
        await world.register(NARROW)
        await world.register(WIDE, state=RevisionState.DRAFT)
        await moved(world, TWO)
        stored = await world.catalogue.contracts.revision(ACME, ContractName("invoice"), TWO)
        assert stored is not None
        assert stored.status.state is RevisionState.ACTIVE
        await world.set_policy()
        await world.register(OTHER_WAY, state=RevisionState.DRAFT)
        await world.set_policy(compatibility="BACKWARD")
        with pytest.raises(IncompatibleError):
            await moved(world, THREE)


async def test_what_is_not_served_is_not_promoted() -> None:
    async with a_registry() as world:
        for schema in (STRING, INTEGER):
            await world.register(schema)
        await world.catalogue.lifecycle.set_state(ANN, "invoice", ONE, RevisionState.SUNSET, reason="")
        await world.catalogue.lifecycle.tombstone_revision(ANN, "invoice", TWO, reason="")
        with pytest.raises(StateError) as sunset:
            await moved(world, ONE)
        assert sunset.value.code == "sunset_revision"
        with pytest.raises(TombstonedError):
            await moved(world, TWO)
        with pytest.raises(NotFoundError):
            await moved(world, THREE)


async def test_preconditions_hold_against_what_others_did_meanwhile() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(INTEGER)
        promote = world.catalogue.promoter.promote
        await promote(ANN, "invoice", "prod", ONE, must_be_new=True)
        with pytest.raises(PreconditionFailedError) as exists:
            await promote(ANN, "invoice", "prod", TWO, must_be_new=True)
        assert exists.value.observed == 1
        await promote(ANN, "invoice", "prod", TWO, expected_version=1)
        with pytest.raises(PreconditionFailedError):
            await promote(ANN, "invoice", "prod", ONE, expected_version=1)
        with pytest.raises(PreconditionFailedError):
            await promote(ANN, "invoice", "new", ONE, expected_version=1)
        with pytest.raises(PreconditionFailedError):
            await world.catalogue.promoter.drop(ANN, "invoice", "prod", expected_version=1)
        await world.catalogue.promoter.drop(ANN, "invoice", "prod", expected_version=2)
        assert await present(world) is None


async def test_of_concurrent_moves_with_one_version_one_wins_and_without_versions_all_do() -> None:
    async with a_registry() as world:
        for count in range(4):
            await world.register({"const": count})
        await moved(world, ONE)
        promote = world.catalogue.promoter.promote
        numbers = [RevisionNumber(n) for n in (2, 3, 4)]
        held = await asyncio.gather(
            *(promote(ANN, "invoice", "prod", n, expected_version=1) for n in numbers), return_exceptions=True
        )
        assert sum(isinstance(each, Promoted) for each in held) == 1
        assert sum(isinstance(each, PreconditionFailedError) for each in held) == 2
        free = await asyncio.gather(*(promote(ANN, "invoice", "canary", n) for n in numbers))
        assert all(isinstance(each, Promoted) for each in free)


@pytest.mark.parametrize(
    ("safety", "new", "question"),
    [
        (PromotionSafety.CONSUMER_SAFE, WIDE, "consumer_safe"),
        (PromotionSafety.PRODUCER_SAFE, {"type": "integer", "maximum": 5}, "producer_safe"),
        (PromotionSafety.BOTH, WIDE, "consumer_safe"),
    ],
)
async def test_a_protected_alias_moves_only_to_what_is_as_safe_as_policy_asks(
    safety: PromotionSafety, new: dict[str, object], question: str
) -> None:
    async with a_registry() as world:
        await world.set_policy(promotion_safety=safety)
        await world.register(NARROW)
        await world.register(new)
        await moved(world, ONE)
        with pytest.raises(IncompatibleError) as refused:
            await moved(world, TWO)
        assert (refused.value.question, refused.value.against, refused.value.level) == (question, 1, safety)
        assert await present(world) == 1
        await moved(world, ONE, alias="canary")
        await moved(world, TWO, alias="canary")


async def test_undecided_is_not_safe_and_only_an_operator_promotes_regardless() -> None:
    async with a_registry() as world:
        await world.set_policy(promotion_safety=PromotionSafety.CONSUMER_SAFE)
        await world.register('start: "a"', kind=ContractKind.LARK)
        await world.register('start: "b"', kind=ContractKind.LARK)
        await moved(world, ONE)
        with pytest.raises(UndecidedError):
            await moved(world, TWO)
        promote = world.catalogue.promoter.promote
        with pytest.raises(ForbiddenError):
            await promote(ANN, "invoice", "prod", TWO, override=True)
        assert isinstance(await promote(OLGA, "invoice", "prod", TWO, override=True), Promoted)
        assert "could not be decided" in str((await world.events())[-1].details["regardless"])


async def test_a_protected_alias_takes_a_live_signature_where_policy_says_so() -> None:
    async with a_registry() as world:
        await world.set_policy(require_signature=True)
        await world.register(STRING)
        with pytest.raises(SignatureRequiredError):
            await moved(world, ONE)
        await moved(world, ONE, alias="canary")
        key = await world.trust()
        await world.sign(1, key)
        await moved(world, ONE)
        assert (await world.catalogue.resolver.resolve("invoice", ACME, serving=True)).signed_by == key
        await world.catalogue.signing.revoke_key(OLGA, key, reason="stolen")
        digest = (await world.catalogue.resolver.resolve("invoice", ACME, serving=False)).revision.digest
        # Pinning is no way around the protected alias.
        for text in ("invoice", "invoice@1", f"invoice@{digest}", digest):
            with pytest.raises(SignatureRequiredError):
                await world.catalogue.resolver.resolve(text, ACME, serving=True)
        # An alias that policy leaves unprotected says what the signatures amount to, and is served.
        assert (await world.catalogue.resolver.resolve("invoice@canary", ACME, serving=True)).signature == "revoked"


async def test_a_number_or_a_digest_is_served_unsigned_where_no_signature_is_asked_for() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        found = await world.catalogue.resolver.resolve("invoice@1", ACME, serving=True)
        assert found.signature == "unsigned"
        assert (await world.catalogue.resolver.resolve(found.revision.digest, ACME, serving=True)).alias is None


async def test_two_keys_may_be_live_at_once_so_that_one_can_be_replaced() -> None:
    async with a_registry() as world:
        await world.set_policy(require_signature=True)
        await world.register(STRING)
        old, new = await world.trust(), await world.trust()
        await world.sign(1, old)
        await world.sign(1, new)
        await moved(world, ONE)
        await world.catalogue.signing.revoke_key(OLGA, old, reason="rotated")
        assert (await world.catalogue.resolver.resolve("invoice", ACME, serving=True)).signed_by == new


async def test_a_signature_dies_with_its_keys_term() -> None:
    async with a_registry() as world:
        await world.set_policy(require_signature=True)
        await world.register(STRING)
        key = await world.trust(expires_at=world.clock.now.replace(year=2027))
        await world.sign(1, key)
        await moved(world, ONE)
        world.clock.forward(days=400)
        with pytest.raises(SignatureRequiredError):
            await world.catalogue.resolver.resolve("invoice", ACME, serving=True)


async def test_every_alias_of_a_governed_contract_takes_signature_and_second_person() -> None:
    async with a_registry() as world:
        await world.set_policy(allow_governed=True, protected_aliases=frozenset())
        await world.register(STRING, contract_class=ContractClass.GOVERNED)
        with pytest.raises(SignatureRequiredError):
            await moved(world, ONE, alias="canary")
        await world.sign(1, await world.trust())
        promotion = await proposed(world, ONE, alias="canary")
        await world.catalogue.promoter.approve(BEA, promotion.promotion_id)
        assert await present(world, "canary") == 1


@pytest.mark.parametrize("rule", [{"two_person_promotion": True}, {"promotion_safety": PromotionSafety.CONSUMER_SAFE}])
async def test_an_alias_is_not_dropped_to_be_made_anew_without_what_it_asks_for(rule: dict[str, Any]) -> None:
    async with a_registry() as world:
        await world.register(NARROW)
        await world.register(WIDE)
        await moved(world, ONE)
        await moved(world, ONE, alias="canary")
        await world.set_policy(**rule)
        with pytest.raises(ForbiddenError):
            await world.catalogue.promoter.drop(ANN, "invoice", "prod")
        assert await present(world) == 1
        await world.catalogue.promoter.drop(ANN, "invoice", "canary")
        await world.catalogue.promoter.drop(OLGA, "invoice", "prod")
        assert await present(world) is None


async def test_what_policy_asks_for_by_the_end_of_a_long_comparison_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_registry() as world:
        await world.register(WIDE)
        await world.register(NARROW)
        await moved(world, ONE)
        await world.set_policy(promotion_safety=PromotionSafety.CONSUMER_SAFE)
        compare = world.comparer.compare

        async def tightened(*sides: Any) -> Any:
            await world.set_policy(promotion_safety=PromotionSafety.CONSUMER_SAFE, two_person_promotion=True)
            return await compare(*sides)

        monkeypatch.setattr(world.comparer, "compare", tightened)
        assert isinstance(await world.catalogue.promoter.promote(ANN, "invoice", "prod", TWO), Proposed)
        assert await present(world) == 1


async def test_a_key_that_is_revoked_during_a_long_comparison_signs_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_registry() as world:
        await world.register(WIDE)
        await world.register(NARROW)
        await moved(world, ONE)
        key = await world.trust()
        await world.sign(2, key)
        await world.set_policy(promotion_safety=PromotionSafety.CONSUMER_SAFE, require_signature=True)
        compare = world.comparer.compare

        async def revoking(*sides: Any) -> Any:
            await world.catalogue.signing.revoke_key(OLGA, key, reason="stolen")
            return await compare(*sides)

        monkeypatch.setattr(world.comparer, "compare", revoking)
        with pytest.raises(SignatureRequiredError):
            await world.catalogue.promoter.promote(ANN, "invoice", "prod", TWO)
        assert await present(world) == 1


@pytest.mark.parametrize("alias", ["latest", "", "Prod", "1", "a" * 65, "a b"])
async def test_names_that_no_alias_can_have_are_refused(alias: str) -> None:
    async with a_registry() as world:
        await world.register(STRING)
        with pytest.raises(InvalidNameError):
            await moved(world, ONE, alias=alias)
