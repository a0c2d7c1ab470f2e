"""Which dialect a text is in, and what is refused because it has no exact counterpart in 2020-12."""

from typing import Any

import pytest

from registry.dialects import Dialect, dialect_of
from tests.registry.reading import LENIENT, STRICT, read, refusal, refusals

_URIS = {
    "draft-04": "http://json-schema.org/draft-04/schema#",
    "draft-06": "http://json-schema.org/draft-06/schema#",
    "draft-07": "http://json-schema.org/draft-07/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "openapi-3.1": "https://spec.openapis.org/oas/3.1/dialect/base",
}
_OLDER = ("draft-04", "draft-06", "draft-07", "2019-09")


def under(dialect: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"$schema": _URIS[dialect], **schema}


@pytest.mark.parametrize("dialect", _OLDER)
def test_an_older_dialect_in_which_nothing_differs_is_read_and_says_so(dialect: str) -> None:
    schema = under(
        dialect,
        {
            "type": "object", "properties": {"a": {"$ref": "#/definitions/x", "description": "d"}}, "required": ["a"],
            "additionalProperties": False, "definitions": {"x": {"type": "string", "minLength": 1}},
        },
    )  # fmt: skip
    contract = read(schema)
    assert contract.transformations == (f"{dialect}: read as 2020-12: no keyword used differs",)
    assert contract.digest == read({key: value for key, value in schema.items() if key != "$schema"}).digest


def test_2020_12_needs_no_transformation() -> None:
    for uri in ("https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#"):
        assert read({"$schema": uri}).transformations == ()


@pytest.mark.parametrize("dialect", [dialect for dialect in Dialect if dialect is not Dialect.OPENAPI_3_0])
def test_a_dialect_can_be_declared_and_must_agree_with_the_text(dialect: Dialect) -> None:
    schema = {"title": "t", "type": "object"}
    assert read(schema, dialect=dialect).text == '{"type":"object"}'
    uri = "https://json-schema.org/draft/2020-12/schema" if dialect is Dialect.DRAFT_2020_12 else _URIS[dialect.value]
    assert read({"$schema": uri, **schema}, dialect=dialect).text == '{"type":"object"}'
    others = [other for other in Dialect if other is not dialect]
    for other in others:
        assert refusal({"$schema": uri, **schema}, dialect=other) == ("unsupported_dialect", "/$schema")


@pytest.mark.parametrize(
    ("uri", "dialect"),
    [
        ("https://spec.openapis.org/oas/3.1/dialect/base", Dialect.OPENAPI_3_1),
        ("https://spec.openapis.org/oas/3.1/dialect/2024-11-10", Dialect.OPENAPI_3_1),
        ("http://json-schema.org/draft-07/schema#", Dialect.DRAFT_07),
        ("https://json-schema.org/draft-07/schema", Dialect.DRAFT_07),
        ("https://spec.openapis.org/oas/3.2/dialect/base", None),
        ("https://spec.openapis.org/oas/3.1/dialect/base/more", None),
        ("http://json-schema.org/draft-05/schema#", None),
        ("ftp://json-schema.org/draft-07/schema#", None),
    ],
)
def test_a_dialect_is_known_by_its_uri(uri: str, dialect: Dialect | None) -> None:
    assert dialect_of(uri) is dialect


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


@pytest.mark.parametrize(
    ("dialect", "schema", "pointer"),
    [
        ("draft-04", {"const": 1}, "/const"),
        ("draft-04", {"items": {"contains": {}}}, "/items/contains"),
        ("draft-04", {"$id": "http://example.com/x"}, "/$id"),
        ("draft-06", {"if": {}}, "/if"),
        ("draft-07", {"prefixItems": [{}]}, "/prefixItems"),
        ("draft-07", {"dependentRequired": {}}, "/dependentRequired"),
        ("draft-07", {"unevaluatedProperties": False}, "/unevaluatedProperties"),
        ("draft-07", {"minContains": 2, "contains": {}}, "/minContains"),
        ("draft-07", {"$anchor": "x"}, "/$anchor"),
        ("2019-09", {"$dynamicAnchor": "x"}, "/$dynamicAnchor"),
        ("2019-09", {"prefixItems": [{}]}, "/prefixItems"),
    ],
)
def test_a_keyword_of_a_later_dialect_is_refused_or_by_the_letter_ignored(
    dialect: str, schema: dict[str, Any], pointer: str
) -> None:
    assert refusal(under(dialect, schema)) == ("foreign_dialect_keyword", pointer)
    contract = read(under(dialect, schema), policy=LENIENT)
    assert f"{dialect}: {pointer}: is no keyword there, left out" in contract.transformations
    assert pointer in {entry.pointer for entry in contract.annotations} or pointer == "/items/contains"


