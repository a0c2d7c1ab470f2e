"""A tenant's policy: who sets it, and what may be written there."""

from typing import Any

import pytest

from policy.governance import PromotionSafety, RegistryPolicy
from registry.audit import AuditAction
from registry.errors import ForbiddenError, InvalidNameError, PreconditionFailedError, SignatureRequiredError
from registry.identifiers import RevisionNumber
from tests.registry.world import ACME, ANN, OLGA, OTHER, STRING, a_registry

pytestmark = pytest.mark.usefixtures("each_database")


async def test_nobody_has_set_the_default() -> None:
    async with a_registry() as world:
        record = await world.catalogue.policies.policy(ACME)
        assert (record.policy, record.version) == (RegistryPolicy(), 0)


async def test_a_policy_is_set_by_an_operator_under_its_version_and_recorded() -> None:
    policy = RegistryPolicy(
        require_signature=True,
        promotion_safety=PromotionSafety.BOTH,
        compatibility="FULL",
        protected_aliases=frozenset({"prod", "canary"}),
    )
    async with a_registry() as world:
        set_policy = world.catalogue.policies.set_policy
        with pytest.raises(ForbiddenError):
            await set_policy(ANN, policy, expected_version=None)
        assert (await set_policy(OLGA, policy, expected_version=0)).version == 1
        with pytest.raises(PreconditionFailedError):
            await set_policy(OLGA, RegistryPolicy(), expected_version=0)
        assert (await world.catalogue.policies.policy(ACME)).policy == policy
        assert (await world.catalogue.policies.policy(OTHER)).policy == RegistryPolicy()
        assert [event.action for event in await world.events()] == [AuditAction.POLICY_SET]


@pytest.mark.parametrize(
    "rules",
    [
        {"compatibility": "backward"},
        {"compatibility": ""},
        {"protected_aliases": frozenset({"Prod"})},
        {"protected_aliases": frozenset({"latest"})},
        {"protected_aliases": frozenset(f"a{count}" for count in range(101))},
    ],
)
async def test_what_nothing_could_follow_is_refused(rules: dict[str, Any]) -> None:
    async with a_registry() as world:
        with pytest.raises(InvalidNameError):
            await world.set_policy(**rules)
        assert await world.events() == []


async def test_a_policy_holds_at_once_for_what_is_served() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.catalogue.promoter.promote(ANN, "invoice", "prod", RevisionNumber(1))
        await world.catalogue.resolver.resolve("invoice", ACME, serving=True)
        await world.set_policy(require_signature=True)
        with pytest.raises(SignatureRequiredError):
            await world.catalogue.resolver.resolve("invoice", ACME, serving=True)
