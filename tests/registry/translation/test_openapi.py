"""Schema objects of OpenAPI 3.0 and 3.1, judged on documents by hand-written tables."""

import json
from typing import Any

import pytest

from gateway.validation.judge import Judge
from gateway.validation.verdict import Valid
from policy.enforcement import KeywordStatus
from registry.dialects import Dialect
from tests.registry.reading import LENIENT, STRICT, read, refusal

OLD, NEW = Dialect.OPENAPI_3_0, Dialect.OPENAPI_3_1
_PET = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"type": "string"}, "tag": {"type": "string", "nullable": True, "example": "cat"}},
    "discriminator": {"propertyName": "kind"},
}


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"type": "string", "nullable": True}, ["a", None], [1, [], {}]),
        ({"type": "string", "nullable": False}, ["a"], [None]),
        ({"type": "string"}, ["a"], [None]),
        ({"nullable": True, "minLength": 2}, ["ab", None, 1], ["a"]),
        ({"type": "string", "nullable": True, "enum": ["a", "b"]}, ["a"], [None, "c"]),
        ({"type": "string", "nullable": True, "enum": ["a", None]}, ["a", None], ["b"]),
        ({"type": "object", "nullable": True, "required": ["a"]}, [None, {"a": 1}], [{}, []]),
        ({"nullable": True, "allOf": [{"type": "string"}]}, ["a"], [None, 1]),
        ({"allOf": [{"type": "string", "nullable": True}]}, ["a", None], [1]),
        ({"type": "string", "nullable": True, "allOf": [{"type": "string"}]}, ["a"], [None]),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, [2], [1, 0]),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": False}, [1, 2], [0]),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": True}, [0.5], [1]),
        ({"type": "number", "exclusiveMaximum": False}, [5], ["a"]),
        ({"type": "array", "items": {"type": "number"}}, [[], [1.5]], [["a"]]),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {}}}, [{"a": 1}], [{"b": 1}]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, [{"b": "x"}], [{"b": 1}]),
        ({"not": {"type": "string", "nullable": True}}, [1, []], ["a", None]),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}], "discriminator": {"propertyName": "x"}},
            ["a", 1], [None, 1.5],
        ),
        ({"type": "string", "readOnly": True, "xml": {"name": "n"}, "externalDocs": {"url": "u"}}, ["a"], [1]),
        ({"type": "string", "example": 3, "deprecated": True, "default": None, "x-own": {}}, ["a"], [3]),
        (
            {"$ref": "#/components/schemas/Pet", "components": {"schemas": {"Pet": _PET}}},
            [{"kind": "cat"}, {"kind": "cat", "tag": None}, {"kind": "cat", "tag": "t"}],
            [{}, {"kind": None}, {"kind": "cat", "tag": 1}],
        ),
        (
            {"type": "array", "items": {"$ref": "#/components/schemas/A", "nullable": True},
             "components": {"schemas": {"A": {"type": "string"}}}},
            [["a"]], [[None]],
        ),
        (
            {"$ref": "#/components/schemas/A", "maxLength": 1,
             "components": {"schemas": {"A": {"$ref": "#/components/schemas/B"}, "B": {"type": "string"}}}},
            ["abc"], [1],
        ),
    ],
)  # fmt: skip
def test_a_schema_object_of_3_0_judges_as_openapi_defines_it(
    schema: dict[str, Any], valid: list[Any], invalid: list[Any]
) -> None:
    judge = Judge.prepare(read(schema, dialect=OLD).text)
    assert isinstance(judge, Judge)
    for instance in valid:
        assert isinstance(judge.judge(json.dumps(instance).encode()), Valid), instance
    for instance in invalid:
        assert not isinstance(judge.judge(json.dumps(instance).encode()), Valid), instance


