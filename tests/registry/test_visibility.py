"""Not yours and not there are one answer, after the same questions to the database."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from policy.roles import ALL_ROLES, Role
from registry.comparison import InlineDefinition
from registry.contract import ContractKind
from registry.errors import (
    ContractRejectedError,
    ForbiddenError,
    InvalidNameError,
    NotFoundError,
    RegistryError,
    TombstonedError,
)
from registry.identifiers import RevisionNumber, SigningKeyId, TenantId
from registry.naming import ByDigest, read_reference
from registry.revision import Actor, RevisionState, Visibility
from registry.store.database import Database
from registry.store.records import ContractChanges, ContractQuery
from tests.registry.world import ACME, ANN, INTEGER, OTHER, STRING, ZOE, World, a_registry, an_actor, asked, closed

Ask = Callable[[World, str, Actor], Awaitable[Any]]
ONE = RevisionNumber(1)


def _side(text: str) -> Any:
    reference = read_reference(text)
    assert reference is not None
    return reference


QUESTIONS: dict[str, Ask] = {
    "resolve": lambda w, n, who: w.catalogue.resolver.resolve(n, who.tenant, serving=True),
    "resolve, not serving": lambda w, n, who: w.catalogue.resolver.resolve(f"{n}@1", who.tenant, serving=False),
    "resolve an alias": lambda w, n, who: w.catalogue.resolver.resolve(f"{n}@canary", who.tenant, serving=True),
    "payload": lambda w, n, who: w.catalogue.signing.payload(who.tenant, n, ONE),
    "signatures": lambda w, n, who: w.catalogue.signing.signatures(who.tenant, n, ONE),
    "sign": lambda w, n, who: w.catalogue.signing.add_signature(
        who, n, ONE, key_id=SigningKeyId("ed25519:0"), signature="A" * 86 + "=="
    ),
    "promote": lambda w, n, who: w.catalogue.promoter.promote(who, n, "prod", ONE),
    "roll back": lambda w, n, who: w.catalogue.promoter.rollback(who, n, "prod"),
    "drop": lambda w, n, who: w.catalogue.promoter.drop(who, n, "prod"),
    "set state": lambda w, n, who: w.catalogue.lifecycle.set_state(who, n, ONE, RevisionState.SUNSET, reason=""),
    "retire a revision": lambda w, n, who: w.catalogue.lifecycle.tombstone_revision(who, n, ONE, reason=""),
    "retire": lambda w, n, who: w.catalogue.lifecycle.tombstone_contract(who, n, reason=""),
    "change": lambda w, n, who: w.catalogue.lifecycle.change_contract(
        who, n, ContractChanges(description="mine now"), expected_version=None
    ),
    "usage": lambda w, n, who: w.catalogue.lifecycle.usage(who, n),
    "compare": lambda w, n, who: w.catalogue.comparisons.compare(who.tenant, _side(f"{n}@1"), _side(f"{n}@1")),
    "refer": lambda w, n, who: w.catalogue.registrar.register(
        who, asked(closed(x={"$ref": f"schemagate:{n}@1"}), name="referring")
    ),
}


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """The statements that the database is sent meanwhile."""
    sent: list[str] = []

    def record(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    engine = database._engine.sync_engine
    event.listen(engine, "before_cursor_execute", record)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", record)


async def answer(world: World, ask: Ask, name: str) -> tuple[str, str, list[str]]:
    """What is raised, what it says but for the name, and what the database was asked for it."""
    with statements(world.database) as sent, pytest.raises(RegistryError) as raised:
        await ask(world, name, ZOE)
    return type(raised.value).__name__, str(raised.value).replace(name, "…"), sent


@pytest.mark.parametrize("question", list(QUESTIONS))
async def test_a_private_contract_of_another_tenant_is_not_there(question: str, database_url: str) -> None:
    async with a_registry(database_url) as world:
        await world.register(STRING, name="private")
        await world.catalogue.promoter.promote(ANN, "private", "prod", ONE)
        await world.register(STRING, name="private-draft", state=RevisionState.DRAFT)
        await world.register(STRING, name="private-gone")
        await world.catalogue.lifecycle.tombstone_contract(ANN, "private-gone", reason="")
        await world.register(STRING, name="shared-gone", visibility=Visibility.SHARED)
        await world.catalogue.lifecycle.tombstone_contract(ANN, "shared-gone", reason="")
        expected = await answer(world, QUESTIONS[question], "acme/nothing")
        assert expected[2], "the database was not asked at all"
        for name in ("private", "private-draft", "private-gone", "shared-gone"):
            assert await answer(world, QUESTIONS[question], f"acme/{name}") == expected, name
        assert await answer(world, QUESTIONS[question], "nobody/nothing") == expected


async def test_a_digest_finds_nothing_of_another_tenants() -> None:
    async with a_registry() as world:
        theirs = await world.register(STRING, name="private")
        for digest in (theirs.digest, "sha256:" + "0" * 64):
            with pytest.raises(NotFoundError):
                await world.catalogue.resolver.resolve(digest, OTHER, serving=True)
        assert await world.catalogue.contracts.revisions_with_digest(OTHER, theirs.digest) == ()


async def test_lists_hold_ones_own_and_what_is_shared() -> None:
    async with a_registry() as world:
        await world.register(STRING, name="private")
        await world.register(STRING, name="shared", visibility=Visibility.SHARED)
        await world.register(STRING, name="mine", actor=ZOE)
        page = await world.catalogue.contracts.contracts(OTHER, ContractQuery(), cursor=None, limit=10)
        assert [contract.name for contract in page.items] == ["mine", "shared"]


async def test_what_a_tenant_is_given_does_not_count_what_others_do() -> None:
    async with a_registry() as world:
        for count in range(5):
            await world.register({"const": count})
        mine = await world.register(STRING, actor=ZOE, name="mine")
        assert (mine.number, mine.schema_id) == (1, 1)
        assert [event.sequence for event in await world.events(OTHER)] == [1, 2]
        assert (await world.catalogue.policies.policy(OTHER)).version == 0


@pytest.mark.parametrize(
    "question",
    [q for q in QUESTIONS if not q.startswith(("resolve", "payload", "signatures", "compare", "refer"))],
)
async def test_a_shared_contract_is_used_by_all_and_changed_by_its_own_tenant(question: str) -> None:
    async with a_registry() as world:
        await world.register(STRING, name="shared", visibility=Visibility.SHARED)
        await world.catalogue.promoter.promote(ANN, "shared", "prod", ONE)
        with pytest.raises(ForbiddenError) as refused:
            await QUESTIONS[question](world, "acme/shared", ZOE)
        assert refused.value.reason is not None
        before = await world.events()
        assert (await world.catalogue.resolver.resolve("acme/shared", OTHER, serving=True)).contract.tenant == ACME
        assert await world.catalogue.signing.payload(OTHER, "acme/shared", ONE)
        assert await world.events() == before


@pytest.mark.parametrize(
    "question",
    [q for q in QUESTIONS if not q.startswith(("resolve", "payload", "signatures", "compare", "refer", "usage"))],
)
async def test_roles_are_asked_for_before_names(question: str) -> None:
    async with a_registry() as world:
        powerless = an_actor("eve", Role.CALLER, Role.AUDITOR, tenant=OTHER)
        for name in ("acme/nothing", "nothing"):
            with statements(world.database) as sent, pytest.raises(ForbiddenError) as refused:
                await QUESTIONS[question](world, name, powerless)
            assert refused.value.reason is None
            assert sent == []


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q not in {"compare", "refer"}])
@pytest.mark.parametrize("name", ["", "a/b/c", "@", "x@y@z", "ä", "a" * 400, "\x00"])
async def test_what_is_no_name_is_refused_without_asking_the_database(question: str, name: str) -> None:
    async with a_registry() as world:
        with statements(world.database) as sent, pytest.raises(InvalidNameError):
            await QUESTIONS[question](world, name, ZOE)
        assert sent == []


async def test_team_members_change_what_is_theirs_and_nobody_elses() -> None:
    fay = an_actor("fay", Role.AUTHOR, team="finance")
    sam = an_actor("sam", *(ALL_ROLES - {Role.OPERATOR}), team="sales")
    reviewer = an_actor("rex", Role.APPROVER)
    async with a_registry() as world:
        await world.register(STRING, actor=fay, name="ledger")
        await world.register(INTEGER, actor=fay, name="ledger")
        catalogue = world.catalogue
        for refused in (
            catalogue.promoter.promote(sam, "ledger", "prod", ONE),
            catalogue.lifecycle.set_state(sam, "ledger", ONE, RevisionState.SUNSET, reason=""),
            catalogue.lifecycle.tombstone_contract(sam, "ledger", reason=""),
            catalogue.lifecycle.change_contract(sam, "ledger", ContractChanges(team=None), expected_version=None),
            catalogue.promoter.drop(sam, "ledger", "prod"),
            catalogue.promoter.rollback(sam, "ledger", "prod"),
        ):
            with pytest.raises(ForbiddenError, match="finance"):
                await refused
        await catalogue.promoter.promote(fay, "ledger", "prod", ONE)
        await catalogue.promoter.promote(fay, "ledger", "prod", RevisionNumber(2))
        assert (await catalogue.promoter.rollback(reviewer, "ledger", "prod")).number == 1
        assert (await catalogue.resolver.resolve("ledger", ACME, serving=True)).contract.team == "finance"
        report = await catalogue.lifecycle.usage(sam, "ledger")
        assert [alias.alias for alias in report.aliases] == ["prod"]


async def test_its_own_tenant_is_told_that_a_name_was_retired() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.catalogue.lifecycle.tombstone_contract(ANN, "invoice", reason="")
        with pytest.raises(TombstonedError):
            await world.catalogue.promoter.promote(ANN, "invoice", "prod", ONE)
        with pytest.raises(TombstonedError):
            await world.catalogue.lifecycle.tombstone_contract(ANN, "invoice", reason="")


async def test_inline_sides_are_read_as_callers_contracts_are() -> None:
    async with a_registry() as world:
        await world.register(INTEGER)
        new = InlineDefinition(kind=ContractKind.JSON_SCHEMA, definition={"type": ["integer", "null"]})
        comparison = await world.catalogue.comparisons.compare(ACME, _side("invoice@1"), new)
        assert type(comparison.producer_safe).__name__ == "Safe"
        assert type(comparison.consumer_safe).__name__ == "Unsafe"
        bad = InlineDefinition(kind=ContractKind.JSON_SCHEMA, definition={"type": "strin"})
        with pytest.raises(ContractRejectedError):
            await world.catalogue.comparisons.compare(TenantId("acme"), _side("invoice@1"), bad)
        missing = ByDigest(digest=(await world.register(STRING, name="x")).digest)
        with pytest.raises(NotFoundError):
            await world.catalogue.comparisons.compare(OTHER, missing, new)
