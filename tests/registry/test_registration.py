"""Registering revisions: what is the same, what is let in, whose it is."""

import asyncio
from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy
from policy.roles import Role
from registry.audit import AuditAction
from registry.compatibility.modes import CompatibilityMode, Compatible, Incompatible
from registry.compatibility.verdicts import Safe, Unsafe
from registry.contract import ContractKind
from registry.errors import (
    ContractRejectedError,
    ForbiddenError,
    IncompatibleError,
    InvalidNameError,
    StateError,
    TombstonedError,
    UndecidedError,
)
from registry.identifiers import ContractName, RevisionNumber
from registry.registration import RegistrationOutcome
from registry.revision import ContractClass, RevisionState, Visibility
from registry.store.records import Sameness
from tests.registry.world import ACME, ANN, CARL, INTEGER, OLGA, STRING, a_registry, an_actor, asked, closed

pytestmark = pytest.mark.usefixtures("each_database")


async def test_the_first_revision_makes_its_contract() -> None:
    async with a_registry() as world:
        outcome = await world.outcome(closed(total=INTEGER), message="first", description="an invoice")
        assert outcome.stored is not None
        assert outcome.stored.is_new
        assert outcome.stored.revision.number == 1
        assert outcome.stored.revision.digest == outcome.contract.digest
        assert outcome.stored.revision.author == "ann"
        assert outcome.stored.status.state is RevisionState.ACTIVE
        assert outcome.stored.contract.description == "an invoice"
        assert outcome.level is None
        assert not outcome.is_enforced
        assert [event.action for event in await world.events()] == [
            AuditAction.CONTRACT_REGISTERED,
            AuditAction.REVISION_REGISTERED,
        ]


async def test_the_source_is_kept_with_its_member_order_and_exact_numbers() -> None:
    async with a_registry() as world:
        revision = await world.register({"required": [], "type": "object", "minProperties": 1.0})
        assert revision.source_text == '{"required":[],"type":"object","minProperties":1}'
        assert revision.canonical_text == '{"minProperties":1,"required":[],"type":"object"}'
        assert revision.profile["max_nesting"] == 2
        assert revision.profile["is_recursive"] is False


async def test_the_same_content_is_the_same_revision_however_it_is_spelled() -> None:
    async with a_registry() as world:
        first = await world.register({"type": ["string", "null"]})
        again = await world.outcome({"type": ["null", "string"]})
        assert again.stored is not None
        assert not again.stored.is_new
        assert again.stored.revision == first
        assert (await world.register({"type": ["string", "null"], "title": "T"})).number == 2
        lenient = EnforcementPolicy(allow_checked_after=True)
        assert (await world.register({"type": ["string", "null"]}, policy=lenient)).number == 3
        assert len([e for e in await world.events() if e.action is AuditAction.REVISION_REGISTERED]) == 3


async def test_to_confluent_the_same_is_the_same_source() -> None:
    async with a_registry() as world:
        options = {"same": Sameness.SOURCE}
        first = await world.outcome({"type": ["string", "null"]}, options=options)
        respelled = await world.outcome({"type": ["null", "string"]}, options=options)
        again = await world.outcome({"type": ["string", "null"]}, options=options)
        assert [each.stored.revision.number for each in (first, respelled, again) if each.stored] == [1, 2, 1]
        assert first.stored is not None
        assert respelled.stored is not None
        assert first.stored.revision.digest == respelled.stored.revision.digest
        assert first.stored.revision.schema_id != respelled.stored.revision.schema_id


async def test_one_source_under_two_names_has_one_schema_id() -> None:
    async with a_registry() as world:
        assert (await world.register(STRING, name="a")).schema_id == (await world.register(STRING, name="b")).schema_id
        assert (await world.register(INTEGER, name="b")).schema_id != (await world.register(STRING, name="a")).schema_id


async def test_a_dry_run_finds_all_and_stores_nothing() -> None:
    async with a_registry() as world:
        outcome = await world.outcome(closed(total=INTEGER), options={"dry_run": True})
        assert outcome.stored is None
        assert outcome.contract.digest.startswith("sha256:")
        assert await world.catalogue.contracts.contract(ACME, ContractName("invoice")) is None
        assert await world.events() == []
        with pytest.raises(ContractRejectedError):
            await world.outcome({"type": "strin"}, options={"dry_run": True})


async def test_without_a_level_the_latest_is_compared_and_nothing_refused() -> None:
    async with a_registry() as world:
        await world.register(closed(total=INTEGER))
        outcome = await world.outcome(closed(total=STRING))
        assert outcome.stored is not None
        assert [measured.number for measured in outcome.against] == [1]
        assert isinstance(outcome.against[0].comparison.producer_safe, Unsafe)
        assert outcome.verdict == Compatible()


