"""`$dynamicRef` means the outermost resource on the way; each way gets its own subschema, exactly."""

from typing import Any

import pytest

from tests.registry.reading import read, refusal


def generic(**extra: Any) -> dict[str, Any]:
    return {"$id": "list", "items": {"$dynamicRef": "#x"}, "$defs": {"d": {"$dynamicAnchor": "x"}}, **extra}


def test_a_dynamic_reference_with_one_possible_target_is_a_reference() -> None:
    schema = {"items": {"$dynamicRef": "#x"}, "$defs": {"d": {"$dynamicAnchor": "x", "type": "null"}}}
    assert read(schema).text == '{"items":{"type":"null"}}'
    plain = {"items": {"$dynamicRef": "#x"}, "$defs": {"d": {"$anchor": "x", "type": "null"}}}
    assert read(plain).text == '{"items":{"type":"null"}}'


def test_a_dynamic_reference_means_the_outermost_resource_on_the_way() -> None:
    schema = {
        "$id": "http://example.com/",
        "$ref": "list",
        "$defs": {"own": {"$dynamicAnchor": "x", "type": "string"}, "list": generic()},
    }
    assert read(schema).text == '{"items":{"type":"string"}}'


def test_one_schema_on_two_ways_is_two() -> None:
    def list_of(name: str) -> dict[str, Any]:
        return {"$id": name, "$ref": "list", "$defs": {"own": {"$dynamicAnchor": "x", "type": name}}}

    schema = {
        "$id": "http://example.com/",
        "prefixItems": [{"$ref": "string"}, {"$ref": "null"}, {"$ref": "list"}],
        "$defs": {"string": list_of("string"), "null": list_of("null"), "list": generic()},
    }
    assert read(schema).schema == {
        "prefixItems": [{"items": {"type": "string"}}, {"items": {"type": "null"}}, {"items": True}]
    }


def test_a_resource_that_is_only_around_the_target_is_not_on_the_way() -> None:
    schema = {
        "$id": "http://example.com/",
        "properties": {"a": {"$ref": "around/list"}},
        "$defs": {
            "around": {
                "$id": "around/",
                "$defs": {"own": {"$dynamicAnchor": "x", "type": "string"}, "list": generic()},
            }
        },
    }
    assert read(schema).text == '{"properties":{"a":{"items":true}}}'


def test_an_ordinary_reference_to_a_dynamic_anchor_stays_where_it_leads() -> None:
    schema = {
        "$id": "http://example.com/",
        "$ref": "list",
        "$defs": {
            "own": {"$dynamicAnchor": "x", "type": "string"},
            "list": {"$id": "list", "items": {"$ref": "#x"}, "$defs": {"d": {"$dynamicAnchor": "x", "type": "null"}}},
        },
    }
    assert read(schema).text == '{"items":{"type":"null"}}'


@pytest.mark.parametrize("initial", [{"$anchor": "x"}, {"$anchor": "x", "$dynamicAnchor": "y"}])
def test_a_dynamic_reference_that_begins_at_no_dynamic_anchor_is_an_ordinary_one(initial: dict[str, str]) -> None:
    schema = {
        "$id": "http://example.com/",
        "$ref": "list",
        "$defs": {
            "own": {"$dynamicAnchor": "x", "type": "string"},
            "list": {"$id": "list", "items": {"$dynamicRef": "#x"}, "$defs": {"d": {"type": "null", **initial}}},
        },
    }
    assert read(schema).text == '{"items":{"type":"null"}}'


def test_a_resource_whose_anchor_is_not_dynamic_is_passed_over() -> None:
    schema = {
        "$id": "http://example.com/",
        "$ref": "middle",
        "$defs": {
            "own": {"$anchor": "x", "type": "string"},
            "middle": {"$id": "middle", "$ref": "list", "$defs": {"d": {"$dynamicAnchor": "x", "type": "null"}}},
            "list": generic(),
        },
    }
    assert read(schema).text == '{"items":{"type":"null"}}'


