"""Each keyword that moved, beside its counterpart: the translation has the digest of the native spelling."""

from typing import Any

import pytest

from registry.dialects import Dialect
from tests.registry.reading import LENIENT, read, refusal

D4, D6, D7, D19 = Dialect.DRAFT_04, Dialect.DRAFT_06, Dialect.DRAFT_07, Dialect.DRAFT_2019_09
_NAMED = {"type": "string", "minLength": 2}


@pytest.mark.parametrize(
    ("dialect", "schema", "native"),
    [
        (D4, {"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        (D4, {"minimum": 1, "exclusiveMinimum": False}, {"minimum": 1}),
        (D4, {"maximum": 1, "exclusiveMaximum": True, "minimum": 0}, {"exclusiveMaximum": 1, "minimum": 0}),
        (D4, {"exclusiveMinimum": False}, {}),
        (D6, {"minimum": 1, "exclusiveMinimum": 0}, {"minimum": 1, "exclusiveMinimum": 0}),
        (D4, {"items": [{"type": "null"}]}, {"prefixItems": [{"type": "null"}]}),
        (D6, {"items": [True, False]}, {"prefixItems": [True, False]}),
        (D7, {"items": [{}], "additionalItems": False}, {"prefixItems": [{}], "items": False}),
        (D19, {"additionalItems": {"type": "null"}, "items": [{}]}, {"prefixItems": [{}], "items": {"type": "null"}}),
        (D7, {"items": {"type": "null"}, "additionalItems": False}, {"items": {"type": "null"}}),
        (D7, {"additionalItems": False}, {}),
        (D7, {"dependencies": {"a": ["b"]}}, {"dependentRequired": {"a": ["b"]}}),
        (D4, {"dependencies": {"a": {"required": ["b"]}}}, {"dependentSchemas": {"a": {"required": ["b"]}}}),
        (
            D6,
            {"dependencies": {"a": ["b"], "c": False, "d": []}},
            {"dependentRequired": {"a": ["b"], "d": []}, "dependentSchemas": {"c": False}},
        ),
        (D7, {"dependencies": {}}, {}),
        (D7, {"items": {"$ref": "#/definitions/x", "maxLength": 1}, "definitions": {"x": _NAMED}}, {"items": _NAMED}),
        (D4, {"$ref": "#/definitions/x", "type": "null", "definitions": {"x": _NAMED}}, _NAMED),
        (D7, {"$id": "http://a/b", "$ref": "#/definitions/x", "definitions": {"x": _NAMED}}, _NAMED),
        (D19, {"$ref": "#/$defs/x", "maxLength": 3, "$defs": {"x": _NAMED}}, {"allOf": [_NAMED], "maxLength": 3}),
        (D7, {"not": {"$ref": "#n"}, "definitions": {"x": {"$id": "#n", **_NAMED}}}, {"not": _NAMED}),
        (D4, {"not": {"$ref": "#n"}, "definitions": {"x": {"id": "#n", **_NAMED}}}, {"not": _NAMED}),
        (D4, {"id": "http://a/b", "not": {"$ref": "c"}, "definitions": {"x": {"id": "c", **_NAMED}}}, {"not": _NAMED}),
        (
            D4,
            {"definitions": {"x": {"id": "http://a/b", "definitions": {"y": _NAMED},
                                   "not": {"$ref": "#/definitions/y"}}},
             "items": {"$ref": "http://a/b"}},
            {"items": {"not": _NAMED}},
        ),
        (D7, {"properties": {"a": {"$id": "#/properties/a", "type": "null"}}}, {"properties": {"a": {"type": "null"}}}),
        (D7, {"$ref": "#/$defs/x", "$defs": {"x": _NAMED}}, _NAMED),
        (D7, {"contentSchema": {"$id": "http://a/b"}, "type": "string"}, {"type": "string"}),
        (D19, {"type": "object", "properties": {"n": {"$recursiveRef": "#"}}},
         {"type": "object", "properties": {"n": {"$ref": "#"}}}),
        (D19, {"$recursiveAnchor": True, "type": "object", "properties": {"n": {"$recursiveRef": "#"}}},
         {"type": "object", "properties": {"n": {"$ref": "#"}}}),
        (D19, {"$recursiveAnchor": False, "type": "null"}, {"type": "null"}),
        (
            D19,
            {"contains": {"type": "null"}, "minContains": 2, "unevaluatedItems": False},
            {"allOf": [{"not": {"not": {"contains": {"type": "null"}, "minContains": 2}}}], "unevaluatedItems": False},
        ),
        (
            D19,
            {"allOf": [_NAMED], "contains": {}, "items": {"unevaluatedItems": False}},
            {"allOf": [_NAMED, {"not": {"not": {"contains": {}}}}], "items": {"unevaluatedItems": False}},
        ),
    ],
)  # fmt: skip
def test_a_keyword_and_its_counterpart_are_one_contract(
    dialect: Dialect, schema: dict[str, Any], native: dict[str, Any]
) -> None:
    contract = read(schema, dialect=dialect)
    assert contract.text == read(native).text
    assert contract.transformations != ()


@pytest.mark.parametrize(
    ("dialect", "schema", "native"),
    [
        (D4, {"const": 1, "contains": {}, "propertyNames": False, "type": "array"}, {"type": "array"}),
        (D6, {"if": {}, "then": False, "type": "null"}, {"type": "null"}),
        (D7, {"dependentRequired": {"a": ["b"]}, "dependencies": {"a": ["c"]}}, {"dependentRequired": {"a": ["c"]}}),
        (D7, {"prefixItems": [False], "items": [{"type": "null"}]}, {"prefixItems": [{"type": "null"}]}),
        (D7, {"$recursiveRef": "#", "$dynamicRef": "#x", "type": "null"}, {"type": "null"}),
        (D19, {"prefixItems": [False], "$dynamicRef": "#nowhere", "type": "array"}, {"type": "array"}),
    ],
)
def test_what_the_dialect_does_not_have_says_nothing_where_the_policy_takes_the_letter(
    dialect: Dialect, schema: dict[str, Any], native: dict[str, Any]
) -> None:
    assert read(schema, dialect=dialect, policy=LENIENT).text == read(native).text


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#/items/0", "null"), ("#/items/1", "string"), ("#/additionalItems", "boolean"),
        ("#/dependencies/a", "integer"), ("#/items/1/items/0", "array"), ("#/definitions/t/items/0/items", "object"),
        ("http://a/b#/items/0", "null"), ("c#/items/0", "number"), ("#/definitions/r/items/0", "number"),
    ],
)  # fmt: skip
def test_references_by_pointer_follow_what_moved(reference: str, target: str) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "http://a/b",
        "items": [{"type": "null"}, {"type": "string", "items": [{"type": "array"}]}],
        "additionalItems": {"type": "boolean"},
        "dependencies": {"a": {"type": "integer"}, "b": ["c"]},
        "definitions": {
            "t": {"items": [{"items": {"type": "object"}}]},
            "r": {"$id": "c", "items": [{"type": "number"}]},
        },
        "not": {"$ref": reference},
    }
    contract = read(schema)
    assert isinstance(contract.schema, dict)
    found = contract.schema["not"]
    assert isinstance(found, dict)
    assert found["type"] == target


