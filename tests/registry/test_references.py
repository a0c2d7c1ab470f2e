from typing import Any

import pytest

from tests.registry.reading import LENIENT, read, refusal, refusals


@pytest.mark.parametrize(
    ("reference", "schema"),
    [
        ("#/$defs/x", {"$defs": {"x": {"type": "null"}}}),
        ("#/definitions/x", {"definitions": {"x": {"type": "null"}}}),
        ("#/$defs/a~1b", {"$defs": {"a/b": {"type": "null"}}}),
        ("#/$defs/a~0b", {"$defs": {"a~b": {"type": "null"}}}),
        ("#/$defs/~01", {"$defs": {"~1": {"type": "null"}}}),
        ("#/$defs/a%25b%20%22", {"$defs": {'a%b "': {"type": "null"}}}),
        ("#/%24defs/%C3%A9", {"$defs": {"é": {"type": "null"}}}),
        ("#/$defs/x/anyOf/1", {"$defs": {"x": {"anyOf": [{}, {"type": "null"}]}}}),
        ("#/properties/p", {"properties": {"p": {"type": "null"}}}),
        ("#/contentSchema", {"contentSchema": {"type": "null"}}),
        ("#here", {"$defs": {"x": {"$anchor": "here", "type": "null"}}}),
        ("#here", {"$defs": {"x": {"$dynamicAnchor": "here", "type": "null"}}}),
        ("", {"$id": "http://example.com/", "$defs": {"x": {}}}),
        ("other", {"$id": "http://example.com/a", "$defs": {"x": {"$id": "/other", "type": "null"}}}),
        ("other#/$defs/y", {"$defs": {"x": {"$id": "other", "$defs": {"y": {"type": "null"}}}}}),
        ("other#z", {"$defs": {"x": {"$id": "other", "$defs": {"y": {"$anchor": "z", "type": "null"}}}}}),
        ("urn:example:x#/$defs/y", {"$defs": {"x": {"$id": "urn:example:x", "$defs": {"y": {"type": "null"}}}}}),
        ("#/$defs/x/$defs/y", {"$defs": {"x": {"$id": "urn:example:x", "$defs": {"y": {"type": "null"}}}}}),
    ],
)
def test_references_within_the_contract_are_followed(reference: str, schema: dict[str, Any]) -> None:
    contract = read({**schema, "items": {"$ref": reference}})
    items = contract.schema["items"] if isinstance(contract.schema, dict) and "items" in contract.schema else None
    assert items == {"type": "null"} or reference == ""


def test_a_reference_resolves_against_the_resource_it_stands_in() -> None:
    schema = {
        "$defs": {"x": {"type": "string"}},
        "items": {"$id": "inner", "$defs": {"x": {"type": "null"}}, "items": {"$ref": "#/$defs/x"}},
        "contains": {"$ref": "#/$defs/x"},
    }
    assert read(schema).schema == {"contains": {"type": "string"}, "items": {"items": {"type": "null"}}}


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/missing", "#missing", "#/$defs/x/minimum", "#/$defs", "#/enum/0", "#/examples/0", "#/unheard",
     "#/properties", "#/$defs/%FF", "#/$defs/x/", "#/anyOf/00", "#/x-y"],
)  # fmt: skip
def test_a_reference_to_nothing_or_to_no_schema_is_unresolved(reference: str) -> None:
    schema = {
        "items": {"$ref": reference}, "$defs": {"x": {"minimum": 1}}, "enum": [[]], "examples": [{}], "unheard": {},
        "anyOf": [{}], "properties": {}, "x-y": {},
    }  # fmt: skip
    assert refusal(schema, policy=LENIENT) == ("unresolved_reference", "/items/$ref")


@pytest.mark.parametrize(
    "reference",
    ["http://example.com/x", "https://json-schema.org/draft/2020-12/schema", "other.json", "file:///etc/passwd",
     "http://127.0.0.1/x#/y", "//example.com", "urn:example:x", "../x"],
)  # fmt: skip
def test_a_reference_out_of_the_contract_is_remote(reference: str) -> None:
    assert refusal({"items": {"$ref": reference}}) == ("remote_reference", "/items/$ref")


def test_an_unused_definition_may_refer_anywhere() -> None:
    assert read({"type": "null", "$defs": {"x": {"$ref": "http://example.com"}}}).text == '{"type":"null"}'


