"""What may change about a contract, under its version; what is not said stays."""

import asyncio
from dataclasses import replace

import pytest

from registry.compatibility.modes import CompatibilityMode
from registry.errors import InvalidNameError, NotFoundError, PreconditionFailedError, TombstonedError
from registry.identifiers import ContractName, TeamName
from registry.revision import Visibility
from registry.store.bounds import MAX_NOTE_CHARACTERS
from registry.store.records import ContractChanges
from tests.registry.store.world import ACME, ADA, BOB, EVE, INVOICE, NOON, later, opened

BILLING = TeamName("billing")


async def test_only_what_is_said_changes(database_url: str) -> None:
    async with opened(database_url) as world:
        made = await world.register(1, team=BILLING, description="old", compatibility=CompatibilityMode.FULL)
        before = made.contract
        changed = await world.contracts.change_contract(
            BOB, INVOICE, ContractChanges(description="new"), expected_version=1, at=later(1)
        )
        assert changed == replace(before, description="new", version=2)
        assert await world.contracts.contract(ACME, INVOICE) == changed
        bare = await world.contracts.change_contract(
            BOB, INVOICE, ContractChanges(team=None, compatibility=None), expected_version=2, at=later(2)
        )
        assert bare == replace(changed, team=None, compatibility=None, version=3)
        whole = await world.contracts.change_contract(
            BOB,
            INVOICE,
            ContractChanges(
                team=BILLING,
                visibility=Visibility.SHARED,
                compatibility=CompatibilityMode.BACKWARD,
                description="",
            ),
            expected_version=None,
            at=later(3),
        )
        assert whole == await world.contracts.contract(ACME, INVOICE)
        assert (whole.team, whole.visibility, whole.compatibility) == (BILLING, "shared", "BACKWARD")
        event = (await world.audit.events(ACME, after=0, limit=100))[-1]
        assert (event.action, event.actor, event.at) == ("contract.changed", "bob", later(3))
        assert event.details == {
            "from": {"team": None, "visibility": "private", "compatibility": None, "description": "new"},
            "to": {"team": "billing", "visibility": "shared", "compatibility": "BACKWARD", "description": ""},
            "version": 4,
        }


async def test_what_it_already_is_is_no_change(database_url: str) -> None:
    async with opened(database_url) as world:
        made = await world.register(1, team=BILLING)
        before = await world.actions()
        for changes in (ContractChanges(), ContractChanges(team=BILLING, visibility=Visibility.PRIVATE)):
            same = await world.contracts.change_contract(ADA, INVOICE, changes, expected_version=1, at=NOON)
            assert same == made.contract
        assert await world.actions() == before


async def test_of_many_changes_of_one_version_one_wins(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)

        async def change(index: int) -> bool:
            changes = ContractChanges(description=str(index))
            try:
                await world.contracts.change_contract(ADA, INVOICE, changes, expected_version=1, at=NOON)
            except PreconditionFailedError as error:
                return error.observed != 2
            return True

        won = await asyncio.gather(*(change(index) for index in range(8)))
        assert won.count(True) == 1
        contract = await world.contracts.contract(ACME, INVOICE)
        assert contract is not None
        assert (contract.description, contract.version) == (str(won.index(True)), 2)


async def test_what_cannot_be_changed(database_url: str) -> None:
    changes = ContractChanges(description="x")
    async with opened(database_url) as world:
        await world.register(1)
        for actor, name in ((EVE, INVOICE), (ADA, ContractName("receipt"))):
            with pytest.raises(NotFoundError):
                await world.contracts.change_contract(actor, name, changes, expected_version=None, at=NOON)
        for text in ("x" * (MAX_NOTE_CHARACTERS + 1), "\x00"):
            with pytest.raises(InvalidNameError):
                await world.contracts.change_contract(
                    ADA, INVOICE, ContractChanges(description=text), expected_version=None, at=NOON
                )
        await world.contracts.tombstone_contract(ADA, INVOICE, reason="", at=NOON)
        with pytest.raises(TombstonedError):
            await world.contracts.change_contract(ADA, INVOICE, changes, expected_version=None, at=NOON)
