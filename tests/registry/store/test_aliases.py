"""Aliases move under preconditions; each move is counted and told."""

import asyncio

import pytest

from registry.audit import AuditAction
from registry.errors import NotFoundError, PreconditionFailedError, StateError
from registry.identifiers import AliasName
from registry.revision import Alias, RevisionState
from registry.store import aliasing
from tests.registry.store.world import ACME, ADA, BOB, INVOICE, NOON, OTHER, PROD, later, number, opened


async def test_an_alias_remembers_where_it_was(database_url: str) -> None:
    async with opened(database_url) as world:
        first = await world.register(1)
        second = await world.register(2)
        one = await world.contracts.move_alias(
            ADA, INVOICE, PROD, number(1), expected_version=None, must_be_new=True, reason="go", at=later(1)
        )
        two = await world.contracts.move_alias(
            BOB, INVOICE, PROD, number(2), expected_version=1, must_be_new=False, reason="on", at=later(2)
        )
        assert (one.number, one.version, one.previous) == (1, 1, None)
        assert one.revision_id == first.revision.revision_id
        assert two == Alias(
            tenant=ACME,
            name=INVOICE,
            alias=PROD,
            number=number(2),
            revision_id=second.revision.revision_id,
            version=2,
            moved_at=later(2),
            moved_by=BOB.principal,
            previous=number(1),
        )
        assert await world.contracts.alias(ACME, INVOICE, PROD) == two
        assert await world.contracts.alias(OTHER, INVOICE, PROD) is None
        event = (await world.audit.events(ACME, after=0, limit=100))[-1]
        assert (event.action, event.actor) == (AuditAction.ALIAS_MOVED, "bob")
        assert dict(event.subject) == {"name": "invoice", "alias": "prod"}
        assert {name: event.details[name] for name in ("number", "previous", "version", "reason")} == {
            "number": 2,
            "previous": 1,
            "version": 2,
            "reason": "on",
        }


async def test_a_move_is_told_as_what_it_was(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.contracts.move_alias(
            ADA,
            INVOICE,
            PROD,
            number(1),
            expected_version=None,
            must_be_new=False,
            reason="",
            action=AuditAction.ALIAS_ROLLED_BACK,
            at=NOON,
        )
        assert (await world.actions())[-1] == "alias.rolled_back"


async def test_moving_to_a_draft_activates_it(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1, state=RevisionState.DRAFT)
        await world.point(1)
        stored = await world.contracts.revision(ACME, INVOICE, number(1))
        assert stored is not None
        assert stored.status.state is RevisionState.ACTIVE
        assert (await world.actions())[-2:] == ["revision.state_changed", "alias.moved"]


async def test_no_alias_moves_to_what_is_no_longer_served(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.contracts.set_state(ADA, INVOICE, number(1), RevisionState.SUNSET, reason="", at=NOON)
        with pytest.raises(StateError) as caught:
            await world.point(1)
        assert caught.value.code == "sunset_revision"


@pytest.mark.parametrize(("expected_version", "must_be_new"), [(0, False), (2, False), (None, True), (1, True)])
async def test_a_precondition_that_fails_leaves_the_alias(
    database_url: str, expected_version: int | None, *, must_be_new: bool
) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.register(2)
        await world.point(1)
        before = await world.contracts.alias(ACME, INVOICE, PROD)
        with pytest.raises(PreconditionFailedError) as caught:
            await world.contracts.move_alias(
                ADA,
                INVOICE,
                PROD,
                number(2),
                expected_version=expected_version,
                must_be_new=must_be_new,
                reason="",
                at=NOON,
            )
        assert caught.value.observed == 1
        assert await world.contracts.alias(ACME, INVOICE, PROD) == before


async def test_a_version_is_expected_of_an_alias_that_is_not_there(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        with pytest.raises(PreconditionFailedError) as caught:
            await world.contracts.move_alias(
                ADA, INVOICE, PROD, number(1), expected_version=1, must_be_new=False, reason="", at=NOON
            )
        assert caught.value.observed is None


async def test_of_many_moves_with_one_version_one_wins(database_url: str) -> None:
    async with opened(database_url) as world, opened(database_url) as elsewhere:
        for content in range(1, 11):
            await world.register(content)
        await world.point(1)

        async def move(to: int) -> bool:
            store = (world if to % 2 else elsewhere).contracts
            try:
                await store.move_alias(
                    ADA, INVOICE, PROD, number(to), expected_version=1, must_be_new=False, reason="", at=NOON
                )
            except PreconditionFailedError as error:
                return error.observed != 2
            return True

        won = await asyncio.gather(*(move(to) for to in range(1, 11)))
        assert won.count(True) == 1
        alias = await world.contracts.alias(ACME, INVOICE, PROD)
        assert alias is not None
        assert (alias.number, alias.version) == (won.index(True) + 1, 2)


async def test_an_alias_made_anew_goes_on_counting(database_url: str) -> None:
    """A version that somebody has seen never means another alias."""
    async with opened(database_url) as world:
        await world.register(1)
        await world.point(1)
        await world.point(1)
        with pytest.raises(PreconditionFailedError):
            await world.contracts.drop_alias(ADA, INVOICE, PROD, expected_version=1, reason="", at=NOON)
        await world.contracts.drop_alias(ADA, INVOICE, PROD, expected_version=2, reason="", at=NOON)
        assert await world.contracts.alias(ACME, INVOICE, PROD) is None
        with pytest.raises(NotFoundError):
            await world.contracts.drop_alias(ADA, INVOICE, PROD, expected_version=None, reason="", at=NOON)
        await world.point(1)
        alias = await world.contracts.alias(ACME, INVOICE, PROD)
        assert alias is not None
        assert (alias.version, alias.previous) == (3, None)
        assert (await world.actions())[-2:] == ["alias.dropped", "alias.moved"]


async def test_a_contract_has_so_many_aliases_and_no_more(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aliasing, "MAX_ALIASES", 2)
    async with opened(database_url) as world:
        await world.register(1)
        await world.point(1, alias="b")
        await world.point(1, alias="a")
        with pytest.raises(StateError) as caught:
            await world.point(1, alias="c")
        assert caught.value.code == "too_many_aliases"
        await world.point(1, alias="a")
        aliases = await world.contracts.aliases(ACME, INVOICE)
        assert [(each.alias, each.version) for each in aliases] == [(AliasName("a"), 2), (AliasName("b"), 1)]
