"""Embedded resources of another dialect: both dialects must see the same resource, or its references lead elsewhere."""

from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy
from policy.rejection import RejectionCode as Code
from registry.dialects import Dialect
from tests.registry.reading import LENIENT, STRICT, read, refusal, refusals

D4 = "http://json-schema.org/draft-04/schema#"
D7 = "http://json-schema.org/draft-07/schema#"
D19 = "https://json-schema.org/draft/2019-09/schema"
D20 = "https://json-schema.org/draft/2020-12/schema"


def holding(resource: dict[str, Any], dialect: str = D20) -> dict[str, Any]:
    inner = {"definitions": {"a": {"type": "integer"}}, "properties": {"z": {"$ref": "#/definitions/a"}}}
    return {
        "$schema": dialect,
        "$id": "http://x/outer",
        "definitions": {"a": {"type": "string"}},
        "properties": {"q": {**resource, **inner}},
    }


def test_a_reference_in_an_embedded_resource_stays_within_it() -> None:
    contract = read(holding({"$schema": D7, "$id": "http://x/inner"}))
    assert contract.text == '{"properties":{"q":{"properties":{"z":{"type":"integer"}}}}}'


@pytest.mark.parametrize("outer", [D19, D20])
@pytest.mark.parametrize("policy", [STRICT, LENIENT], ids=["strict", "lenient"])
@pytest.mark.parametrize("name", ["#name", "#/definitions/a", "http://x/inner#name"])
def test_a_plain_name_is_no_resource_and_brings_no_dialect(outer: str, policy: EnforcementPolicy, name: str) -> None:
    found = refusal(holding({"$schema": D7, "$id": name}, outer), policy=policy)
    assert found == (Code.UNSUPPORTED_DIALECT, "/properties/q/$schema")


@pytest.mark.parametrize("names", [{"$id": "http://x/i"}, {"$id": "http://x/i", "id": "http://x/j"}])
def test_a_resource_of_draft_04_cannot_be_embedded_because_it_reads_no_dollar_id(names: dict[str, str]) -> None:
    found = refusal(holding({"$schema": D4, **names}), policy=LENIENT)
    assert found == (Code.UNSUPPORTED_DIALECT, "/properties/q/$schema")


def test_a_boolean_is_no_schema_in_draft_04_whatever_its_member_is_called() -> None:
    schema = {"properties": {"additionalProperties": False}}
    found = refusal(schema, dialect=Dialect.DRAFT_04)
    assert found == (Code.INVALID_SCHEMA, "/properties/additionalProperties")
    contract = read({"properties": {"a": {}}, "additionalProperties": False}, dialect=Dialect.DRAFT_04)
    assert contract.text == '{"additionalProperties":false,"properties":{"a":true}}'


RECURSIVE = {"$schema": D19, "$recursiveAnchor": True, "type": "object"}


@pytest.mark.parametrize("reference", ["#recursiveAnchor.2019-09", "#recursiveAnchor%2E2019-09"])
def test_no_reference_leads_to_a_name_that_only_the_translation_has(reference: str) -> None:
    schema = {**RECURSIVE, "properties": {"a": {"$ref": reference}, "b": {"$recursiveRef": "#"}}}
    assert refusal(schema) == (Code.INVALID_SCHEMA, "/properties/a/$ref")
    beside = {**RECURSIVE, "properties": {"b": {"$recursiveRef": "#", "$ref": reference}}}
    assert refusal(beside) == (Code.INVALID_SCHEMA, "/properties/b/$ref")


@pytest.mark.parametrize("keyword", ["$anchor", "$dynamicAnchor"])
def test_no_resource_catches_a_recursive_reference_by_its_translated_name(keyword: str) -> None:
    inner = {"$id": "http://x/i", **RECURSIVE, "properties": {"b": {"$recursiveRef": "#"}}}
    schema = {
        "$id": "http://x/o",
        keyword: "recursiveAnchor.2019-09",
        "required": ["q"],
        "properties": {"a": {"$ref": "http://x/i"}},
        "$defs": {"i": inner},
    }
    assert refusal(schema) == (Code.INVALID_SCHEMA, f"/{keyword}")


def test_a_reference_between_registered_contracts_does_not_hide_the_root_that_2019_09_would_not_see() -> None:
    documents: dict[str, Any] = {
        "schemagate:t/x@1": {"$schema": D19, "$ref": "schemagate:y@1#/$defs/m"},
        "schemagate:t/y@1": {
            **RECURSIVE,
            "required": ["y"],
            "$defs": {"m": {"properties": {"k": {"$ref": "schemagate:z@1"}}}},
        },
        "schemagate:t/z@1": {**RECURSIVE, "required": ["z"], "properties": {"w": {"$recursiveRef": "#"}}},
    }
    schema = {"$schema": D19, "$ref": "schemagate:t/x@1"}
    found = refusals(schema, documents=documents)
    assert [(fault.code, fault.pointer) for fault in found] == [(Code.UNSUPPORTED_DIALECT, "")]
    assert "schemagate:t/x@1" in found[0].message
    documents["schemagate:t/x@1"]["$ref"] = "schemagate:y@1"
    assert '"required":["y"]' in read(schema, documents=documents).text
