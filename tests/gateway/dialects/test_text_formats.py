"""`text.format` of the Responses API carries the same contracts, written flat."""

from typing import Any

import pytest

from gateway.dialects.sent import sent_contract
from gateway.intent import InlineContract, NamedContract
from gateway.responses.fields import RESPONSES_FIELDS
from registry.contract import ContractKind
from tests.gateway.dialects.contracts import GBNF, LEGACY_TAG, SCHEMA, TAG, fault, inline


def test_the_responses_api_writes_its_format_flat_and_keeps_it() -> None:
    text: Any = {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA, "strict": True}, "verbosity": "low"}
    sent = sent_contract({"text": text}, RESPONSES_FIELDS)
    expected = InlineContract(kind=ContractKind.JSON_SCHEMA, schema=SCHEMA, strict=True, param="text.format.schema")
    assert (sent.contract, sent.fields) == (expected, {"text": text})


@pytest.mark.parametrize(
    ("text", "code", "param"),
    [
        (5, "invalid_type", "text"),
        ({"format": 5}, "invalid_type", "text.format"),
        ({"format": {}}, "missing_parameter", "text.format.type"),
        ({"format": {"type": "json_schema", "schema": {}}}, "missing_parameter", "text.format.name"),
        ({"format": {"type": "json_schema", "name": "a"}}, "missing_parameter", "text.format.schema"),
        ({"format": {"type": "json_schema", "name": "a b", "schema": {}}}, "invalid_value", "text.format.name"),
        ({"format": {"type": "json_schema", "json_schema": {}}}, "unknown_constraint", "text.format.json_schema"),
        ({"format": {"type": "text", "schema": {}}}, "conflicting_parameters", "text.format.schema"),
        ({"format": {"type": "xml"}}, "invalid_value", "text.format.type"),
        ({"format": {"type": "regex"}}, "unsupported_kind", "text.format.type"),
    ],
)
def test_a_text_format_that_is_wrong_is_refused_by_its_path(text: Any, code: str, param: str) -> None:
    assert fault({"text": text}, RESPONSES_FIELDS) == (code, param)


@pytest.mark.parametrize(
    ("format_", "kind"),
    [
        ({"type": "json_object"}, "json_schema"),
        ({"type": "grammar", "grammar": GBNF}, "gbnf"),
        (TAG, "structural_tag"),
        (LEGACY_TAG, "structural_tag"),
    ],
)
def test_a_text_format_carries_other_kinds_too(format_: Any, kind: str) -> None:
    assert inline(sent_contract({"text": {"format": format_}}, RESPONSES_FIELDS)).kind == kind
    named = sent_contract({"text": {"format": {"type": "contract", "contract": "x"}}}, RESPONSES_FIELDS)
    assert named.contract == NamedContract(name="x", param="text.format.contract")
