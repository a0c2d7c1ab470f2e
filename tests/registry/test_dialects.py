from typing import Any

import pytest

from tests.registry.reading import LENIENT, STRICT, read, refusal

_URIS = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
}


def under(dialect: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": _URIS[dialect], **schema}


@pytest.mark.parametrize("dialect", _URIS)
def test_an_older_dialect_in_which_nothing_differs_is_read_and_says_so(dialect: str) -> None:
    schema = under(
        dialect,
        {
            "type": "object", "properties": {"a": {"$ref": "#/definitions/x", "description": "d"}}, "required": ["a"],
            "additionalProperties": False, "definitions": {"x": {"type": "integer", "minimum": 1}},
        },
    )  # fmt: skip
    contract = read(schema)
    assert contract.transformations == (f"{dialect} read as 2020-12: no keyword used differs",)
    assert contract.digest == read({key: value for key, value in schema.items() if key != "$schema"}).digest


def test_2020_12_needs_no_transformation() -> None:
    for uri in ("https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#"):
        assert read({"$schema": uri}).transformations == ()


@pytest.mark.parametrize(
    ("dialect", "schema", "pointer"),
    [
        ("draft-07", {"properties": {"a": {"$ref": "#", "minimum": 1}}}, "/properties/a/$ref"),
        ("draft-04", {"$ref": "#/definitions/x", "properties": {}, "definitions": {"x": {}}}, "/$ref"),
        ("draft-07", {"items": [{}]}, "/items"),
        ("2019-09", {"items": [{}]}, "/items"),
        ("draft-06", {"dependencies": {"a": ["b"]}}, "/dependencies"),
        ("draft-04", {"minimum": 1, "exclusiveMinimum": True}, "/exclusiveMinimum"),
        ("draft-04", {"exclusiveMaximum": 3}, "/exclusiveMaximum"),
        ("draft-04", {"const": 1}, "/const"),
        ("draft-04", {"contains": {}}, "/contains"),
        ("draft-04", {"$id": "http://example.com/x"}, "/$id"),
        ("draft-06", {"if": {}}, "/if"),
        ("draft-07", {"prefixItems": [{}]}, "/prefixItems"),
        ("draft-07", {"dependentRequired": {}}, "/dependentRequired"),
        ("draft-07", {"unevaluatedProperties": False}, "/unevaluatedProperties"),
        ("draft-07", {"minContains": 2, "contains": {}}, "/minContains"),
        ("draft-07", {"definitions": {"x": {"$id": "#x"}}}, "/definitions/x/$id"),
        ("draft-07", {"$anchor": "x"}, "/$anchor"),
        ("2019-09", {"$recursiveRef": "#"}, "/$recursiveRef"),
        ("2019-09", {"$recursiveAnchor": True}, "/$recursiveAnchor"),
        ("2019-09", {"$dynamicAnchor": "x"}, "/$dynamicAnchor"),
        ("2019-09", {"prefixItems": [{}]}, "/prefixItems"),
        ("2019-09", {"contains": {}, "items": {"unevaluatedItems": False}}, "/items/unevaluatedItems"),
        ("draft-07", {"properties": {"a": {"$schema": _URIS["draft-04"]}}}, "/properties/a/$schema"),
        ("draft-07", {"properties": {"a": {"$id": "http://x/y", "$ref": "#"}}}, "/properties/a/$id"),
        ("draft-06", {"definitions": {"a": {"$id": "http://x/y", "$ref": "#"}}}, "/definitions/a/$id"),
        ("draft-07", {"$defs": {"q": {"$id": "http://z/z"}}}, "/$defs/q/$id"),
        ("draft-07", {"$defs": {"q": {"definitions": {"r": {"$id": "http://z/z"}}}}}, "/$defs/q/definitions/r/$id"),
        ("2019-09", {"additionalItems": {"items": [{"$id": "http://z/z"}]}}, "/additionalItems"),
        ("draft-04", {"items": {}, "additionalItems": {"id": "http://z/z"}}, "/additionalItems"),
        ("draft-07", {"contentSchema": {"$id": "http://z/z"}}, "/contentSchema/$id"),
        ("draft-07", {"$ref": "#/definitions/q", "definitions": {"q": {"$id": "http://z/z"}}}, "/definitions/q/$id"),
        ("draft-07", {"$id": "http://a/b", "$ref": "b#/definitions/q", "definitions": {"q": {}}}, "/$id"),
        (
            "draft-07",
            {"$id": "http://a/b", "$ref": "#/definitions/q", "definitions": {"q": {"not": {"$ref": "c"}}}},
            "/$id",
        ),
    ],
)
def test_a_keyword_that_means_something_else_is_refused_by_name(
    dialect: str, schema: dict[str, Any], pointer: str
) -> None:
    for policy in (STRICT, LENIENT):
        assert refusal(under(dialect, schema), policy=policy) == ("unsupported_dialect", pointer)


@pytest.mark.parametrize(
    ("dialect", "schema"),
    [
        ("draft-04", {"id": "http://example.com/x", "items": {"$ref": "#/definitions/x"}, "definitions": {"x": {}}}),
        ("draft-04", {"properties": {"a": {"id": "/properties/a", "type": "null"}}, "items": {"$ref": "#"}}),
        ("draft-07", {"$id": "http://example.com/x", "$ref": "#/definitions/x", "definitions": {"x": {}}}),
        ("draft-07", {"items": {}, "additionalItems": False}),
        ("2019-09", {"$recursiveAnchor": False, "$ref": "#/$defs/x", "minLength": 1, "$defs": {"x": {}}}),
        ("2019-09", {"unevaluatedItems": False}),
        ("2019-09", {"$defs": {"x": {"$id": "http://z/z", "$ref": "#/$defs/y", "$defs": {"y": {}}}}}),
        ("draft-07", {"$ref": "#/definitions/x", "definitions": {"x": {"const": {"$id": "http://z/z"}}}}),
        (
            "draft-07",
            {"definitions": {"x": {"$id": "http://z/z", "definitions": {"y": {}}, "not": {"$ref": "#/definitions/y"}}}},
        ),
        ("draft-07", {"$ref": "#/$defs/x", "$defs": {"x": {"readOnly": True, "examples": [1]}}}),
    ],
)
def test_what_is_idle_under_its_dialect_is_read(dialect: str, schema: dict[str, Any]) -> None:
    assert read(under(dialect, schema)).transformations != ()


@pytest.mark.parametrize(
    "schema",
    [
        {"id": "http://example.com/x", "items": {"$ref": "y.json"}},
        {"id": "http://example.com/x", "items": {"$ref": "#named"}, "definitions": {"x": {"id": "#named"}}},
        {"definitions": {"x": {"id": "http://example.com/y", "items": {"$ref": "#/definitions/z"}}}},
    ],
)
def test_a_draft_04_id_that_a_reference_could_notice_is_refused(schema: dict[str, Any]) -> None:
    code, pointer = refusal(under("draft-04", schema))
    assert code == "unsupported_dialect"
    assert pointer.endswith("/id")


@pytest.mark.parametrize(
    "uri",
    [
        "http://json-schema.org/schema#",
        "http://json-schema.org/draft-03/schema#",
        "https://example.com/mine",
        "x" * 5000,
    ],
)
def test_an_unknown_dialect_is_refused(uri: str) -> None:
    assert refusal({"$schema": uri, "type": 1}) == ("unsupported_dialect", "/$schema")


def test_a_vocabulary_that_is_demanded_must_be_known() -> None:
    known = "https://json-schema.org/draft/2020-12/vocab/core"
    read({"$vocabulary": {known: True, "http://example.com/v": False}})
    assert refusal({"$vocabulary": {"http://example.com/v": True}}) == ("unsupported_dialect", "/$vocabulary")