@pytest.mark.parametrize(
    ("schema", "code", "pointer"),
    [
        ({"const": 1}, "foreign_dialect_keyword", "/const"),
        ({"patternProperties": {}}, "foreign_dialect_keyword", "/patternProperties"),
        ({"type": "array", "items": [{}]}, "foreign_dialect_keyword", "/items"),
        ({"type": "array", "items": {}, "additionalItems": False}, "foreign_dialect_keyword", "/additionalItems"),
        ({"dependencies": {}}, "foreign_dialect_keyword", "/dependencies"),
        ({"definitions": {}}, "foreign_dialect_keyword", "/definitions"),
        ({"$defs": {}}, "foreign_dialect_keyword", "/$defs"),
        ({"$id": "http://a/b"}, "foreign_dialect_keyword", "/$id"),
        ({"id": "http://a/b"}, "foreign_dialect_keyword", "/id"),
        ({"examples": []}, "foreign_dialect_keyword", "/examples"),
        ({"properties": {"a": {"if": {}}}}, "foreign_dialect_keyword", "/properties/a/if"),
        ({"$comment": "c"}, "foreign_dialect_keyword", "/$comment"),
        ({"exclusiveMinimum": 3}, "foreign_dialect_keyword", "/exclusiveMinimum"),
        ({"type": ["string", "null"]}, "invalid_schema", "/type"),
        ({"type": "null"}, "invalid_schema", "/type"),
        ({"type": "string", "nullable": "yes"}, "invalid_schema", "/nullable"),
        ({"exclusiveMinimum": True}, "invalid_schema", "/exclusiveMinimum"),
        ({"properties": {"a": True}}, "invalid_schema", "/properties/a"),
        ({"components": []}, "invalid_schema", "/components"),
        ({"components": {"schemas": {"A": 1}}}, "invalid_schema", "/components"),
        ({"properties": {"a": {"components": {}, "type": "string"}}}, "unknown_keyword", "/properties/a/components"),
        ({"$ref": "#/components/schemas/B", "components": {"schemas": {"A": {}}}}, "unresolved_reference", "/$ref"),
        ({"$ref": "#/components/responses/A", "components": {"responses": {"A": {}}}}, "unresolved_reference", "/$ref"),
        ({"$ref": "#/$defs/components.schemas.A", "components": {"schemas": {"A": {}}}},
         "unresolved_reference", "/$ref"),
        ({"requiredd": ["a"]}, "unknown_keyword", "/requiredd"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "unsupported_dialect", "/$schema"),
    ],
)  # fmt: skip
def test_what_a_schema_object_of_3_0_cannot_say_is_refused_by_name(
    schema: dict[str, Any], code: str, pointer: str
) -> None:
    assert refusal(schema, dialect=OLD) == (code, pointer)
    if code != "unknown_keyword":
        assert refusal(schema, dialect=OLD, policy=LENIENT) == (code, pointer)


@pytest.mark.parametrize("name", ["int32", "int64", "float", "double", "byte", "binary", "password"])
@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_formats_of_openapi_are_refused_or_reported_as_annotations(dialect: Dialect, name: str) -> None:
    assert refusal({"format": name}, dialect=dialect, policy=STRICT) == ("unknown_format", "/format")
    contract = read({"type": "integer", "format": name}, dialect=dialect, policy=LENIENT)
    assert contract.text == '{"type":"integer"}'
    assert [(e.pointer, e.status) for e in contract.annotations] == [("/format", KeywordStatus.ANNOTATION)]


def test_every_keyword_of_3_0_that_restricts_nothing_is_in_the_report() -> None:
    contract = read(
        {
            "$ref": "#/components/schemas/Pet", "minLength": 1,
            "components": {"schemas": {"Pet": _PET, "Other": {"type": "string"}}, "responses": {"x": {"strange": 1}}},
        },
        dialect=OLD,
    )  # fmt: skip
    pet = "/components/schemas/Pet"
    assert {entry.pointer: entry.status.value for entry in contract.annotations} == {
        "/$ref": "enforced",
        "/minLength": "annotation",
        "/components": "annotation",
        "/components/schemas": "annotation",
        f"{pet}/discriminator": "annotation",
        f"{pet}/properties/tag/nullable": "enforced",
        f"{pet}/properties/tag/example": "annotation",
    }
    assert contract.source_pointer("/properties/tag/type") == f"{pet}/properties/tag/type"
    assert "openapi-3.0: /components/schemas/Pet/properties/tag/nullable: true -> null in type" in (
        contract.transformations
    )


@pytest.mark.parametrize("uri", ["base", "2024-10-25", "2024-11-10"])
def test_a_schema_object_of_3_1_is_2020_12_with_annotations(uri: str) -> None:
    schema = {
        "$schema": f"https://spec.openapis.org/oas/3.1/dialect/{uri}",
        "type": ["object", "null"],
        "properties": {"a": {"$ref": "#/components/schemas/A", "maxLength": 1, "example": "a"}},
        "prefixItems": [{"const": 1}],
        "discriminator": {"propertyName": "a"},
        "xml": {},
        "externalDocs": {"url": "u"},
        "components": {"schemas": {"A": {"type": "string", "xml": {}}}},
        "$defs": {"components.schemas.A": {"type": "null"}},
    }
    contract = read(schema)
    native = {
        "type": ["object", "null"], "prefixItems": [{"const": 1}],
        "properties": {"a": {"maxLength": 1, "allOf": [{"type": "string"}]}},
    }  # fmt: skip
    assert contract.text == read(native).text
    reported = {entry.pointer for entry in contract.annotations}
    assert {"/discriminator", "/xml", "/externalDocs", "/properties/a/example", "/components/schemas/A/xml"} <= reported
    assert "openapi-3.1: /discriminator: is an annotation, left out" in contract.transformations


def test_nullable_is_not_of_3_1() -> None:
    for policy in (STRICT, LENIENT):
        found = refusal({"type": "string", "nullable": True}, dialect=NEW, policy=policy)
        assert found == ("foreign_dialect_keyword", "/nullable")


def test_3_0_is_one_contract_with_its_native_spelling() -> None:
    native = read({"type": "object", "properties": {"a": {"type": ["string", "null"], "format": "date"}}})
    older = read(
        {"type": "object", "properties": {"a": {"type": "string", "nullable": True, "format": "date"}}}, dialect=OLD
    )
    assert older.digest == native.digest
