"""One entry for every kind of contract."""

from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from policy.rejection import RejectionCode
from registry.contract import ContractKind, JsonValue
from registry.digests import contract_digest
from registry.errors import ContractRejectedError
from registry.reading import read_contract
from tests.registry.kinds.contracts import read

EXAMPLES: dict[ContractKind, Any] = {
    ContractKind.JSON_SCHEMA: {"type": "object"},
    ContractKind.REGEX: "[0-9]+",
    ContractKind.LARK: 'start: "a"',
    ContractKind.GBNF: 'root ::= "a"',
    ContractKind.CHOICE: ["yes", "no"],
    ContractKind.STRUCTURAL_TAG: {"type": "structural_tag", "format": {"type": "any_text"}},
    ContractKind.TOOL_SET: [{"type": "function", "function": {"name": "a"}}],
}


@pytest.mark.parametrize("kind", ContractKind)
def test_every_kind_has_a_reader_that_names_what_it_read(kind: ContractKind) -> None:
    contract = read(kind, EXAMPLES[kind])
    assert contract.kind is kind
    assert contract.digest == contract_digest(kind, contract.text)
    assert contract.profile.contract_bytes == len(contract.text.encode())
    assert contract.source_pointer("") == ""


def test_one_text_is_another_contract_in_each_kind() -> None:
    digests = {read(kind, "a").digest for kind in (ContractKind.REGEX,)}
    digests.add(read(ContractKind.CHOICE, ["a"]).digest)
    digests.add(read(ContractKind.LARK, 'start: "a"').digest)
    assert len(digests) == 3


@pytest.mark.parametrize("kind", ContractKind)
@pytest.mark.parametrize("value", [None, True, 3, {}, {"type": "nul"}, [[]], ""])
def test_a_value_of_another_shape_is_refused_and_never_crashes(kind: ContractKind, value: Any) -> None:
    try:
        read_contract(kind, value, limits=TENANT.contract, policy=EnforcementPolicy())
    except ContractRejectedError as error:
        assert error.rejections  # noqa: PT017 - some kinds read some of these
    else:
        assert kind in {ContractKind.JSON_SCHEMA, ContractKind.REGEX}


def test_a_dialect_reaches_the_schemas_wherever_they_stand() -> None:
    schema: JsonValue = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}},
    }
    tool: JsonValue = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    terms: dict[str, Any] = {"limits": TENANT.contract, "policy": EnforcementPolicy()}
    contract = read_contract(ContractKind.TOOL_SET, tool, dialect="draft-04", **terms)
    assert '"exclusiveMinimum":0' in contract.text
    with pytest.raises(ContractRejectedError):
        read_contract(ContractKind.TOOL_SET, tool, **terms)


def test_an_unknown_dialect_is_refused_by_name() -> None:
    with pytest.raises(ContractRejectedError) as caught:
        read_contract(
            ContractKind.JSON_SCHEMA, {}, limits=TENANT.contract, policy=EnforcementPolicy(), dialect="draft-03"
        )
    assert caught.value.rejections[0].code == RejectionCode.UNSUPPORTED_DIALECT


def test_documents_are_found_from_schemas_inside_other_kinds() -> None:
    documents: dict[str, JsonValue] = {"http://example.com/a": {"type": "null"}}
    text = 'start: %json {"$ref": "http://example.com/a"}'
    terms: dict[str, Any] = {"limits": TENANT.contract, "policy": EnforcementPolicy()}
    contract = read_contract(ContractKind.LARK, text, documents=documents, **terms)
    assert contract.text == 'start: %json {"type":"null"}'
    with pytest.raises(ContractRejectedError) as caught:
        read_contract(ContractKind.LARK, text, **terms)
    assert caught.value.rejections[0].code == RejectionCode.REMOTE_REFERENCE
