"""One policy a tenant, changed under its version and told in full."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.enforcement import EnforcementPolicy
from policy.governance import PromotionSafety, RegistryPolicy
from registry.errors import PreconditionFailedError
from registry.store.encoding import (
    policy_members,
    read_enforcement,
    read_policy,
    write_enforcement,
    write_members,
)
from registry.store.policies import PolicyStore
from registry.store.records import PolicyRecord
from tests.registry.store.world import ACME, ADA, BOB, NOON, OTHER, later, opened

STRICT = RegistryPolicy(
    require_signature=True,
    two_person_promotion=True,
    promotion_safety=PromotionSafety.BOTH,
    compatibility="FULL_TRANSITIVE",
    allow_governed=True,
    protected_aliases=frozenset({"prod", "live"}),
)


async def test_the_default_asks_for_nothing(database_url: str) -> None:
    async with opened(database_url) as world:
        assert await PolicyStore(world.database).policy(ACME) == PolicyRecord(policy=RegistryPolicy(), version=0)


async def test_a_policy_is_read_as_it_was_set(database_url: str) -> None:
    async with opened(database_url) as world:
        store = PolicyStore(world.database)
        first = await store.set_policy(ADA, STRICT, expected_version=0, at=NOON)
        assert first == PolicyRecord(policy=STRICT, version=1, changed_at=NOON, changed_by=ADA.principal)
        assert await store.policy(ACME) == first
        assert (await store.policy(OTHER)).version == 0
        second = await store.set_policy(BOB, RegistryPolicy(), expected_version=1, at=later(1))
        assert (second.version, second.policy) == (2, RegistryPolicy())
        assert await store.policy(ACME) == second
        (_, event) = await world.audit.events(ACME, after=0, limit=9)
        assert event.details == {
            "from": policy_members(STRICT),
            "to": policy_members(RegistryPolicy()),
            "version": 2,
        }


async def test_the_same_policy_is_no_change(database_url: str) -> None:
    async with opened(database_url) as world:
        store = PolicyStore(world.database)
        first = await store.set_policy(ADA, STRICT, expected_version=None, at=NOON)
        assert await store.set_policy(BOB, STRICT, expected_version=None, at=later(1)) == first
        assert await world.actions() == ["policy.set"]


async def test_of_many_changes_of_one_version_one_wins(database_url: str) -> None:
    async with opened(database_url) as world:
        store = PolicyStore(world.database)

        async def change(index: int) -> bool:
            policy = RegistryPolicy(protected_aliases=frozenset({f"alias-{index}"}))
            try:
                await store.set_policy(ADA, policy, expected_version=0, at=NOON)
            except PreconditionFailedError as error:
                return error.observed != 1
            return True

        won = await asyncio.gather(*(change(index) for index in range(8)))
        assert won.count(True) == 1
        assert (await store.policy(ACME)).policy.protected_aliases == {f"alias-{won.index(True)}"}


@given(
    st.builds(
        RegistryPolicy,
        require_signature=st.booleans(),
        two_person_promotion=st.booleans(),
        promotion_safety=st.sampled_from(PromotionSafety),
        compatibility=st.none() | st.sampled_from(["NONE", "FULL"]),
        allow_governed=st.booleans(),
        protected_aliases=st.frozensets(st.text(max_size=10), max_size=4),
    )
)
def test_every_policy_survives_its_text(policy: RegistryPolicy) -> None:
    assert read_policy(write_members(policy_members(policy))) == policy


@given(st.builds(EnforcementPolicy))
def test_every_enforcement_policy_survives_its_text(policy: EnforcementPolicy) -> None:
    assert read_enforcement(write_enforcement(policy)) == policy


@pytest.mark.parametrize(
    "change", [lambda members: members | {"new": True}, lambda members: dict([*members.items()][1:])]
)
def test_a_policy_with_members_unknown_or_missing_is_not_read_as_a_laxer_one(change: object) -> None:
    assert callable(change)
    with pytest.raises(KeyError):
        read_policy(write_members(change(policy_members(STRICT))))