@pytest.mark.parametrize("place", ["contract", "policy", "default"])
async def test_a_level_refuses_with_a_witness_wherever_it_is_set(place: str) -> None:
    async with a_registry() as world:
        options: dict[str, Any] = {}
        if place == "policy":
            await world.set_policy(compatibility="BACKWARD")
        if place == "default":
            options = {"default_level": CompatibilityMode.BACKWARD}
        level = CompatibilityMode.BACKWARD if place == "contract" else None
        await world.outcome(closed(total=INTEGER), compatibility=level, options=options)
        with pytest.raises(IncompatibleError) as caught:
            await world.outcome(closed(total=STRING), options=options)
        assert (caught.value.level, caught.value.against, caught.value.question) == ("BACKWARD", 1, "producer_safe")
        assert caught.value.witness_text.startswith('{"total":')
        kept = await world.catalogue.contracts.contract(ACME, ContractName("invoice"))
        assert kept is not None
        assert kept.latest == 1
        wider = {"type": "object", "properties": {"total": INTEGER}}
        outcome = await world.outcome(wider, options=options)
        assert outcome.is_enforced
        assert isinstance(outcome.against[0].comparison.producer_safe, Safe)


async def test_the_contracts_own_level_comes_before_its_tenants() -> None:
    async with a_registry() as world:
        await world.set_policy(compatibility="FULL_TRANSITIVE")
        await world.register(closed(total=INTEGER), compatibility=CompatibilityMode.NONE)
        assert (await world.register(closed(total=STRING))).number == 2


async def test_what_cannot_be_decided_is_not_let_in() -> None:
    async with a_registry() as world:
        lark: dict[str, Any] = {"kind": ContractKind.LARK, "compatibility": CompatibilityMode.BACKWARD}
        await world.register('start: "a"', name="g", **lark)
        with pytest.raises(UndecidedError):
            await world.register('start: "b"', name="g", kind=ContractKind.LARK)
        assert (await world.register('start: "a"', name="g", kind=ContractKind.LARK)).number == 1


async def test_a_transitive_level_looks_at_every_content_in_use_once() -> None:
    async with a_registry() as world:
        await world.register({"type": ["string", "null"]})
        await world.register({"type": "string"})
        await world.register({"type": "string", "title": "a further annotation"})
        world.comparer.num_comparisons = 0
        await world.set_policy(compatibility="FORWARD_TRANSITIVE")
        outcome = await world.outcome({"type": "string", "maxLength": 5})
        assert [measured.number for measured in outcome.against] == [3, 1]
        assert world.comparer.num_comparisons == 2
        with pytest.raises(IncompatibleError) as caught:
            await world.register({"type": ["string", "integer"]})
        assert caught.value.against == 4


async def test_drafts_and_retired_revisions_are_compared_with_nothing() -> None:
    async with a_registry() as world:
        await world.register(closed(total=INTEGER), compatibility=CompatibilityMode.BACKWARD)
        draft = {"type": "object", "properties": {"total": INTEGER}}
        await world.register(draft, state=RevisionState.DRAFT)
        outcome = await world.outcome({"type": "object", "properties": {"total": {"type": "number"}}})
        assert [measured.number for measured in outcome.against] == [1]


async def test_a_draft_meets_the_level_again_when_it_becomes_active() -> None:
    async with a_registry() as world:
        await world.register({"type": "integer"}, compatibility=CompatibilityMode.BACKWARD)
        draft = await world.register({"type": ["integer", "null"]}, state=RevisionState.DRAFT)
        await world.register({"type": ["integer", "string"]})
        with pytest.raises(IncompatibleError) as caught:
            await world.catalogue.lifecycle.set_state(ANN, "invoice", draft.number, RevisionState.ACTIVE, reason="")
        assert caught.value.against == 3


async def test_what_the_contract_has_already_is_not_asked_about_levels() -> None:
    async with a_registry() as world:
        first = await world.register({"type": "integer"})
        await world.register({"type": "string"})
        await world.set_policy(compatibility="FULL_TRANSITIVE")
        outcome = await world.outcome({"type": "integer"})
        assert outcome.stored is not None
        assert outcome.stored.revision == first
        assert not outcome.is_enforced


async def test_a_check_answers_where_registering_would_refuse() -> None:
    async with a_registry() as world:
        await world.register({"type": "integer"})
        outcome = await world.catalogue.comparisons.check(
            CARL, asked({"type": "string"}), level=CompatibilityMode.BACKWARD
        )
        assert isinstance(outcome.verdict, Incompatible)
        assert outcome.stored is None
        with pytest.raises(ContractRejectedError):
            await world.catalogue.comparisons.check(CARL, asked({"type": "strin"}))


async def test_concurrent_registrations_get_numbers_without_gaps_and_each_is_measured() -> None:
    async with a_registry() as world:
        await world.register({"enum": ["x"]}, compatibility=CompatibilityMode.BACKWARD)
        schemas = [{"enum": ["x", *(f"v{n}" for n in range(count))]} for count in range(1, 6)]
        results = await asyncio.gather(*(world.outcome(schema) for schema in schemas), return_exceptions=True)
        stored = [r.stored for r in results if isinstance(r, RegistrationOutcome) and r.stored is not None]
        numbers = sorted(each.revision.number for each in stored)
        assert numbers == list(range(2, 2 + len(numbers)))
        assert numbers
        # Whichever order they came in, no revision narrows the one before it.
        by_number = sorted(stored, key=lambda each: each.revision.number)
        sizes = [len(each.revision.canonical_text) for each in by_number]
        assert sizes == sorted(sizes)
        await world.events()


