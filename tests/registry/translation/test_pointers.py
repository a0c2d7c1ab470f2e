"""Whatever is said of a translated contract is said of what its author wrote."""

from copy import deepcopy
from typing import Any

import pytest

from policy.limits import UNLIMITED
from policy.rejection import RejectionCode
from registry.dialects import Dialect
from registry.json_schema import read_json_schema
from registry.translation.translated import MAX_TRANSFORMATIONS
from tests.registry.reading import LENIENT, parsed, read, refusal, refusals

D4, D7, D19 = Dialect.DRAFT_04, Dialect.DRAFT_07, Dialect.DRAFT_2019_09


def test_every_translated_place_leads_back_to_its_source() -> None:
    contract = read(
        {
            "type": "object",
            "properties": {
                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "null"}], "additionalItems": False},
                "n": {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            },
            "dependencies": {"n": ["pair"], "pair": {"minProperties": 2}},
        },
        dialect=D4,
    )
    pairs = {
        "/properties/pair/prefixItems": "/properties/pair/items",
        "/properties/pair/prefixItems/0": "/properties/pair/items/0",
        "/properties/pair/prefixItems/1/type": "/properties/pair/items/1/type",
        "/properties/pair/items": "/properties/pair/additionalItems",
        "/properties/n/exclusiveMinimum": "/properties/n/minimum",
        "/dependentRequired": "/dependencies",
        "/dependentRequired/n": "/dependencies/n",
        "/dependentSchemas": "/dependencies",
        "/dependentSchemas/pair/minProperties": "/dependencies/pair/minProperties",
        "/properties/pair": "/properties/pair",
        "/type": "/type",
    }
    assert {place: contract.source_pointer(place) for place in pairs} == pairs


def test_places_of_a_shared_definition_lead_back_too() -> None:
    definition = {"type": "array", "items": [{"type": "string", "maxLength": 70}, {"type": "string", "maxLength": 71}]}
    contract = read(
        {"properties": {"a": {"$ref": "#/definitions/p"}, "b": {"$ref": "#/definitions/p"}},
         "definitions": {"p": definition}},
        dialect=D7,
    )  # fmt: skip
    assert contract.source_pointer("/$defs/d0/prefixItems") == "/definitions/p/items"
    assert contract.source_pointer("/$defs/d0/prefixItems/1/maxLength") == "/definitions/p/items/1/maxLength"
    assert contract.source_pointer("/properties/b/$ref") == "/properties/b/$ref"


def test_the_wrapped_contains_leads_back() -> None:
    contract = read({"contains": {"type": "null"}, "maxContains": 3, "unevaluatedItems": False}, dialect=D19)
    inner = "/allOf/0/not/not"
    assert contract.source_pointer(f"{inner}/contains/type") == "/contains/type"
    assert contract.source_pointer(f"{inner}/maxContains") == "/maxContains"
    for place in ("/allOf", "/allOf/0", "/allOf/0/not", inner):
        assert contract.source_pointer(place) == "/contains"


def test_what_the_translation_set_aside_is_in_the_report() -> None:
    contract = read(
        {
            "properties": {
                "a": {"$ref": "#/definitions/x", "minLength": 4, "title": "t"},
                "n": {"maximum": 9, "exclusiveMaximum": True, "minimum": 1, "exclusiveMinimum": False},
                "l": {"items": {}, "additionalItems": False},
                "o": {"dependencies": {}},
            },
            "id": "http://example.com/",
            "definitions": {"x": {"type": "string"}},
        },
        dialect=D4,
    )
    assert {entry.pointer: (entry.keyword, entry.status.value) for entry in contract.annotations} == {
        "/id": ("id", "annotation"),
        "/definitions": ("definitions", "annotation"),
        "/properties/a/$ref": ("$ref", "enforced"),
        "/properties/a/minLength": ("minLength", "annotation"),
        "/properties/a/title": ("title", "annotation"),
        "/properties/n/exclusiveMaximum": ("exclusiveMaximum", "enforced"),
        "/properties/n/exclusiveMinimum": ("exclusiveMinimum", "annotation"),
        "/properties/l/additionalItems": ("additionalItems", "annotation"),
        "/properties/o/dependencies": ("dependencies", "enforced"),
    }


