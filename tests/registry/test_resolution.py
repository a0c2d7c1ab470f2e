"""The end of a name: what is served, what is not, and what is remembered."""

import asyncio
from dataclasses import replace

import pytest

from policy.limits import TENANT
from registry.contract import ContractDigest
from registry.dependencies import Dependencies
from registry.errors import InvalidNameError, NotFoundError, StaleRevisionError, StateError, TombstonedError
from registry.identifiers import ContractName, RevisionNumber, TenantId
from registry.naming import Reference
from registry.reader import Reader
from registry.resolution import MAX_REMEMBERED, CachedResolver
from registry.revision import RevisionState, SignatureStatus, Visibility
from registry.store.contracts import ContractStore
from registry.store.records import BareContract, ServedRevision
from registry.turns import Turns
from tests.registry.world import ACME, ANN, INTEGER, OTHER, STRING, ZOE, World, a_registry, closed, pin

pytestmark = pytest.mark.usefixtures("each_database")


async def moved(world: World, number: int, alias: str = "canary") -> None:
    await world.catalogue.promoter.promote(ANN, "invoice", alias, RevisionNumber(number))


async def test_a_revision_is_found_by_alias_number_and_digest() -> None:
    async with a_registry() as world:
        revision = await world.register(STRING)
        await world.catalogue.promoter.promote(ANN, "invoice", "prod", revision.number)
        resolve = world.catalogue.resolver.resolve
        for text in ("invoice", "invoice@prod", "acme/invoice", "invoice@1", f"invoice@{revision.digest}"):
            found = await resolve(text, ACME, serving=True)
            assert found.revision == revision, text
            assert found.signature is SignatureStatus.UNSIGNED
            assert found.alias == ("prod" if "@1" not in text and "sha" not in text else None)
        assert (await resolve(revision.digest, ACME, serving=True)).revision == revision
        assert (await resolve(pin("invoice"), ACME, serving=True)).revision == revision


async def test_only_active_and_deprecated_revisions_are_served() -> None:
    async with a_registry() as world:
        await world.register(STRING, state=RevisionState.DRAFT)
        resolve, lifecycle = world.catalogue.resolver.resolve, world.catalogue.lifecycle
        with pytest.raises(StateError) as draft:
            await resolve("invoice@1", ACME, serving=True)
        assert draft.value.code == "draft_revision"
        assert (await resolve("invoice@1", ACME, serving=False)).status.state is RevisionState.DRAFT
        for state in (RevisionState.ACTIVE, RevisionState.DEPRECATED):
            await lifecycle.set_state(ANN, "invoice", RevisionNumber(1), state, reason="")
            assert (await resolve("invoice@1", ACME, serving=True)).status.state is state
        await lifecycle.set_state(ANN, "invoice", RevisionNumber(1), RevisionState.SUNSET, reason="")
        with pytest.raises(StateError) as sunset:
            await resolve("invoice@1", ACME, serving=True)
        assert sunset.value.code == "sunset_revision"


async def test_its_own_tenant_is_told_what_was_retired_and_others_are_not() -> None:
    async with a_registry() as world:
        await world.register(STRING, visibility=Visibility.SHARED)
        await world.register(INTEGER)
        await world.catalogue.lifecycle.tombstone_revision(ANN, "invoice", RevisionNumber(1), reason="")
        resolve = world.catalogue.resolver.resolve
        with pytest.raises(TombstonedError):
            await resolve("invoice@1", ACME, serving=True)
        with pytest.raises(NotFoundError):
            await resolve("acme/invoice@1", OTHER, serving=True)
        assert (await resolve("acme/invoice@2", OTHER, serving=True)).revision.number == 2
        await world.catalogue.lifecycle.tombstone_contract(ANN, "invoice", reason="")
        for text in ("invoice", "invoice@2", "invoice@9"):
            with pytest.raises(TombstonedError):
                await resolve(text, ACME, serving=True)
        with pytest.raises(NotFoundError):
            await resolve("acme/invoice@2", OTHER, serving=True)


async def test_what_is_missing_is_named() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        resolve = world.catalogue.resolver.resolve
        for text, what in [("invoice@canary", "alias"), ("invoice@2", "revision"), ("nothing", "contract")]:
            with pytest.raises(NotFoundError) as missing:
                await resolve(text, ACME, serving=True)
            assert missing.value.what == what
        with pytest.raises(InvalidNameError, match="name@alias"):
            await resolve("in voice", ACME, serving=True)


async def test_a_move_by_this_process_is_seen_at_once() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(INTEGER)
        resolve = world.catalogue.resolver.resolve
        with pytest.raises(NotFoundError):
            await resolve("invoice@canary", ACME, serving=True)
        for number in (1, 2, 1):
            await moved(world, number)
            assert (await resolve("invoice@canary", ACME, serving=True)).revision.number == number
        await world.catalogue.lifecycle.set_state(
            ANN, "invoice", RevisionNumber(1), RevisionState.DEPRECATED, reason=""
        )
        assert (await resolve("invoice@canary", ACME, serving=True)).status.state is RevisionState.DEPRECATED
        await world.catalogue.promoter.drop(ANN, "invoice", "canary")
        with pytest.raises(NotFoundError):
            await resolve("invoice@canary", ACME, serving=True)


