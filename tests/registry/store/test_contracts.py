"""Registering: numbers, sameness, preconditions, dependencies, and what is refused."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy
from registry.audit import AuditAction
from registry.compatibility.modes import CompatibilityMode
from registry.contract import AnnotationDigest, ContractKind
from registry.errors import (
    InvalidNameError,
    NotFoundError,
    PreconditionFailedError,
    RegistryError,
    StateError,
    TombstonedError,
)
from registry.identifiers import ContractName, PrincipalId, RevisionId, TeamName
from registry.revision import ContractClass, Dependency, RevisionState, Visibility
from registry.store import registering
from registry.store.bounds import MAX_DEPENDENCIES, MAX_NOTE_CHARACTERS, MAX_SOURCE_BYTES
from registry.store.records import ContractChanges, Registered, Sameness, StoredRevision
from tests.registry.store.world import ACME, ADA, EVE, INVOICE, NOON, OTHER, digest, later, new, number, opened


async def test_a_first_revision_makes_its_contract(database_url: str) -> None:
    first = new(
        1,
        team=TeamName("billing"),
        visibility=Visibility.SHARED,
        contract_class=ContractClass.GOVERNED,
        compatibility=CompatibilityMode.FULL,
        description="what we bill",
    )
    async with opened(database_url) as world:
        made = await world.contracts.register(ADA, first, same=Sameness.CONTENT, expected_latest=None, at=NOON)
        contract = await world.contracts.contract(ACME, INVOICE)
        assert contract == made.contract
        assert contract is not None
        assert (contract.team, contract.visibility, contract.contract_class) == ("billing", "shared", "governed")
        assert (contract.compatibility, contract.description) == (CompatibilityMode.FULL, "what we bill")
        assert (contract.created_at, contract.created_by, contract.version, contract.latest) == (NOON, "ada", 1, 1)
        assert await world.actions() == ["contract.registered", "revision.registered"]


async def test_a_revision_is_read_as_it_was_registered(database_url: str) -> None:
    revision = new(
        7,
        source_text='{"const": "\\u0000 \u00e9 \U0001f600"}',
        canonical_text="a\x00b\u2028",
        dialect="http://json-schema.org/draft-07/schema#",
        transformations=("definitions → $defs", "nul \x00"),
        profile={"depth": 3, "ratio": 0.1, "is_recursive": True},
        policy=EnforcementPolicy(allow_checked_after=True),
        message="why \U0001f600",
        state=RevisionState.DRAFT,
    )
    async with opened(database_url) as world:
        made = await world.contracts.register(ADA, revision, same=Sameness.CONTENT, expected_latest=None, at=NOON)
        stored = StoredRevision(revision=made.revision, status=made.status)
        assert await world.contracts.revision(ACME, INVOICE, number(1)) == stored
        assert await world.contracts.revision_by_id(made.revision.revision_id) == stored
    assert made.is_new
    assert made.revision.source_text == revision.source_text
    assert made.revision.canonical_text == revision.canonical_text
    assert made.revision.transformations == tuple(revision.transformations)
    assert dict(made.revision.profile) == revision.profile
    assert made.revision.policy == revision.policy
    assert (made.revision.author, made.revision.created_at) == ("ada", NOON)
    assert (made.status.state, made.status.tombstoned_at) == (RevisionState.DRAFT, None)


async def test_numbers_count_up_within_a_contract(database_url: str) -> None:
    async with opened(database_url) as world:
        numbers = [(await world.register(content)).revision.number for content in (1, 2, 3)]
        other = await world.register(4, name=ContractName("receipt"))
        assert numbers == [1, 2, 3]
        assert other.revision.number == 1
        contract = await world.contracts.contract(ACME, INVOICE)
        assert contract is not None
        assert contract.latest == 3


async def test_the_same_content_again_is_the_revision_that_is_there(database_url: str) -> None:
    async with opened(database_url) as world:
        first = await world.register(1)
        await world.register(2)
        again = await world.contracts.register(
            ADA, new(1, message="once more"), same=Sameness.CONTENT, expected_latest=None, at=later(9)
        )
        assert not again.is_new
        assert again.revision == first.revision
        assert (await world.actions()).count("revision.registered") == 2


async def test_other_annotations_or_another_policy_make_another_revision(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        annotated = await world.register(1, annotation_digest=AnnotationDigest(f"sha256:{1:064x}"))
        lenient = await world.register(1, policy=EnforcementPolicy(allow_checked_after=True))
        assert (annotated.revision.number, lenient.revision.number) == (2, 3)
        assert annotated.is_new
        assert lenient.is_new


async def test_by_source_the_same_text_is_the_same_whatever_its_policy(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        policy = EnforcementPolicy(allow_checked_after=True)
        same = await world.register(1, policy=policy, same=Sameness.SOURCE)
        respelt = await world.register(1, source_digest=f"{2:064x}", same=Sameness.SOURCE)
        reread = await world.register(2, source_digest=f"{1:064x}", same=Sameness.SOURCE)
        assert (same.is_new, same.revision.number) == (False, 1)
        assert (respelt.is_new, respelt.revision.number) == (True, 2)
        # The same text read in another dialect has another digest, and is never taken for the first.
        assert (reread.is_new, reread.revision.number) == (True, 3)


async def test_a_schema_id_belongs_to_kind_and_source_text_within_a_tenant(database_url: str) -> None:
    receipt = ContractName("receipt")
    async with opened(database_url) as world:
        one = await world.register(1)
        two = await world.register(2)
        same = await world.register(1, name=receipt)
        regex = await world.register(1, name=ContractName("code"), kind=ContractKind.REGEX)
        others = await world.register(2, actor=EVE)
        ids = [made.revision.schema_id for made in (one, two, same, regex, others)]
        assert ids == [1, 2, 1, 3, 1]
        found = await world.contracts.revisions_with_schema_id(ACME, one.revision.schema_id)
        assert [(each.revision.name, each.revision.number) for each in found] == [("invoice", 1), ("receipt", 1)]
        by_source = await world.contracts.revision_with_source(ACME, INVOICE, f"{2:064x}")
        assert by_source is not None
        assert by_source.revision.number == 2
        assert await world.contracts.revision_with_source(OTHER, INVOICE, f"{1:064x}") is None


@pytest.mark.parametrize("expected", [None, 1, 3])
async def test_another_latest_number_than_expected_is_refused(database_url: str, expected: int | None) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.register(2)
        with pytest.raises(PreconditionFailedError) as caught:
            await world.contracts.register(
                ADA,
                new(3),
                same=Sameness.CONTENT,
                expected_latest=None if expected is None else number(expected),
                at=NOON,
            )
        assert (caught.value.expected, caught.value.observed) == (expected, 2)
        assert (await world.actions()).count("revision.registered") == 2


async def test_a_name_that_is_expected_and_not_there_is_refused(database_url: str) -> None:
    async with opened(database_url) as world:
        with pytest.raises(PreconditionFailedError) as caught:
            await world.contracts.register(ADA, new(1), same=Sameness.CONTENT, expected_latest=number(1), at=NOON)
        assert caught.value.observed is None
        assert await world.audit.head(ACME) is None


async def test_a_name_keeps_its_kind(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        with pytest.raises(StateError) as caught:
            await world.register(2, kind=ContractKind.REGEX)
        assert caught.value.code == "contract_kind"


async def test_a_full_contract_takes_no_more(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registering, "MAX_REVISIONS", 2)
    async with opened(database_url) as world:
        await world.register(1)
        await world.register(2)
        assert not (await world.register(1)).is_new
        with pytest.raises(StateError) as caught:
            await world.register(3)
        assert caught.value.code == "too_many_revisions"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"message": "x" * (MAX_NOTE_CHARACTERS + 1)}, InvalidNameError),
        ({"message": "a\x00b"}, InvalidNameError),
        ({"description": "half \ud800"}, InvalidNameError),
        ({"source_text": "x" * (MAX_SOURCE_BYTES + 1)}, StateError),
        ({"canonical_text": "é" * (MAX_SOURCE_BYTES // 2 + 1)}, StateError),
        ({"canonical_text": "half \udfff"}, InvalidNameError),
        ({"state": RevisionState.DEPRECATED}, StateError),
        ({"state": RevisionState.SUNSET}, StateError),
    ],
)
async def test_what_cannot_be_kept_is_refused_before_anything_is_written(
    database_url: str, changes: dict[str, Any], error: type[RegistryError]
) -> None:
    async with opened(database_url) as world:
        with pytest.raises(error):
            await world.register(1, **changes)
        assert await world.contracts.contract(ACME, INVOICE) is None


def _on(made: Registered, uri: str = "schemagate:invoice@1") -> Dependency:
    return Dependency(uri=uri, digest=made.revision.digest, revision_id=made.revision.revision_id)


async def test_a_revision_keeps_what_it_refers_to(database_url: str) -> None:
    order = ContractName("order")
    async with opened(database_url) as world:
        invoice = await world.register(1)
        made = await world.register(2, name=order, dependencies=(_on(invoice), _on(invoice, "schemagate:invoice@1#x")))
        stored = await world.contracts.revision(ACME, order, number(1))
        assert stored is not None
        assert stored.revision.dependencies == made.revision.dependencies
        assert [entry.uri for entry in stored.revision.dependencies] == [
            "schemagate:invoice@1",
            "schemagate:invoice@1#x",
        ]
        assert await world.contracts.dependents(invoice.revision.revision_id) == (stored,)


async def test_another_tenants_revision_may_be_referred_to_only_while_it_is_shared(database_url: str) -> None:
    async with opened(database_url) as world:
        private = await world.register(1)
        with pytest.raises(NotFoundError) as caught:
            await world.register(2, actor=EVE, dependencies=(_on(private),))
        nowhere = Dependency(uri="schemagate:x@1", digest=digest(9), revision_id=RevisionId("rev_none"))
        with pytest.raises(NotFoundError):
            await world.register(2, actor=EVE, dependencies=(nowhere,))
        assert str(caught.value) == "there is no revision 'schemagate:invoice@1'"
        await world.contracts.change_contract(
            ADA, INVOICE, ContractChanges(visibility=Visibility.SHARED), expected_version=1, at=NOON
        )
        made = await world.register(2, actor=EVE, dependencies=(_on(private),))
        assert made.is_new
        with pytest.raises(StateError) as kept:
            await world.contracts.change_contract(
                ADA, INVOICE, ContractChanges(visibility=Visibility.PRIVATE), expected_version=2, at=NOON
            )
        assert kept.value.code == "still_referenced"


async def test_a_retired_dependency_or_one_of_another_digest_is_refused(database_url: str) -> None:
    order = ContractName("order")
    async with opened(database_url) as world:
        invoice = await world.register(1)
        with pytest.raises(NotFoundError):
            await world.register(2, name=order, dependencies=(replace(_on(invoice), digest=digest(5)),))
        await world.contracts.tombstone_revision(ADA, INVOICE, number(1), reason="", at=NOON)
        with pytest.raises(NotFoundError):
            await world.register(2, name=order, dependencies=(_on(invoice),))
        assert await world.contracts.contract(ACME, order) is None


async def test_too_many_dependencies_are_refused(database_url: str) -> None:
    async with opened(database_url) as world:
        invoice = await world.register(1)
        many = tuple(_on(invoice, f"schemagate:invoice@1#{index}") for index in range(MAX_DEPENDENCIES + 1))
        with pytest.raises(StateError) as caught:
            await world.register(2, dependencies=many)
        assert caught.value.code == "too_large"


async def test_a_retired_name_is_not_given_out_but_may_live_again(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        await world.contracts.tombstone_contract(ADA, INVOICE, reason="done", at=later(5))
        with pytest.raises(TombstonedError):
            await world.contracts.register(ADA, new(1), same=Sameness.CONTENT, expected_latest=number(1), at=NOON)
        again = await world.contracts.register(
            ADA, new(1), same=Sameness.CONTENT, expected_latest=number(1), revive=True, at=later(6)
        )
        assert (again.is_new, again.revision.number, again.contract.tombstoned_at) == (True, 2, None)
        assert again.contract.version == 3
        old = await world.contracts.revision(ACME, INVOICE, number(1))
        assert old is not None
        assert old.status.tombstoned_at == later(5)
        assert (await world.actions())[-3:] == ["contract.tombstoned", "contract.revived", "revision.registered"]


async def test_the_audit_tells_who_registered_what(database_url: str) -> None:
    async with opened(database_url) as world:
        made = await world.register(1, message="first")
        events = await world.audit.events(ACME, after=1, limit=10)
        assert [event.action for event in events] == [AuditAction.REVISION_REGISTERED]
        (event,) = events
        assert (event.actor, event.key_id) == (PrincipalId("ada"), ADA.key_id)
        assert dict(event.subject) == {"name": "invoice", "number": 1}
        assert event.details["digest"] == made.revision.digest
        assert event.details["message"] == "first"


async def test_twenty_at_once_get_twenty_numbers(database_url: str) -> None:
    """Each tries again with what it was told is the latest number, as the registrar does; half of them elsewhere."""
    async with opened(database_url) as world, opened(database_url) as elsewhere:

        async def register(content: int) -> int:
            store = (world if content % 2 else elsewhere).contracts
            latest = None
            while True:
                try:
                    made = await store.register(
                        ADA, new(content), same=Sameness.CONTENT, expected_latest=latest, at=later(content)
                    )
                    return made.revision.number
                except PreconditionFailedError as error:
                    latest = number(error.observed or 0)

        numbers = await asyncio.gather(*(register(content) for content in range(20)))
        assert sorted(numbers) == list(range(1, 21))
        page = await world.contracts.revisions(ACME, INVOICE, limit=100)
        assert [each.revision.number for each in page.items] == list(range(20, 0, -1))
        events = await world.audit.events(ACME, after=0, limit=1_000)
        assert [event.sequence for event in events] == list(range(1, 22))
        assert [event.previous for event in events[1:]] == [event.digest for event in events[:-1]]


async def test_the_same_content_from_many_at_once_is_registered_once(database_url: str) -> None:
    async with opened(database_url) as world:
        await world.register(1)
        outcomes = await asyncio.gather(
            *(
                world.contracts.register(ADA, new(2), same=Sameness.CONTENT, expected_latest=number(1), at=NOON)
                for _ in range(10)
            )
        )
        assert [made.is_new for made in outcomes].count(True) == 1
        assert {made.revision.number for made in outcomes} == {2}