def test_refusals_of_every_stage_point_at_the_source() -> None:
    assert refusal({"items": [{"type": "nul"}]}, dialect=D7) == ("invalid_schema", "/items/0/type")
    assert refusal({"items": [{}], "additionalItems": {"$ref": "#/x"}}, dialect=D7) == (
        "unresolved_reference", "/additionalItems/$ref",
    )  # fmt: skip
    assert refusal({"dependencies": {"a": {"pattern": "(?=x)"}}}, dialect=D7) == (
        "unsupported_regex", "/dependencies/a/pattern",
    )  # fmt: skip
    impossible = {"type": "array", "minItems": 1, "items": [False]}
    assert refusal(impossible, dialect=D7)[0] == "unsatisfiable"
    cycle = {"dependencies": {"a": {"$ref": "#"}}}
    assert refusal(cycle, dialect=D7) == ("unguarded_ref_cycle", "/dependencies/a/$ref")


def test_the_keyword_of_a_refusal_is_the_authors_too() -> None:
    (found,) = refusals({"dependencies": {"a": ["b", "b"]}}, dialect=D7)
    assert (found.code, found.pointer, found.keyword) == (RejectionCode.INVALID_SCHEMA, "/dependencies", "dependencies")


def test_transformations_name_the_place_and_what_was_done() -> None:
    contract = read({"properties": {"a/b": {"items": [{"type": "null"}]}}}, dialect=D7)
    assert contract.transformations == ("draft-07: /properties/a~1b/items: array items -> prefixItems",)


def test_integers_of_draft_04_are_told_apart() -> None:
    contract = read({"type": ["integer", "null"]}, dialect=D4)
    assert contract.transformations == (
        "draft-04: /type: integer also means numbers like 1.0; they are generated without a fraction",
    )
    assert "integer" not in " ".join(read({"type": "integer"}, dialect=D7).transformations)


def test_formats_that_the_dialect_leaves_open_are_told() -> None:
    contract = read({"format": "uuid"}, dialect=D7)
    assert contract.transformations == ("draft-07: /format: uuid is not defined there; it is the format of 2020-12",)
    assert contract.text == '{"format":"uuid"}'
    assert refusal({"format": "int32"}, dialect=D7) == ("unknown_format", "/format")


def test_the_list_of_transformations_is_bounded() -> None:
    schema: dict[str, Any] = {"definitions": {f"p{number}": {"items": [{}]} for number in range(200)}}
    lines = read(schema, dialect=D7).transformations
    assert len(lines) == MAX_TRANSFORMATIONS + 1
    assert lines[-1] == f"and {200 - MAX_TRANSFORMATIONS} more"
    long = read({"definitions": {"n" * 5000: {"items": [{}]}}}, dialect=D7).transformations
    assert all(len(line) < 300 for line in long)


@pytest.mark.parametrize("name", ["x-draft-07-const", "x-draft-07-const-"])
def test_what_is_set_aside_takes_no_name_of_the_authors(name: str) -> None:
    contract = read({"const": 1, name: 2, "x-draft-07-const": 3}, dialect=D7)
    assert contract.text == '{"const":1}'
    set_aside = read({"$ref": "#/definitions/a", "const": 1, name: 2, "definitions": {"a": {}}}, dialect=D7)
    assert {entry.pointer for entry in set_aside.annotations} >= {"/const", f"/{name}"}


def test_the_authors_own_text_is_left_as_it_was() -> None:
    schema = parsed(
        {"items": [{"$ref": "#/definitions/a", "const": 1}], "dependencies": {"a": {"items": [{}]}, "b": []},
         "definitions": {"a": {"$id": "#x"}}, "allOf": [{}]}
    )  # fmt: skip
    before = deepcopy(schema)
    read_json_schema(schema, limits=UNLIMITED.contract, policy=LENIENT, dialect=D7)
    assert schema == before
