"""Whatever two tenants' people do in whatever order, some things hold afterwards."""

import asyncio
import random
from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from policy.roles import Role
from registry.audit import AuditAction, AuditEvent
from registry.errors import NotFoundError, RegistryError, SignatureRequiredError, TombstonedError
from registry.identifiers import ContractName, PrincipalId, PromotionId, RevisionId, RevisionNumber, TenantId
from registry.promotion import Proposed
from registry.revision import Actor, Revision, RevisionState, SignatureStatus
from registry.store.bounds import MAX_PAGE
from registry.store.records import ContractQuery, StoredRevision
from tests.registry.world import ACME, OTHER, World, a_registry, an_actor, closed

T = TypeVar("T")
Seen = Mapping[tuple[TenantId, str], list[StoredRevision]]

NAMES = ("invoice", "ledger")
ALIASES = ("prod", "canary")
SCHEMAS: tuple[dict[str, Any], ...] = (
    {"type": "integer"},
    {"type": ["integer", "null"]},
    {"type": "string"},
    closed(total={"type": "integer"}),
    closed(total={"$ref": "schemagate:invoice@1"}),
    closed(total={"$ref": "schemagate:acme/ledger@1"}),
)
PEOPLE = {
    tenant: (
        an_actor(f"{tenant}-ann", Role.AUTHOR, tenant=tenant),
        an_actor(f"{tenant}-bea", Role.AUTHOR, Role.APPROVER, tenant=tenant),
        an_actor(f"{tenant}-olga", Role.OPERATOR, Role.APPROVER, tenant=tenant),
        an_actor(f"{tenant}-carl", Role.CALLER, tenant=tenant),
    )
    for tenant in (ACME, OTHER)
}
ORDER = list(RevisionState)

# Mostly people who may do most things, or little would happen.
people = st.sampled_from([actors[place] for actors in PEOPLE.values() for place in (0, 0, 1, 1, 2, 3)])
names = st.sampled_from(NAMES)
aliases = st.sampled_from(ALIASES)
numbers = st.integers(1, 3).map(RevisionNumber)