async def test_the_kind_and_the_terms_of_a_contract_are_not_changed_in_passing() -> None:
    async with a_registry() as world:
        await world.register(STRING, visibility=Visibility.SHARED)
        with pytest.raises(StateError) as kind:
            await world.register("[a-z]", kind=ContractKind.REGEX)
        assert kind.value.code == "contract_kind"
        for said in (
            {"visibility": Visibility.PRIVATE},
            {"contract_class": ContractClass.GOVERNED},
            {"compatibility": CompatibilityMode.FULL},
            {"description": "another"},
            {"team": "finance"},
        ):
            with pytest.raises(StateError) as terms:
                await world.register(INTEGER, **said)
            assert terms.value.code == "other_terms"
        assert (await world.register(INTEGER, visibility=Visibility.SHARED)).number == 2


async def test_governed_contracts_take_the_tenants_leave_and_have_larger_limits() -> None:
    long = {"enum": [f"member number {count}" for count in range(2_000)]}
    async with a_registry() as world:
        with pytest.raises(StateError) as refused:
            await world.register(long, contract_class=ContractClass.GOVERNED)
        assert refused.value.code == "governed_not_allowed"
        await world.set_policy(allow_governed=True)
        with pytest.raises(ContractRejectedError) as limited:
            await world.register(long, name="made-by-tenant")
        assert limited.value.rejections[0].limit_name == "max_enum_scalars"
        revision = await world.register(long, contract_class=ContractClass.GOVERNED)
        # The class is the contract's: a further revision need not say it.
        assert (await world.register({"enum": [*long["enum"], "one more"]})).number == 2
        assert revision.number == 1


async def test_what_the_installation_does_not_grant_a_tenant_cannot_grant_itself() -> None:
    async with a_registry(governed="another") as world:
        await world.set_policy(allow_governed=True)
        with pytest.raises(StateError, match="installation") as refused:
            await world.register(STRING, contract_class=ContractClass.GOVERNED)
        assert refused.value.code == "governed_not_allowed"
        await world.register(STRING)


async def test_names_are_for_ones_own_team() -> None:
    finance = an_actor("fay", Role.AUTHOR, team="finance")
    sales = an_actor("sam", Role.AUTHOR, team="sales")
    async with a_registry() as world:
        first = await world.outcome(STRING, actor=finance)
        assert first.stored is not None
        assert first.stored.contract.team == "finance"
        for stranger in (sales, ANN):
            with pytest.raises(ForbiddenError) as refused:
                await world.register(INTEGER, actor=stranger)
            assert refused.value.reason is not None
        assert (await world.register(INTEGER, actor=OLGA)).number == 2
        with pytest.raises(ForbiddenError):
            await world.register(STRING, actor=sales, name="ledger", team="finance")
        with pytest.raises(InvalidNameError):
            await world.register(STRING, actor=OLGA, name="ledger", team="no such/team")


async def test_registering_takes_the_role_of_an_author() -> None:
    async with a_registry() as world:
        with pytest.raises(ForbiddenError) as refused:
            await world.register(STRING, actor=CARL)
        assert refused.value.reason is None
        assert await world.events() == []


@pytest.mark.parametrize("name", ["", "a/b", "a@1", "explain", "-a", "a" * 129, "ä", "a\n"])
async def test_names_outside_the_grammar_are_refused(name: str) -> None:
    async with a_registry() as world:
        with pytest.raises(InvalidNameError):
            await world.register(STRING, name=name)


async def test_a_retired_name_is_not_given_out_again_unless_it_is_revived() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.catalogue.lifecycle.tombstone_contract(ANN, "invoice", reason="gone")
        with pytest.raises(TombstonedError):
            await world.register(STRING)
        revived = await world.outcome(STRING, options={"revive": True})
        assert revived.stored is not None
        assert revived.stored.revision.number == 2
        assert AuditAction.CONTRACT_REVIVED in [event.action for event in await world.events()]


async def test_a_retired_revisions_content_gets_a_new_number() -> None:
    async with a_registry() as world:
        await world.register(STRING)
        await world.catalogue.lifecycle.tombstone_revision(ANN, "invoice", RevisionNumber(1), reason="")
        assert (await world.register(STRING)).number == 2


async def test_notes_that_no_database_or_terminal_should_get_are_refused_before_anything_is_read() -> None:
    async with a_registry() as world:
        for note in ("x" * 1_001, "a\x00b"):
            with pytest.raises(InvalidNameError):
                await world.register({"type": "strin"}, message=note)
