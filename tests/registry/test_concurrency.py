"""Two processes on one database, and many callers at a time: what one was told holds whatever the others did."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from policy.roles import Role
from registry.compatibility.modes import CompatibilityMode
from registry.errors import PreconditionFailedError, RegistryError, StateError, TombstonedError
from registry.identifiers import ContractName, RevisionNumber
from registry.promotion import Proposed
from registry.registration import RegistrationOutcome
from registry.revision import RevisionState
from tests.registry.world import ACME, ANN, BEA, OLGA, World, a_registry, an_actor

NAME = ContractName("invoice")


async def two(stack: AsyncExitStack, url: str) -> tuple[World, World]:
    """Two sets of services, each with its own connections, over one database."""
    first = await stack.enter_async_context(a_registry(url))
    return first, await stack.enter_async_context(a_registry(url))


async def test_of_two_processes_that_register_none_loses_what_it_acknowledged(database_url: str) -> None:
    async with AsyncExitStack() as stack:
        worlds = await two(stack, database_url)
        await worlds[0].register({"enum": ["x"]}, compatibility=CompatibilityMode.BACKWARD)
        schemas: list[Any] = [{"enum": ["x", *(f"v{n}" for n in range(count))]} for count in range(1, 9)]
        work = [worlds[place % 2].outcome(schema) for place, schema in enumerate(schemas)]
        results = await asyncio.gather(*work, return_exceptions=True)
        assert all(isinstance(each, RegistrationOutcome | RegistryError) for each in results), results
        stored = [each.stored.revision for each in results if isinstance(each, RegistrationOutcome) and each.stored]
        assert stored
        assert sorted(each.number for each in stored) == list(range(2, 2 + len(stored)))
        page = await worlds[1].catalogue.contracts.revisions(ACME, NAME, limit=100, newest_first=False)
        kept = [each.revision for each in page.items]
        assert {each.revision_id for each in stored} < {each.revision_id for each in kept}
        # Each met the level against the very one before it.
        lengths = [len(each.canonical_text) for each in kept]
        assert lengths == sorted(lengths)
        await worlds[0].events()


async def test_the_same_content_from_many_at_once_is_one_revision(database_url: str) -> None:
    async with AsyncExitStack() as stack:
        worlds = await two(stack, database_url)
        outcomes = await asyncio.gather(*(worlds[place % 2].outcome({"type": "integer"}) for place in range(8)))
        assert len({each.stored.revision.revision_id for each in outcomes if each.stored}) == 1
        assert sum(each.stored is not None and each.stored.is_new for each in outcomes) == 1


async def test_many_in_one_process_all_get_their_turn(database_url: str) -> None:
    async with a_registry(database_url) as world:
        outcomes = await asyncio.gather(*(world.outcome({"const": count}) for count in range(12)))
        assert sorted(each.stored.revision.number for each in outcomes if each.stored) == list(range(1, 13))


async def test_a_proposal_is_applied_once(database_url: str) -> None:
    async with AsyncExitStack() as stack:
        worlds = await two(stack, database_url)
        await worlds[0].register({"type": "integer"})
        await worlds[0].set_policy(two_person_promotion=True)
        result = await worlds[0].catalogue.promoter.promote(ANN, "invoice", "prod", RevisionNumber(1))
        assert isinstance(result, Proposed)
        approvers = [BEA, an_actor("rex", Role.APPROVER)]
        ends = await asyncio.gather(
            *(
                world.catalogue.promoter.approve(approver, result.promotion.promotion_id)
                for world, approver in zip(worlds, approvers, strict=True)
            ),
            return_exceptions=True,
        )
        assert sum(not isinstance(each, BaseException) for each in ends) == 1
        assert sum(isinstance(each, StateError | PreconditionFailedError) for each in ends) == 1


@pytest.mark.parametrize("round_", range(4))
async def test_an_alias_never_ends_on_what_is_retired_at_the_same_moment(database_url: str, round_: int) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, database_url)
        await one.register({"type": "integer"})
        number = RevisionNumber(1)
        retire = other.catalogue.lifecycle
        end = (
            retire.tombstone_revision(OLGA, "invoice", number, reason="")
            if round_ % 2
            else retire.set_state(OLGA, "invoice", number, RevisionState.SUNSET, reason="")
        )
        moves = [one.catalogue.promoter.promote(ANN, "invoice", "prod", number), end]
        results = await asyncio.gather(*(moves if round_ < 2 else moves[::-1]), return_exceptions=True)
        refused = [each for each in results if isinstance(each, BaseException)]
        assert len(refused) == 1
        assert isinstance(refused[0], StateError | TombstonedError)
        stored = await one.catalogue.contracts.revision(ACME, NAME, number)
        assert stored is not None
        is_served = stored.status.tombstoned_at is None and stored.status.state is RevisionState.ACTIVE
        assert bool(await one.catalogue.contracts.aliases(ACME, NAME)) is is_served