@pytest.mark.parametrize(
    ("dialect", "schema", "code", "pointer"),
    [
        ("draft-04", {"exclusiveMaximum": 3}, "foreign_dialect_keyword", "/exclusiveMaximum"),
        ("draft-04", {"exclusiveMaximum": True}, "invalid_schema", "/exclusiveMaximum"),
        ("draft-04", {"maximum": 1, "exclusiveMaximum": "yes"}, "invalid_schema", "/exclusiveMaximum"),
        ("draft-06", {"exclusiveMaximum": True, "maximum": 1}, "foreign_dialect_keyword", "/exclusiveMaximum"),
        ("draft-04", {"properties": {"a": True}}, "invalid_schema", "/properties/a"),
        ("draft-04", {"id": 3}, "invalid_schema", "/id"),
        ("draft-07", {"items": []}, "invalid_schema", "/items"),
        ("draft-07", {"items": {}, "additionalItems": 3}, "invalid_schema", "/additionalItems"),
        ("draft-07", {"dependencies": {"a": "b"}}, "invalid_schema", "/dependencies"),
        ("draft-07", {"dependencies": {"a": ["b", "b"]}}, "invalid_schema", "/dependencies"),
        ("2019-09", {"dependencies": {"a": ["b"]}}, "foreign_dialect_keyword", "/dependencies"),
        ("2019-09", {"$recursiveRef": "#/x"}, "invalid_schema", "/$recursiveRef"),
        ("2019-09", {"$recursiveAnchor": "x"}, "invalid_schema", "/$recursiveAnchor"),
        ("2019-09", {"$id": "#x"}, "invalid_schema", "/$id"),
        ("draft-07", {"type": "object", "nullable": True}, "foreign_dialect_keyword", "/nullable"),
    ],
)
def test_a_form_that_the_dialect_does_not_have_is_refused_under_every_policy(
    dialect: str, schema: dict[str, Any], code: str, pointer: str
) -> None:
    for policy in (STRICT, LENIENT):
        assert refusal(under(dialect, schema), policy=policy) == (code, pointer)


@pytest.mark.parametrize(
    ("dialect", "schema", "pointer"),
    [
        ("2019-09", {"properties": {"a": {"$recursiveAnchor": True}}}, "/properties/a/$recursiveAnchor"),
        ("draft-07", {"$id": "http://x/y#named"}, "/$id"),
        ("draft-07", {"$id": "#1"}, "/$id"),
        ("draft-07", {"properties": {"a": {"$schema": _URIS["draft-04"]}}}, "/properties/a/$schema"),
        ("draft-07", {"properties": {"a": {"$schema": _URIS["2019-09"], "$id": "a"}}}, "/properties/a/$schema"),
        ("2019-09", {"properties": {"a": {"$schema": _URIS["draft-07"]}}}, "/properties/a/$schema"),
        ("2019-09", {"properties": {"a": {"$schema": "http://x/y", "$id": "a"}}}, "/properties/a/$schema"),
        ("2019-09", {"items": {"$schema": _URIS["draft-07"], "$id": "a", "$ref": "#"}}, "/items/$schema"),
        ("draft-07", {"$defs": {"q": {"$id": "http://z/z"}}}, "/$defs/q/$id"),
        ("draft-07", {"$defs": {"q": {"definitions": {"r": {"$id": "http://z/z"}}}}}, "/$defs/q/definitions/r/$id"),
        ("2019-09", {"additionalItems": {"items": [{"$id": "http://z/z"}]}}, "/additionalItems"),
        ("draft-04", {"items": {}, "additionalItems": {"id": "http://z/z"}}, "/additionalItems"),
        ("draft-07", {"$ref": "#/definitions/q", "definitions": {"q": {"$id": "http://z/z"}}}, "/definitions/q/$id"),
    ],
)
def test_what_two_readers_could_take_differently_is_refused(dialect: str, schema: dict[str, Any], pointer: str) -> None:
    for policy in (STRICT, LENIENT):
        assert refusal(under(dialect, schema), policy=policy) == ("unsupported_dialect", pointer)


def test_what_steers_the_engine_stays_reserved_in_every_dialect() -> None:
    schemas: list[dict[str, Any]] = [
        {"x-guidance": {}},
        {"$ref": "#/definitions/x", "x-guidance": {}, "definitions": {"x": {}}},
    ]
    for dialect in _URIS:
        for schema in schemas:
            assert refusal(under(dialect, schema), policy=LENIENT) == ("reserved_keyword", "/x-guidance")


def test_a_misspelt_keyword_is_refused_in_every_dialect() -> None:
    for dialect in _URIS:
        found = refusals(under(dialect, {"properties": {"a": {"minlength": 3}}}))
        assert [(one.code, one.pointer, one.suggestion) for one in found] == [
            ("unknown_keyword", "/properties/a/minlength", "minLength")
        ]


def test_several_faults_are_told_at_once() -> None:
    schema = under("draft-04", {"properties": {name: {"const": 1} for name in "abc"}})
    assert [one.pointer for one in refusals(schema)] == [f"/properties/{name}/const" for name in "abc"]


def test_a_vocabulary_that_is_demanded_must_be_known() -> None:
    known = "https://json-schema.org/draft/2020-12/vocab/core"
    read({"$vocabulary": {known: True, "http://example.com/v": False}})
    assert refusal({"$vocabulary": {"http://example.com/v": True}}) == ("unsupported_dialect", "/$vocabulary")
