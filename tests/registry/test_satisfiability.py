from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from policy.limits import UNLIMITED
from registry.graph_builder import build_graph
from registry.merge import merge
from registry.references import CONTRACT, Bundle
from registry.satisfiability import shortest_instances
from registry.survey import survey_document
from registry.text import value_text
from tests.registry.reading import STRICT, parsed, read, refusal, refusals
from tests.registry.strategies import SCHEMAS, VALUES


def least_bytes(schema: Any) -> int:
    survey = survey_document(parsed(schema), document=CONTRACT, policy=STRICT)
    merged = merge(build_graph(Bundle(survey, {}, STRICT), UNLIMITED.contract))
    sizes, _ = shortest_instances(merged)
    return min(sizes[merged.root])


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (False, ""),
        ({"enum": []}, "/enum"),
        ({"type": "string", "const": 1}, "/const"),
        ({"type": "integer", "enum": [1.5, "a"]}, "/enum"),
        ({"enum": ["a", "b"], "minLength": 2}, "/enum"),
        ({"const": 5, "maximum": 4}, "/const"),
        ({"const": 5, "multipleOf": 2}, "/const"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "/minLength"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "/minItems"),
        ({"type": "array", "items": False, "minItems": 1}, "/minItems"),
        ({"type": "array", "items": False, "prefixItems": [{}], "minItems": 2}, "/minItems"),
        ({"type": "array", "prefixItems": [False], "minItems": 1}, "/prefixItems"),
        ({"type": "array", "contains": False}, "/contains"),
        ({"type": "array", "contains": {}, "minContains": 3, "maxContains": 2}, "/contains"),
        ({"type": "array", "contains": {}, "minContains": 3, "maxItems": 2}, "/contains"),
        ({"type": "number", "minimum": 3, "maximum": 2}, "/minimum"),
        ({"type": "number", "minimum": 3, "exclusiveMaximum": 3}, "/minimum"),
        ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4}, "/exclusiveMinimum"),
        ({"type": "number", "minimum": 1, "maximum": 4, "multipleOf": 5}, "/minimum"),
        ({"type": "integer", "minimum": 1, "maximum": 2, "multipleOf": 1.5}, "/minimum"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "/required"),
        ({"type": "object", "required": ["a"], "properties": {"b": {}}, "additionalProperties": False}, "/required"),
        ({"type": "object", "required": ["ab"], "patternProperties": {"^b": {}}, "additionalProperties": False},
         "/required"),
        ({"type": "object", "required": ["a"], "properties": {"a": {"enum": []}}}, "/properties/a/enum"),
        ({"type": "object", "required": ["a"], "dependentRequired": {"a": ["b"]}, "properties": {"b": False}},
         "/properties"),
        ({"type": "object", "required": ["a"], "dependentSchemas": {"a": False}}, "/dependentSchemas"),
        ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, "/required"),
        ({"type": "object", "minProperties": 2, "maxProperties": 1}, "/minProperties"),
        ({"type": "object", "minProperties": 2, "properties": {"a": {}}, "additionalProperties": False},
         "/minProperties"),
        ({"type": "object", "minProperties": 1, "propertyNames": False}, "/propertyNames"),
        ({"not": {}}, "/not"), ({"not": True}, "/not"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "/allOf"),
        ({"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"const": 1, "type": "null"}}}]},
         "/allOf/0/properties/a/const"),
        ({"anyOf": [False, {"enum": []}]}, "/anyOf"), ({"oneOf": [False, False]}, "/oneOf"),
        ({"if": {"type": "null"}, "then": False, "else": False}, "/if"),
        ({"type": "object", "required": ["x"], "properties": {"x": {"$ref": "#/$defs/e"}},
          "$defs": {"e": {"enum": []}}},
         "/$defs/e/enum"),
    ],
)  # fmt: skip
def test_a_contract_that_allows_nothing_is_refused_at_its_reason(schema: Any, pointer: str) -> None:
    assert refusal(schema) == ("unsatisfiable", pointer)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": False}},
        {"anyOf": [{"enum": []}, {"type": "null"}]},
        {"type": ["object", "null"], "required": ["a"], "additionalProperties": False},
        {"required": ["a"], "additionalProperties": False},
        {"type": "object", "required": ["ab"], "patternProperties": {"^a": {}}, "additionalProperties": False},
        {"type": "object", "required": ["a"], "properties": {"a": {}}, "additionalProperties": False},
        {"type": "array", "items": False}, {"type": "array", "items": False, "prefixItems": [{}], "minItems": 1},
        {"type": "array", "contains": False, "minContains": 0}, {"minLength": 3, "maxLength": 2},
        {"type": "number", "minimum": 3, "maximum": 3}, {"type": "integer", "exclusiveMinimum": 3, "maximum": 4},
        {"type": "object", "dependentRequired": {"a": ["b"]}, "properties": {"b": False}},
        {"if": {"type": "null"}, "then": False}, {"not": {"type": "null"}}, {"not": False},
        {"type": "object", "propertyNames": False}, {"dependentSchemas": {"a": False}},
    ],
)  # fmt: skip
def test_a_contradiction_that_can_be_avoided_is_no_reason(schema: Any) -> None:
    read(schema)


