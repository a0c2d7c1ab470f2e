"""References between registered contracts: pinned when registered, and read again as they were."""

import json
import threading
from typing import Any

import pytest

from policy.limits import TENANT
from policy.rejection import RejectionCode
from registry import dependencies
from registry.comparison import InlineDefinition
from registry.contract import ContractKind
from registry.errors import ContractRejectedError, StateError
from registry.identifiers import RevisionNumber
from registry.naming import read_reference
from registry.reference_closure import references_of
from registry.revision import RevisionState, Visibility
from registry.text import canonical_json
from tests.registry.world import ANN, INTEGER, OTHER, STRING, ZOE, a_registry, closed, pin

pytestmark = pytest.mark.usefixtures("each_database")


async def test_references_are_pinned_and_what_they_lead_to_cannot_be_retired() -> None:
    async with a_registry() as world:
        money = await world.register(closed(amount=INTEGER), name="money")
        invoice = await world.register(closed(total={"$ref": "schemagate:money@1"}))
        assert [(d.uri, d.revision_id) for d in invoice.dependencies] == [("schemagate:money@1", money.revision_id)]
        assert invoice.digest == (await world.register(closed(total=closed(amount=INTEGER)), name="inlined")).digest
        with pytest.raises(StateError) as refused:
            await world.catalogue.lifecycle.tombstone_revision(ANN, "money", RevisionNumber(1), reason="")
        assert refused.value.code == "still_referenced"
        report = await world.catalogue.lifecycle.usage(ANN, "money")
        assert not report.safe_to_retire
        assert [each.revision.name for each in report.own_dependents] == ["invoice"]
        await world.catalogue.lifecycle.tombstone_contract(ANN, "invoice", reason="")
        await world.catalogue.lifecycle.tombstone_contract(ANN, "money", reason="")