class TwoTenants(RuleBasedStateMachine):
    """`acme` has the default policy; `other` asks for a signature and a second person at `prod`."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.world: World = self.runner.run(self.stack.enter_async_context(a_registry()))
        self.revisions: dict[RevisionId, Revision] = {}
        self.ranks: dict[RevisionId, int] = {}
        self.promotions: list[PromotionId] = []
        self.keys = {tenant: self.run(self.world.trust(actor=PEOPLE[tenant][2])) for tenant in PEOPLE}
        self.run(self.world.set_policy(actor=PEOPLE[OTHER][2], require_signature=True, two_person_promotion=True))

    @initialize(schemas=st.permutations(SCHEMAS[:4]))
    def begin(self, schemas: list[Any]) -> None:
        """Two signed revisions of a name in each tenant, the first of them behind `prod` or on its way there."""
        for tenant, (ann, bea, _, _) in PEOPLE.items():
            for schema in schemas[:2]:
                self.register(ann, "invoice", schema, RevisionState.ACTIVE, revive=False)
            for number in (RevisionNumber(1), RevisionNumber(2)):
                self.sign(ann, "invoice", number)
            self.promote(ann, "invoice", "prod", RevisionNumber(1))
            if tenant == OTHER:
                self.decide(bea, 0, "approve")
                self.promote(ann, "invoice", "prod", RevisionNumber(2))

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.runner.close()

    def run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self.runner.run(awaited())

    def attempt(self, work: Awaitable[T]) -> T | None:
        """Do it, or be refused by name; nothing else may come of it."""
        try:
            return self.run(work)
        except RegistryError:
            return None

    @rule(
        actor=people,
        name=names,
        schema=st.sampled_from(SCHEMAS),
        state=st.sampled_from([RevisionState.DRAFT, RevisionState.ACTIVE]),
        revive=st.booleans(),
    )
    def register(self, actor: Actor, name: str, schema: Any, state: RevisionState, *, revive: bool) -> None:
        work = self.world.register(schema, actor=actor, name=name, state=state, options={"revive": revive})
        revision = self.attempt(work)
        if revision is not None:
            assert revision.tenant == actor.tenant
            assert self.revisions.setdefault(revision.revision_id, revision) == revision

    @rule(actor=people, name=names, alias=aliases, number=numbers)
    def promote(self, actor: Actor, name: str, alias: str, number: RevisionNumber) -> None:
        result = self.attempt(self.world.catalogue.promoter.promote(actor, name, alias, number))
        if isinstance(result, Proposed):
            self.promotions.append(result.promotion.promotion_id)

    @rule(actor=people, place=st.integers(0, 3), how=st.sampled_from(["approve", "approve", "reject", "withdraw"]))
    def decide(self, actor: Actor, place: int, how: str) -> None:
        if self.promotions:
            promotion = self.promotions[-1 - place % len(self.promotions)]
            promoter = self.world.catalogue.promoter
            match how:
                case "approve":
                    self.attempt(promoter.approve(actor, promotion))
                case "reject":
                    self.attempt(promoter.reject(actor, promotion))
                case _:
                    self.attempt(promoter.withdraw(actor, promotion))

    @rule(actor=people, name=names, alias=aliases)
    def roll_back(self, actor: Actor, name: str, alias: str) -> None:
        self.attempt(self.world.catalogue.promoter.rollback(actor, name, alias))

    @rule(actor=people, name=names, alias=aliases)
    def drop(self, actor: Actor, name: str, alias: str) -> None:
        self.attempt(self.world.catalogue.promoter.drop(actor, name, alias))

    @rule(actor=people, name=names, number=numbers, state=st.sampled_from(ORDER))
    def set_state(self, actor: Actor, name: str, number: RevisionNumber, state: RevisionState) -> None:
        self.attempt(self.world.catalogue.lifecycle.set_state(actor, name, number, state, reason=""))

    @rule(actor=people, name=names, number=numbers)
    def retire_revision(self, actor: Actor, name: str, number: RevisionNumber) -> None:
        self.attempt(self.world.catalogue.lifecycle.tombstone_revision(actor, name, number, reason=""))

    @rule(actor=people, name=names)
    def retire(self, actor: Actor, name: str) -> None:
        self.attempt(self.world.catalogue.lifecycle.tombstone_contract(actor, name, reason=""))

    @rule(actor=people, name=names, number=numbers)
    def sign(self, actor: Actor, name: str, number: RevisionNumber) -> None:
        self.attempt(self.world.sign(number, self.keys[actor.tenant], actor=actor, name=name))

    @rule(tenant=st.sampled_from([ACME, OTHER]), really=st.integers(0, 3))
    def replace_key(self, tenant: TenantId, really: int) -> None:
        if really != 3:  # a new key ends every signature, and with them most of what could be tried
            return
        operator = PEOPLE[tenant][2]
        self.run(self.world.catalogue.signing.revoke_key(operator, self.keys[tenant], reason="rotated"))
        self.keys[tenant] = self.run(self.world.trust(actor=operator))

    @invariant()
    def everything_holds(self) -> None:
        seen = {(tenant, name): self.of(tenant, name) for tenant in PEOPLE for name in NAMES}
        self.numbers_are_dense_bytes_stay_and_states_never_go_back(seen)
        self.aliases_point_to_what_is_served(seen)
        self.nothing_is_retired_before_what_is_made_of_it(seen)
        self.chains_are_intact_and_say_who_moved_prod()
        self.prod_is_served_only_under_a_live_signature_where_policy_asks_for_one()
        self.nobody_sees_the_other_tenants_contracts()

    def numbers_are_dense_bytes_stay_and_states_never_go_back(self, seen: Seen) -> None:
        for found in seen.values():
            assert [stored.revision.number for stored in found] == list(range(1, len(found) + 1))
            for stored in found:
                assert stored.revision == self.revisions[stored.revision.revision_id]
                rank = ORDER.index(stored.status.state)
                assert rank >= self.ranks.get(stored.revision.revision_id, 0)
                self.ranks[stored.revision.revision_id] = rank
        assert sum(map(len, seen.values())) == len(self.revisions)

    def aliases_point_to_what_is_served(self, seen: Seen) -> None:
        for (tenant, name), found in seen.items():
            by_number = {stored.revision.number: stored.status for stored in found}
            for alias in self.run(self.world.catalogue.contracts.aliases(tenant, ContractName(name))):
                status = by_number[alias.number]
                assert status.tombstoned_at is None
                assert status.state in {RevisionState.ACTIVE, RevisionState.DEPRECATED}

    def nothing_is_retired_before_what_is_made_of_it(self, seen: Seen) -> None:
        found = {stored.revision.revision_id: stored for page in seen.values() for stored in page}
        for stored in found.values():
            if stored.status.tombstoned_at is None:
                for dependency in stored.revision.dependencies:
                    needed = found[dependency.revision_id]
                    assert needed.status.tombstoned_at is None
                    assert needed.revision.tenant == stored.revision.tenant

    def chains_are_intact_and_say_who_moved_prod(self) -> None:
        for tenant in PEOPLE:
            events = self.run(self.world.events(tenant))
            assert all(event.tenant == tenant for event in events)
            if tenant == OTHER:
                mine = [revision for revision in self.revisions.values() if revision.tenant == OTHER]
                _check_second_person(events, {(each.name, each.number): each.author for each in mine})

    def prod_is_served_only_under_a_live_signature_where_policy_asks_for_one(self) -> None:
        for name in NAMES:
            try:
                resolved = self.run(self.world.catalogue.resolver.resolve(name, OTHER, serving=True))
            except (NotFoundError, SignatureRequiredError, TombstonedError):
                continue
            assert resolved.signature is SignatureStatus.SIGNED
            assert resolved.signed_by == self.keys[OTHER]

    def nobody_sees_the_other_tenants_contracts(self) -> None:
        for viewer, owner in ((ACME, OTHER), (OTHER, ACME)):
            page = self.run(self.world.catalogue.contracts.contracts(viewer, ContractQuery(include_tombstoned=True)))
            assert {contract.tenant for contract in page.items} <= {viewer}
            for text in (f"{owner}/invoice", f"{owner}/invoice@1", f"{owner}/nothing@1"):
                with pytest.raises(NotFoundError):
                    self.run(self.world.catalogue.resolver.resolve(text, viewer, serving=False))

    def of(self, tenant: TenantId, name: str) -> list[StoredRevision]:
        page = self.run(
            self.world.catalogue.contracts.revisions(
                tenant, ContractName(name), limit=MAX_PAGE, newest_first=False, include_tombstoned=True
            )
        )
        assert page.next_cursor is None
        return list(page.items)


def _check_second_person(events: list[AuditEvent], authors: dict[tuple[str, int], PrincipalId]) -> None:
    proposers = {e.subject["promotion"]: e.actor for e in events if e.action is AuditAction.PROMOTION_PROPOSED}
    for event in events:
        if event.action is AuditAction.ALIAS_MOVED and event.subject["alias"] == "prod":
            number = event.details["number"]
            assert isinstance(number, int)
            assert event.actor not in {
                proposers[event.details["promotion"]],
                authors[str(event.subject["name"]), number],
            }


TwoTenants.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestTwoTenants = TwoTenants.TestCase


@pytest.mark.parametrize("seed", range(5))
def test_long_random_walks_keep_the_same_invariants(seed: int) -> None:
    """Hypothesis finds short ways into trouble; these go far, with every kind of step equally often."""
    rng = random.Random(seed)
    machine = TwoTenants()
    everybody = [actors[place] for actors in PEOPLE.values() for place in (0, 0, 1, 1, 2, 3)]
    try:
        machine.begin(list(rng.sample(SCHEMAS[:4], 4)))
        for _ in range(50):
            actor, name, alias = rng.choice(everybody), rng.choice(NAMES), rng.choice(ALIASES)
            number = RevisionNumber(rng.randint(1, 4))
            match rng.randrange(12):
                case 0 | 1:
                    state = rng.choice([RevisionState.DRAFT, RevisionState.ACTIVE])
                    machine.register(actor, name, rng.choice(SCHEMAS), state, revive=rng.random() < 0.3)
                case 2 | 3:
                    machine.promote(actor, name, alias, number)
                case 4 | 5:
                    machine.decide(actor, rng.randrange(4), rng.choice(["approve", "approve", "reject", "withdraw"]))
                case 6:
                    machine.roll_back(actor, name, alias)
                case 7:
                    machine.drop(actor, name, alias)
                case 8:
                    machine.set_state(actor, name, number, rng.choice(ORDER))
                case 9:
                    machine.retire_revision(actor, name, number)
                case 10:
                    machine.sign(actor, name, number)
                case _:
                    machine.retire(actor, rng.choice(["ledger", name]))
            machine.everything_holds()
        machine.replace_key(OTHER, 3)
        machine.everything_holds()
    finally:
        machine.teardown()