def test_approved_documents_are_read_when_a_reference_needs_them() -> None:
    documents: dict[str, Any] = {
        "http://example.com/a": {"$ref": "b#/$defs/x"},
        "http://example.com/b": {"$defs": {"x": {"type": "null"}}},
        "http://example.com/broken": {"type": 1},
    }
    contract = read({"items": {"$ref": "http://example.com/a"}}, documents=documents)
    assert contract.text == '{"items":{"type":"null"}}'
    assert contract.digest == read({"items": {"type": "null"}}).digest


def test_faults_of_an_approved_document_are_told_at_the_reference() -> None:
    documents = {"http://example.com/broken": {"properties": {"a": {"type": 1}}}}
    (found,) = refusals({"items": {"$ref": "http://example.com/broken"}}, documents=documents)
    assert (found.code, found.pointer) == ("invalid_schema", "/items/$ref")
    assert "/properties/a/type" in found.message
    missing = refusal(
        {"items": {"$ref": "http://example.com/a"}}, documents={"http://example.com/a": {"not": {"$ref": "gone"}}}
    )
    assert missing == ("remote_reference", "/items/$ref")


def test_an_approved_document_of_an_older_dialect_is_named() -> None:
    uri = "http://json-schema.org/draft-07/schema#"
    documents = {"http://example.com/a": {"$schema": uri, "type": "null"}}
    contract = read({"items": {"$ref": "http://example.com/a"}}, documents=documents)
    assert contract.transformations == ("draft-07: http://example.com/a: read as 2020-12: no keyword used differs",)


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}, "/$defs/b/$id"),
        ({"$id": "http://example.com/", "items": {"$id": "http://example.com/"}}, "/items/$id"),
        ({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}, "/$defs/b/$anchor"),
        ({"$defs": {"a": {"$anchor": "x"}, "b": {"$dynamicAnchor": "x"}}}, "/$defs/b/$dynamicAnchor"),
    ],
)
def test_two_things_of_one_name_are_refused(schema: dict[str, Any], pointer: str) -> None:
    assert refusal(schema) == ("invalid_schema", pointer)


def test_one_anchor_may_be_in_two_resources() -> None:
    read({"$anchor": "x", "$defs": {"a": {"$id": "a", "$anchor": "x"}}})


def test_a_dynamic_reference_with_one_possible_target_is_a_reference() -> None:
    schema = {"items": {"$dynamicRef": "#x"}, "$defs": {"d": {"$dynamicAnchor": "x", "type": "null"}}}
    assert read(schema).text == '{"items":{"type":"null"}}'
    plain = {"items": {"$dynamicRef": "#x"}, "$defs": {"d": {"$anchor": "x", "type": "null"}}}
    assert read(plain).text == '{"items":{"type":"null"}}'


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"$ref": "#"}, "/$ref"),
        ({"allOf": [{"$ref": "#"}]}, "/allOf/0/$ref"),
        ({"anyOf": [{"type": "null"}, {"$ref": "#"}]}, "/anyOf/1/$ref"),
        ({"not": {"$ref": "#"}}, "/not/$ref"),
        ({"if": {"$ref": "#"}, "then": {}}, "/if/$ref"),
        ({"dependentSchemas": {"a": {"$ref": "#"}}}, "/dependentSchemas/a/$ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "/$defs/b/$ref"),
        ({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"oneOf": [{"$ref": "#/$defs/a"}]}}}, "/$defs/a/oneOf/0/$ref"),
    ],
)
def test_a_cycle_that_looks_at_nothing_new_is_refused_at_the_reference_that_closes_it(
    schema: dict[str, Any], pointer: str
) -> None:
    assert refusal(schema) == ("unguarded_ref_cycle", pointer)


def test_a_cycle_through_a_part_of_the_instance_is_a_recursion() -> None:
    for keyword in ("items", "contains", "additionalProperties", "unevaluatedProperties", "propertyNames"):
        assert read({keyword: {"$ref": "#"}}).profile.is_recursive


def test_several_faults_in_references_are_told_at_once() -> None:
    found = refusals({"items": {"$ref": "#/nowhere"}, "contains": {"$ref": "http://example.com/"}})
    assert [(rejection.code, rejection.pointer) for rejection in found] == [
        ("remote_reference", "/contains/$ref"),
        ("unresolved_reference", "/items/$ref"),
    ]