async def test_a_definition_is_looked_through_beside_the_event_loop_and_not_at_all_if_it_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walked: list[tuple[int, Any]] = []
    walk = references_of

    def recorded(schema: Any, limits: Any) -> Any:
        walked.append((threading.get_ident(), schema))
        return walk(schema, limits)

    monkeypatch.setattr(dependencies, "references_of", recorded)
    huge: dict[str, Any] = {"allOf": [{} for _ in range(dependencies.MAX_DEFINITION_BYTES // 3 + 1)]}
    async with a_registry() as world:
        with pytest.raises(ContractRejectedError) as refused:
            await world.register(huge)
        await world.register(STRING)
    assert refused.value.rejections[0].code is RejectionCode.LIMIT_EXCEEDED
    assert [schema for _, schema in walked] == [{"allOf": [True]}, {"allOf": [STRING]}]
    assert threading.get_ident() not in {thread for thread, _ in walked}


@pytest.mark.parametrize(
    "value", [["x" * 9], {"x" * 9: 1}, [[], [], [], []], [1] * 12, {"a": [True], "b": None}, "é" * 10, "", 0, {}, []]
)
def test_a_text_that_is_said_to_be_longer_is(value: Any) -> None:
    num_bytes = len(canonical_json(value).encode())
    assert not dependencies._is_longer(value, num_bytes)
    assert dependencies._is_longer([value] * 1000, 1000)


async def test_references_to_nothing_drafts_and_others_private_contracts_are_refused_alike() -> None:
    async with a_registry() as world:
        await world.register(STRING, name="draft", state=RevisionState.DRAFT)
        await world.register(STRING, name="secret", actor=ZOE)
        seen = set()
        for uri in ("nothing@1", "draft@1", "other/secret@1", "other/nothing@1"):
            with pytest.raises(ContractRejectedError) as refused:
                await world.register(closed(part={"$ref": f"schemagate:{uri}"}))
            rejection = refused.value.rejections[0]
            assert rejection.code is RejectionCode.REMOTE_REFERENCE
            assert "no JSON Schema in this registry that is served and yours to use" in rejection.message
            seen.add(rejection.message.replace(uri, "…"))
        assert len(seen) == 1


async def test_a_shared_contract_serves_as_a_part_and_its_readers_stay_unnamed() -> None:
    async with a_registry() as world:
        await world.register(closed(amount=INTEGER), name="money", actor=ZOE, visibility=Visibility.SHARED)
        invoice = await world.register(closed(total={"$ref": "schemagate:other/money@1"}))
        report = await world.catalogue.lifecycle.usage(ZOE, "money")
        assert (report.num_dependents, report.own_dependents, report.others_depend) == (0, (), True)
        assert not report.safe_to_retire
        contract = await world.catalogue.resolver.canonical(invoice, TENANT.contract)
        assert contract.digest == invoice.digest


async def test_a_shared_contracts_private_parts_do_not_become_parts_of_others() -> None:
    async with a_registry() as world:
        await world.register(STRING, name="secret", actor=ZOE)
        await world.register(
            closed(part={"$ref": "schemagate:secret@1"}), name="shown", actor=ZOE, visibility=Visibility.SHARED
        )
        with pytest.raises(ContractRejectedError) as refused:
            await world.register(closed(x={"$ref": "schemagate:other/shown@1"}))
        assert refused.value.rejections[0].code is RejectionCode.REMOTE_REFERENCE


async def test_confluent_references_bring_their_revisions_in_under_names_of_their_own() -> None:
    async with a_registry() as world:
        await world.register(INTEGER, name="amount")
        amount = {"amount.json": pin("amount")}
        await world.register(closed(amount={"$ref": "amount.json"}), name="money", references=amount)
        money = {"money.json": pin("money")}
        invoice = await world.register(closed(total={"$ref": "money.json"}), references=money)
        assert sorted(pin.uri for pin in invoice.dependencies) == ["amount.json", "money.json"]
        assert (await world.catalogue.resolver.canonical(invoice, TENANT.contract)).digest == invoice.digest
        elsewhere = {"money.json": pin("amount")}
        other = await world.register(closed(total={"$ref": "money.json"}), references=elsewhere)
        assert other.digest != invoice.digest
        assert other.schema_id != invoice.schema_id


async def test_one_confluent_name_for_two_revisions_is_refused() -> None:
    async with a_registry() as world:
        await world.register(INTEGER, name="amount")
        await world.register(STRING, name="text")
        amount = {"amount.json": pin("amount")}
        await world.register(closed(amount={"$ref": "amount.json"}), name="money", references=amount)
        clash = {
            "amount.json": pin("text"),
            "money.json": pin("money"),
        }
        with pytest.raises(ContractRejectedError, match="two different revisions"):
            await world.register(closed(a={"$ref": "money.json"}), references=clash)


@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        (
            ContractKind.TOOL_SET,
            [{"type": "function", "function": {"name": "pay", "parameters": {"$ref": "schemagate:money@1"}}}],
        ),
        (
            ContractKind.STRUCTURAL_TAG,
            {
                "type": "structural_tag",
                "format": {"type": "json_schema", "json_schema": {"$ref": "schemagate:money@1"}},
            },
        ),
        (ContractKind.LARK, 'start: %json {"$ref": "schemagate:money@1"}'),
    ],
)
async def test_schemas_within_other_kinds_refer_to_contracts_as_well(kind: ContractKind, definition: Any) -> None:
    async with a_registry() as world:
        money = await world.register(closed(amount=INTEGER), name="money")
        revision = await world.register(definition, kind=kind)
        assert [each.revision_id for each in revision.dependencies] == [money.revision_id]
        assert "amount" in revision.canonical_text
        assert (await world.catalogue.resolver.canonical(revision, TENANT.contract)).digest == revision.digest


async def test_a_part_is_read_in_the_dialect_it_was_registered_in() -> None:
    tuples = {"items": [{"type": "string"}]}
    async with a_registry() as world:
        part = await world.register(tuples, name="old", dialect="draft-07")
        modern = await world.register({"prefixItems": [{"type": "string"}]}, name="new")
        assert part.digest == modern.digest
        for count, uri in enumerate(("schemagate:old@1", f"schemagate:{part.digest}")):
            whole = await world.register({"$ref": uri}, name=f"whole{count}")
            assert whole.digest == modern.digest
            assert (await world.catalogue.resolver.canonical(whole, TENANT.contract)).digest == modern.digest
        named = await world.register({"$ref": "old.json"}, name="named", references={"old.json": pin("old")})
        assert named.digest == modern.digest


async def test_only_schemas_can_be_parts() -> None:
    async with a_registry() as world:
        grammar = await world.register('start: "a"', name="grammar", kind=ContractKind.LARK)
        for uri in ("schemagate:grammar@1", f"schemagate:{grammar.digest}"):
            with pytest.raises(ContractRejectedError) as refused:
                await world.register(closed(x={"$ref": uri}))
            assert refused.value.rejections[0].code is RejectionCode.REMOTE_REFERENCE


async def test_what_a_contract_brings_in_is_limited() -> None:
    limit = TENANT.references.max_referenced_contracts
    async with a_registry() as world:
        await world.register(STRING, name="part")
        many = {f"p{count}": {"$ref": f"schemagate:part@{count}"} for count in range(1, limit + 2)}
        with pytest.raises(ContractRejectedError) as refused:
            await world.register(closed(**many))
        assert refused.value.rejections[0].limit_name == "max_referenced_contracts"
        references = {f"p{count}.json": pin("part") for count in range(limit + 1)}
        with pytest.raises(ContractRejectedError) as refused:
            await world.register(STRING, references=references)
        assert refused.value.rejections[0].limit_name == "max_referenced_contracts"
        for deep in range(TENANT.references.max_reference_depth):
            below = {"$ref": f"schemagate:level{deep - 1}@1"} if deep else STRING
            await world.register(closed(x=below), name=f"level{deep}")
        deepest = f"schemagate:level{TENANT.references.max_reference_depth - 1}@1"
        await world.register(closed(x={"$ref": deepest}), name="top")
        with pytest.raises(ContractRejectedError) as refused:
            await world.register(closed(x={"$ref": "schemagate:top@1"}), name="over")
        assert refused.value.rejections[0].limit_name == "max_reference_depth"


async def test_large_texts_under_names_of_ones_own_are_limited_together() -> None:
    large = {"enum": [f"{count:04}" + "x" * 30 for count in range(800)]}
    async with a_registry() as world:
        for count in range(11):
            await world.register({**large, "title": f"part {count}"}, name=f"part{count}")
        references = {f"p{count}.json": pin(f"part{count}") for count in range(11)}
        with pytest.raises(ContractRejectedError) as refused:
            await world.register(STRING, references=references)
        assert refused.value.rejections[0].limit_name == "max_referenced_bytes"


@pytest.mark.parametrize("uri", ["", "schemagate:money@1", "SCHEMAGATE:x", "money.json#/a"])
async def test_a_name_of_ones_own_is_no_contracts_uri(uri: str) -> None:
    async with a_registry() as world:
        await world.register(STRING, name="money")
        with pytest.raises(ContractRejectedError):
            await world.register(STRING, references={uri: pin("money")})


async def test_a_shared_contracts_private_parts_come_under_no_name_either() -> None:
    async with a_registry() as world:
        await world.register(INTEGER, name="secret", actor=ZOE)
        parts = {"secret.json": pin("secret")}
        shown = closed(part={"$ref": "secret.json"})
        await world.register(shown, name="shown", actor=ZOE, visibility=Visibility.SHARED, references=parts)
        theirs = read_reference("other/shown@1")
        with pytest.raises(ContractRejectedError) as refused:
            await world.register(closed(x={"$ref": "shown.json"}), references={"shown.json": theirs})
        assert refused.value.rejections[0].code is RejectionCode.REMOTE_REFERENCE
        side = InlineDefinition(
            kind=ContractKind.JSON_SCHEMA,
            definition={"$ref": "secret.json"},
            references={"shown.json": theirs},  # type: ignore[dict-item]
        )
        with pytest.raises(ContractRejectedError):
            await world.catalogue.comparisons.compare(ANN.tenant, side, side)
        assert json.loads((await world.register(INTEGER, name="own")).canonical_text) == {"type": "integer"}
        with pytest.raises(ContractRejectedError):
            await world.catalogue.comparisons.compare(OTHER, side, InlineDefinition(kind=side.kind, definition=5))