def test_recursion_without_a_base_has_no_instance() -> None:
    (found,) = refusals({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]})
    assert (found.code, found.pointer) == ("unsatisfiable", "/properties")
    assert "without end" in found.message
    pair = {
        "$ref": "#/$defs/a",
        "$defs": {
            "a": {"type": "array", "prefixItems": [{"$ref": "#/$defs/b"}], "minItems": 1},
            "b": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]},
        },
    }
    assert refusal(pair)[0] == "unsatisfiable"


@pytest.mark.parametrize(
    "definitions",
    [
        # Each asks for the next, and the last for the first.
        {
            "a": {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#/$defs/b"}}},
            "b": {"type": "object", "required": ["c"], "properties": {"c": {"$ref": "#/$defs/c"}}},
            "c": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/a"}}},
        },
        {
            "a": {"type": "array", "minItems": 2, "prefixItems": [{"type": "null"}, {"$ref": "#/$defs/b"}]},
            "b": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/a"}},
        },
        {
            "a": {"type": "array", "contains": {"$ref": "#/$defs/b"}},
            "b": {"type": "object", "required": ["x"], "additionalProperties": {"$ref": "#/$defs/a"}},
        },
        {
            "a": {"type": "object", "required": ["xy"], "patternProperties": {"^x": {"$ref": "#/$defs/b"}}},
            "b": {"allOf": [{}, {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/a"}}]},
        },
        {
            "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/c"}]},
            "b": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/a"}},
            "c": {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/a"}}},
        },
        {
            "a": {"type": "object", "required": ["x"], "dependentRequired": {"x": ["y"]},
                  "properties": {"y": {"$ref": "#/$defs/b"}}},
            "b": {"oneOf": [{"$ref": "#/$defs/a"}]},
        },
    ],
)  # fmt: skip
def test_a_recursion_through_several_without_a_base_has_no_instance(definitions: dict[str, Any]) -> None:
    for name in definitions:
        (found,) = refusals({"$ref": f"#/$defs/{name}", "$defs": definitions})
        assert found.code == "unsatisfiable"
    # One way out, and all of it can end.
    way_out = {**definitions, "b": {"anyOf": [{"type": "null"}, definitions["b"]]}}
    read({"$ref": "#/$defs/a", "$defs": way_out})


def test_recursion_with_a_base_has_its_shortest_instance() -> None:
    tree = {
        "type": "object",
        "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
        "required": ["v", "next"],
    }
    assert least_bytes(tree) == len('{"v":0,"next":null}')


@pytest.mark.parametrize(
    ("schema", "shortest"),
    [
        (True, "0"), ({"type": "string"}, '""'), ({"type": ["object", "string"], "minLength": 2}, "{}"),
        ({"const": {"b": 1.50, "a": None}}, '{"a":null,"b":1.5}'), ({"type": "array", "minItems": 3}, "[0,0,0]"),
        ({"type": "array", "minItems": 2, "items": {"type": "string"}}, '["",""]'),
        ({"type": "array", "contains": {"const": "abc"}, "minContains": 2}, '["abc","abc"]'),
        ({"type": "object", "required": ["é", "a"], "properties": {"a": {"type": "null"}}}, '{"é":0,"a":null}'),
        ({"type": "object", "minProperties": 2}, '{"":0,"":0}'),
        ({"allOf": [{"type": "string"}, {"minLength": 4}]}, '"1234"'),
        ({"anyOf": [{"const": "long enough"}, {"const": "short"}]}, '"short"'),
    ],
)  # fmt: skip
def test_the_shortest_instance_is_counted(schema: Any, shortest: str) -> None:
    assert least_bytes(schema) == len(shortest.encode())


def test_doublings_of_size_stay_numbers() -> None:
    definitions: dict[str, Any] = {
        f"x{n}": {"type": "array", "minItems": 9_999, "items": {"$ref": f"#/$defs/x{n + 1}"}} for n in range(25)
    }
    schema = {"$ref": "#/$defs/x0", "$defs": {**definitions, "x25": {"type": "string"}}}
    (found,) = refusals(schema)
    assert (found.limit_name, found.observed) == ("max_shortest_instance_bytes", 1 << 50)


@given(SCHEMAS, VALUES)
def test_the_estimate_is_never_above_a_valid_instance(schema: Any, instance: Any) -> None:
    if Draft202012Validator(schema).is_valid(instance):
        assert least_bytes(schema) <= len(value_text(parsed(instance)).encode())
        read(schema, limits=UNLIMITED)