class CountedStore(ContractStore):
    """The store, with its questions counted and its answers held back where a test says so."""

    questions: list[tuple[TenantId, Reference]]
    answered: asyncio.Event
    gate: asyncio.Event

    async def serving(self, viewer: TenantId, reference: Reference) -> ServedRevision | BareContract | None:
        """Counted, asked, and the answer then held back until the gate is open."""
        self.questions.append((viewer, reference))
        found = await super().serving(viewer, reference)
        self.answered.set()
        await self.gate.wait()
        return found


class Ticks:
    """A monotonic clock that stands still."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def a_resolver(world: World) -> tuple[CachedResolver, CountedStore, Ticks]:
    store, ticks = CountedStore(world.database), Ticks()
    store.questions, store.answered, store.gate = [], asyncio.Event(), asyncio.Event()
    store.gate.set()
    turns = Turns()
    resolver = CachedResolver(
        store, Dependencies(contracts=store, turns=turns), Reader(turns), clock=world.clock, now=ticks
    )
    return resolver, store, ticks


async def test_answers_are_given_again_for_half_a_second_whatever_they_are() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        resolver, store, ticks = a_resolver(world)
        for _ in range(3):
            await resolver.resolve("invoice@1", ACME, serving=True)
            with pytest.raises(NotFoundError):
                await resolver.resolve("nothing", ACME, serving=True)
        assert len(store.questions) == 2
        ticks.now += 0.499
        await resolver.resolve("invoice@1", ACME, serving=True)
        assert len(store.questions) == 2
        ticks.now += 0.001
        await resolver.resolve("invoice@1", ACME, serving=True)
        with pytest.raises(NotFoundError):
            await resolver.resolve("nothing", ACME, serving=True)
        assert len(store.questions) == 4


async def test_what_another_process_changes_is_seen_once_the_half_second_is_over() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(INTEGER)
        await moved(world, 1)
        resolver, _, ticks = a_resolver(world)
        assert (await resolver.resolve("invoice@canary", ACME, serving=True)).revision.number == 1
        await moved(world, 2)  # through services that this resolver knows nothing of
        assert (await resolver.resolve("invoice@canary", ACME, serving=True)).revision.number == 1
        ticks.now += 0.5
        assert (await resolver.resolve("invoice@canary", ACME, serving=True)).revision.number == 2


async def test_no_tenant_is_given_what_another_was_told() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(INTEGER, actor=ZOE)
        resolver, store, _ = a_resolver(world)
        assert (await resolver.resolve("invoice@1", ACME, serving=True)).revision.tenant == ACME
        assert (await resolver.resolve("invoice@1", OTHER, serving=True)).revision.tenant == OTHER
        digest = (await world.register(STRING)).digest
        assert (await resolver.resolve(digest, ACME, serving=True)).revision.tenant == ACME
        with pytest.raises(NotFoundError):
            await resolver.resolve(digest, OTHER, serving=True)
        with pytest.raises(NotFoundError):
            await resolver.resolve("acme/invoice@1", OTHER, serving=True)
        assert len(store.questions) == 5


async def test_many_who_ask_at_a_time_ask_the_store_once_and_one_who_leaves_takes_nobody_along() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        resolver, store, _ = a_resolver(world)
        store.gate.clear()
        first = asyncio.ensure_future(resolver.resolve("invoice@1", ACME, serving=True))
        await store.answered.wait()
        others = [asyncio.ensure_future(resolver.resolve("invoice@1", ACME, serving=True)) for _ in range(5)]
        await asyncio.sleep(0)
        assert len(store.questions) == 1
        others[0].cancel()
        await asyncio.sleep(0)
        store.gate.set()
        results = await asyncio.gather(first, *others, return_exceptions=True)
        assert isinstance(results[1], asyncio.CancelledError)
        assert {type(each).__name__ for each in [results[0], *results[2:]]} == {"ResolvedRevision"}
        assert len(store.questions) == 1


async def test_when_the_one_who_asks_leaves_another_asks() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        resolver, store, _ = a_resolver(world)
        store.gate.clear()
        first = asyncio.ensure_future(resolver.resolve("invoice@1", ACME, serving=True))
        await store.answered.wait()
        second = asyncio.ensure_future(resolver.resolve("invoice@1", ACME, serving=True))
        await asyncio.sleep(0)
        first.cancel()
        store.gate.set()
        assert (await second).revision.number == 1
        assert first.cancelled()
        assert len(store.questions) == 2


async def test_an_answer_to_another_tenant_that_was_on_its_way_when_things_changed_is_not_given_again() -> None:
    async with a_registry() as world:
        await world.register(STRING, visibility=Visibility.SHARED)
        await world.register(INTEGER)
        await moved(world, 1)
        resolver, store, _ = a_resolver(world)
        store.gate.clear()
        early = asyncio.ensure_future(resolver.resolve("acme/invoice@canary", OTHER, serving=True))
        hidden = asyncio.ensure_future(resolver.resolve("acme/nothing", OTHER, serving=True))
        await store.answered.wait()
        await moved(world, 2)
        resolver.forget(ACME)
        late = asyncio.ensure_future(resolver.resolve("acme/invoice@canary", OTHER, serving=True))
        await asyncio.sleep(0)
        store.gate.set()
        assert (await early).revision.number == 1  # asked before, and told what was true then
        assert (await late).revision.number == 2
        assert (await resolver.resolve("acme/invoice@canary", OTHER, serving=True)).revision.number == 2
        with pytest.raises(NotFoundError):
            await hidden
        asked = len(store.questions)
        with pytest.raises(NotFoundError):
            await resolver.resolve("acme/nothing", OTHER, serving=True)
        assert len(store.questions) == asked, "what cannot be seen is remembered whatever its owner does"


async def test_an_answer_that_was_on_its_way_when_things_changed_is_not_kept() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(INTEGER)
        await moved(world, 1)
        resolver, store, _ = a_resolver(world)
        store.gate.clear()
        early = asyncio.ensure_future(resolver.resolve("invoice@canary", ACME, serving=True))
        await store.answered.wait()
        await moved(world, 2)
        resolver.forget(ACME)
        late = asyncio.ensure_future(resolver.resolve("invoice@canary", ACME, serving=True))
        await asyncio.sleep(0)
        store.gate.set()
        await early
        assert (await late).revision.number == 2
        assert (await resolver.resolve("invoice@canary", ACME, serving=True)).revision.number == 2


async def test_a_tenants_changes_leave_what_others_were_told_of_its_private_things_in_place() -> None:
    """Otherwise how fast "not there" is answered would tell when somebody else's contract changes."""
    async with a_registry() as world:
        await world.register(STRING)
        await world.register(STRING, name="shown", visibility=Visibility.SHARED)
        resolver, store, _ = a_resolver(world)
        for text in ("acme/invoice@1", "acme/shown@1"):
            try:
                await resolver.resolve(text, OTHER, serving=True)
            except NotFoundError:
                continue
        resolver.forget(ACME)
        with pytest.raises(NotFoundError):
            await resolver.resolve("acme/invoice@1", OTHER, serving=True)
        assert len(store.questions) == 2
        await resolver.resolve("acme/shown@1", OTHER, serving=True)
        assert len(store.questions) == 3