@pytest.mark.parametrize("conjuncts", [None, [{"minItems": 1}]])
@pytest.mark.parametrize(
    ("reference", "text"),
    [("#/contains", '{"items":{"type":"null"},"minItems":3}'), ("#/contains/items", '{"type":"null"}')],
)
def test_references_lead_into_a_wrapped_contains_and_not_to_its_wrapper(
    conjuncts: list[Any] | None, reference: str, text: str
) -> None:
    schema: dict[str, Any] = {
        "contains": {"minItems": 3, "items": {"type": "null"}},
        "unevaluatedItems": True,
        "items": {"$ref": reference},
    }
    contract = read(schema if conjuncts is None else {**schema, "allOf": conjuncts}, dialect=D19)
    assert f'"items":{text}' in contract.text


@pytest.mark.parametrize(
    "reference",
    ["#/prefixItems/0", "#/dependentSchemas/a", "#/dependentRequired", "#/dependencies/b", "#/allOf/0",
     "#/allOf/0/not/not/contains", "#/x-2019-09-prefixItems/0"],
)  # fmt: skip
def test_no_reference_leads_to_what_only_the_translation_has(reference: str) -> None:
    schema: dict[str, Any] = {
        "items": [{}], "additionalItems": {"$ref": reference}, "contains": {}, "unevaluatedItems": {},
    }  # fmt: skip
    older: dict[str, Any] = {
        "items": [{}], "additionalItems": {"$ref": reference}, "dependencies": {"a": {}, "b": ["c"]},
    }  # fmt: skip
    for dialect, source in ((D19, schema), (D7, older)):
        code, pointer = refusal(source, dialect=dialect, policy=LENIENT)
        assert (code, pointer) == ("unresolved_reference", "/additionalItems/$ref")


def test_an_embedded_resource_brings_its_own_dialect() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "items": {"$ref": "http://a/old#/items/0"},
        "$defs": {
            "old": {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$id": "http://a/old",
                "items": [{"$ref": "#n", "maxLength": 1}],
                "definitions": {"n": {"$id": "#n", "dependencies": {"a": ["b"]}}},
            }
        },
    }
    contract = read(schema)
    assert contract.text == '{"items":{"dependentRequired":{"a":["b"]}}}'
    assert contract.transformations[0] == "draft-07: /$defs/old: an embedded resource of this dialect"
    assert contract.source_pointer("/items/dependentRequired/a") == "/$defs/old/definitions/n/dependencies/a"
