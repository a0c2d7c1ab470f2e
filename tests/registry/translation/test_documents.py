"""Contract and approved documents, each in its own dialect."""

from collections.abc import Mapping
from typing import Any

import pytest

from policy.limits import TENANT
from policy.rejection import Rejection
from registry.contract import CanonicalContract
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from tests.registry.reading import LENIENT, parsed

D7 = "http://json-schema.org/draft-07/schema#"
D19 = "https://json-schema.org/draft/2019-09/schema"


def read(
    schema: Any, documents: Mapping[str, Any], declared: Mapping[str, Dialect] | None = None
) -> CanonicalContract | Rejection:
    texts = {uri: parsed(document) for uri, document in documents.items()}
    try:
        return read_json_schema(
            parsed(schema),
            limits=TENANT.contract,
            policy=LENIENT,
            documents=texts,
            document_dialects=declared or {},
        )
    except ContractRejectedError as error:
        return error.rejections[0]


def test_a_document_is_read_in_its_own_dialect_and_found_by_its_own_pointers() -> None:
    documents = {"http://x/old": {"$schema": D7, "items": [{"type": "null"}, {"dependencies": {"a": ["b"]}}]}}
    for place, text in (
        ("#/items/0", '{"not":{"type":"null"}}'),
        ("#/items/1", '{"not":{"dependentRequired":{"a":["b"]}}}'),
    ):
        contract = read({"not": {"$ref": f"http://x/old{place}"}}, documents)
        assert isinstance(contract, CanonicalContract)
        assert contract.text == text
        assert "draft-07: http://x/old#/items: array items -> prefixItems" in contract.transformations
    missing = read({"not": {"$ref": "http://x/old#/prefixItems/0"}}, documents)
    assert isinstance(missing, Rejection)
    assert (missing.code, missing.pointer) == ("unresolved_reference", "/not/$ref")


def test_an_older_contract_refers_to_a_newer_document() -> None:
    documents = {"http://x/new": {"prefixItems": [{"type": "null"}], "$defs": {"a": {"$ref": "old"}}},
                 "http://x/old": {"$schema": D7, "$ref": "new#/prefixItems/0", "maxLength": 1}}  # fmt: skip
    contract = read({"$schema": D7, "items": [{"$ref": "http://x/new#/$defs/a"}]}, documents)
    assert isinstance(contract, CanonicalContract)
    assert contract.text == '{"prefixItems":[{"type":"null"}]}'


def test_the_dialect_of_a_document_can_be_declared() -> None:
    documents = {"http://x/api": {"components": {"schemas": {"A": {"type": "string", "nullable": True}}}}}
    schema = {"items": {"$ref": "http://x/api#/components/schemas/A"}}
    contract = read(schema, documents, {"http://x/api": Dialect.OPENAPI_3_0})
    assert isinstance(contract, CanonicalContract)
    assert contract.text == '{"items":{"type":["null","string"]}}'
    undeclared = read(schema, documents)
    assert isinstance(undeclared, Rejection)


def test_a_fault_of_a_document_is_told_with_its_own_pointer() -> None:
    documents = {"http://x/old": {"$schema": D7, "items": [{"type": "nul"}]}}
    found = read({"items": {"$ref": "http://x/old"}}, documents)
    assert isinstance(found, Rejection)
    assert found.pointer == "/items/$ref"
    assert "'/items/0/type'" in found.message


@pytest.mark.parametrize(
    ("schema", "document", "pointer"),
    [
        (
            {"$schema": D19, "$ref": "http://x/d", "unevaluatedItems": False},
            {"contains": {"type": "null"}},
            "/unevaluatedItems",
        ),
        ({"$ref": "http://x/d", "unevaluatedItems": False}, {"$schema": D7, "contains": {}}, "/unevaluatedItems"),
        ({"$ref": "http://x/d", "contains": {}}, {"$schema": D19, "unevaluatedItems": False}, ""),
        ({"$schema": D19, "$ref": "http://x/d", "contains": {}}, {"unevaluatedItems": False}, ""),
    ],
)
def test_dialects_that_disagree_about_evaluated_items_are_not_mixed(
    schema: dict[str, Any], document: dict[str, Any], pointer: str
) -> None:
    found = read(schema, {"http://x/d": document})
    assert isinstance(found, Rejection)
    assert (found.code, found.pointer, found.keyword) == ("unsupported_dialect", pointer, "unevaluatedItems")


def test_one_dialect_may_hold_contains_and_unevaluated_items_in_two_documents() -> None:
    documents = {"http://x/d": {"contains": {"type": "null"}}}
    assert isinstance(read({"$ref": "http://x/d", "unevaluatedItems": False}, documents), CanonicalContract)


def test_an_extension_of_a_recursive_document_means_itself_in_it() -> None:
    tree = {
        "$schema": D19, "$id": "http://x/tree", "$recursiveAnchor": True, "type": "object",
        "properties": {"children": {"type": "array", "items": {"$recursiveRef": "#"}}},
    }  # fmt: skip
    strict = {"$schema": D19, "$id": "http://x/strict", "$recursiveAnchor": True, "$ref": "tree", "required": ["name"]}
    contract = read(strict, {"http://x/tree": tree})
    native = {
        "$ref": "#/$defs/t", "required": ["name"],
        "$defs": {"t": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}},
    }  # fmt: skip
    assert isinstance(contract, CanonicalContract)
    expected = read(native, {})
    assert isinstance(expected, CanonicalContract)
    assert contract.digest == expected.digest


def test_a_recursive_document_that_is_come_into_beside_its_root_is_refused() -> None:
    tree = {
        "$schema": D19, "$id": "http://x/tree", "$recursiveAnchor": True,
        "$defs": {"list": {"items": {"$ref": "other"}}},
    }  # fmt: skip
    other = {"$schema": D19, "$recursiveAnchor": True, "not": {"items": {"$recursiveRef": "#"}}}
    schema = {"$schema": D19, "properties": {"a": {"$ref": "http://x/tree#/$defs/list"}}}
    found = read(schema, {"http://x/tree": tree, "http://x/other": other})
    assert isinstance(found, Rejection)
    assert (found.code, found.pointer) == ("unsupported_dialect", "/properties/a/$ref")
    at_the_root = {"$schema": D19, "properties": {"a": {"$ref": "http://x/tree"}}}
    assert isinstance(read(at_the_root, {"http://x/tree": tree, "http://x/other": other}), CanonicalContract)