def test_a_pointer_is_no_name() -> None:
    schema = {
        "$id": "http://example.com/",
        "$ref": "list",
        "$defs": {
            "own": {"$dynamicAnchor": "x", "type": "string"},
            "list": {
                "$id": "list", "items": {"$dynamicRef": "#/$defs/d"},
                "$defs": {"d": {"$dynamicAnchor": "x", "type": "null"}},
            },
        },
    }  # fmt: skip
    assert read(schema).text == '{"items":{"type":"null"}}'


def test_a_document_on_the_way_counts_and_one_beside_it_does_not() -> None:
    documents: dict[str, Any] = {"http://example.com/a": {"$dynamicAnchor": "x", "type": "string"}}
    beside = {
        "items": {"$dynamicRef": "#x"},
        "contains": {"$ref": "http://example.com/a"},
        "$defs": {"d": {"$dynamicAnchor": "x", "type": "null"}},
    }
    assert read(beside, documents=documents).text == '{"contains":{"type":"string"},"items":{"type":"null"}}'
    on_the_way = {"$ref": "http://example.com/b#/$defs/e"}
    documents = {
        "http://example.com/b": {
            "$defs": {"e": {"$ref": "http://example.com/c"}, "d": {"$dynamicAnchor": "x", "type": "null"}}
        },
        "http://example.com/c": {"items": {"$dynamicRef": "#x"}, "$defs": {"d": {"$dynamicAnchor": "x"}}},
    }
    assert read(on_the_way, documents=documents).text == '{"items":{"type":"null"}}'


def test_an_extended_recursion_is_the_recursion_written_out() -> None:
    tree = {
        "$id": "tree", "$dynamicAnchor": "node", "type": "object",
        "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
    }  # fmt: skip
    strict = {
        "$id": "http://example.com/strict", "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": False,
        "$defs": {"tree": tree},
    }  # fmt: skip
    written_out = {
        "allOf": [
            {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}},
        ],
        "unevaluatedProperties": False,
    }
    assert read(strict).digest == read(written_out).digest
    assert read(tree).digest == read(written_out["allOf"][0]).digest  # type: ignore[index]


def test_a_dynamic_cycle_that_looks_at_nothing_new_is_refused() -> None:
    assert refusal({"$dynamicAnchor": "x", "$dynamicRef": "#x"}) == ("unguarded_ref_cycle", "/$dynamicRef")
    schema = {
        "$id": "http://example.com/", "$dynamicAnchor": "x", "$ref": "b",
        "$defs": {"b": {"$id": "b", "allOf": [{"$dynamicRef": "#x"}], "$defs": {"d": {"$dynamicAnchor": "x"}}}},
    }  # fmt: skip
    assert refusal(schema) == ("unguarded_ref_cycle", "/$defs/b/allOf/0/$dynamicRef")
    # Alone, `b` leads to its own `d`.
    read({**schema, "$ref": "b", "$dynamicAnchor": "y"})


def test_a_dynamic_recursion_without_a_base_has_no_instance() -> None:
    schema = {
        "$id": "http://example.com/", "$dynamicAnchor": "x", "$ref": "b",
        "$defs": {
            "b": {
                "$id": "b", "type": "object", "required": ["a"], "properties": {"a": {"$dynamicRef": "#x"}},
                "$defs": {"d": {"$dynamicAnchor": "x"}},
            }
        },
    }  # fmt: skip
    assert refusal(schema)[0] == "unsatisfiable"
    read({**schema, "$dynamicAnchor": "y"})


def test_a_dynamic_reference_to_no_anchor_is_unresolved() -> None:
    assert refusal({"items": {"$dynamicRef": "#x"}}) == ("unresolved_reference", "/items/$dynamicRef")
    far = refusal({"items": {"$dynamicRef": "http://example.com/#x"}})
    assert far == ("remote_reference", "/items/$dynamicRef")


def test_faults_seen_in_several_scopes_are_told_once() -> None:
    schema = {
        "$id": "http://example.com/",
        "prefixItems": [{"$ref": "a"}, {"$ref": "list"}],
        "$defs": {
            "a": {"$id": "a", "$ref": "list", "$defs": {"own": {"$dynamicAnchor": "x", "type": "null"}}},
            "list": generic(contains={"$ref": "#/nowhere"}),
        },
    }
    assert refusal(schema) == ("unresolved_reference", "/$defs/list/contains/$ref")