async def test_what_is_remembered_is_bounded() -> None:
    async with a_registry() as world:
        resolver, store, _ = a_resolver(world)
        for count in range(MAX_REMEMBERED + 10):
            with pytest.raises(NotFoundError):
                await resolver.resolve(f"n{count}", ACME, serving=True)
        assert len(resolver._known) == MAX_REMEMBERED
        assert len(store.questions) == MAX_REMEMBERED + 10


async def test_a_revision_reads_again_as_what_it_was_stored_as() -> None:
    async with a_registry() as world:
        await world.register(closed(amount=INTEGER), name="money")
        revision = await world.register(closed(total={"$ref": "schemagate:money@1", "title": "Total"}))
        contract = await world.catalogue.resolver.canonical(revision, TENANT.contract)
        assert (contract.digest, contract.text) == (revision.digest, revision.canonical_text)
        assert contract.annotation_digest == revision.annotation_digest


@pytest.mark.parametrize(
    "change",
    [
        {"digest": ContractDigest("sha256:" + "0" * 64)},
        {"annotation_digest": ContractDigest("sha256:" + "0" * 64)},
        {"source_text": '{"type":"integer"}'},
        {"source_text": '{"type":"strin"}'},
        {"source_text": '{"type":'},
        {"dialect": "no-such-dialect"},
    ],
)
async def test_a_text_that_reads_otherwise_is_an_error_and_never_served(change: dict[str, str]) -> None:
    async with a_registry() as world:
        revision = await world.register(STRING)
        with pytest.raises(StaleRevisionError):
            await world.catalogue.resolver.canonical(replace(revision, **change), TENANT.contract)  # type: ignore[arg-type]


async def test_reading_again_does_not_ask_who_may_see_a_part_that_was_pinned() -> None:
    async with a_registry() as world:
        await world.register(closed(amount=INTEGER), name="money", visibility=Visibility.SHARED)
        revision = await world.register(closed(total={"$ref": "schemagate:acme/money@1"}), actor=ZOE)
        money = await world.catalogue.contracts.revision(ACME, ContractName("money"), RevisionNumber(1))
        assert money is not None
        assert revision.dependencies[0].revision_id == money.revision.revision_id
        await world.catalogue.lifecycle.set_state(ANN, "money", RevisionNumber(1), RevisionState.SUNSET, reason="")
        assert (await world.catalogue.resolver.canonical(revision, TENANT.contract)).digest == revision.digest
