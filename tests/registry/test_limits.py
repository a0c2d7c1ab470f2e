"""Every limit on a contract: kept at its value, refused one past it, by name and place and with both numbers."""

import json
from dataclasses import replace
from typing import Any

import pytest

from policy.limits import TENANT, UNLIMITED, LimitClass, limit_names
from policy.rejection import Rejection
from tests.registry.reading import read, refusals


def limited(**limits: int) -> LimitClass:
    return replace(UNLIMITED, contract=replace(UNLIMITED.contract, **limits))


def chain(length: int) -> Any:
    schema: Any = {"type": "null"}
    for _ in range(length):
        schema = {"items": schema}
    return schema


def doublings(count: int) -> Any:
    definitions: dict[str, Any] = {f"x{n}": {"properties": {
        "the_left_branch": {"$ref": f"#/$defs/x{n + 1}"}, "the_right_branch": {"$ref": f"#/$defs/x{n + 1}"},
    }} for n in range(count)}  # fmt: skip
    return {"$ref": "#/$defs/x0", "$defs": {**definitions, f"x{count}": {"type": "null"}}}


def lists_of(*types: str) -> Any:
    """One list whose items depend on who refers to it."""
    definitions: dict[str, Any] = {
        name: {"$id": name, "$ref": "list", "$defs": {"own": {"$dynamicAnchor": "item", "type": name}}}
        for name in types
    }
    definitions["list"] = {
        "$id": "list", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}},
    }  # fmt: skip
    return {"$id": "http://example.com/", "prefixItems": [{"$ref": name} for name in types], "$defs": definitions}


CASES: dict[str, tuple[int, Any, Any, str, int]] = {
    # limit: value, schema at it, schema past it, pointer, observed
    "max_contract_bytes": (20, {"type": "null"}, {"type": "null", "title": "1234"}, "", 30),
    "max_nesting": (2, {"items": {}}, {"items": {"items": {}}}, "", 3),
    "max_path": (3, chain(3), chain(4), "/items/items/items/items", 4),
    "max_subschemas": (3, {"properties": {"a": {"type": "null"}, "b": {"type": "string"}}},
                       {"properties": {"a": {"type": "null"}, "b": {"type": "string"}, "c": {"type": "array"}}}, "", 4),
    "max_unfolded_subschemas": (15, doublings(3), doublings(4), "", 31),
    "max_dynamic_names": (1, {"items": {"$dynamicRef": "#x"}, "$defs": {"x": {"$dynamicAnchor": "x"}}},
                          {"items": {"$dynamicRef": "#x"}, "contains": {"$dynamicRef": "#y"},
                           "$defs": {"x": {"$dynamicAnchor": "x"}, "y": {"$dynamicAnchor": "y"}}}, "", 2),
    "max_scoped_subschemas": (2, lists_of("string", "null"), lists_of("string", "null", "array"), "", 3),
    "max_shortest_instance_bytes": (7, {"type": "string", "minLength": 5}, {"type": "string", "minLength": 6}, "", 8),
    "max_optional_properties": (2, {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a"]},
                                {"properties": {"a": {}, "b": {}, "c": {}}}, "/properties", 3),
    "max_required_properties": (1, {"required": ["a"]}, {"required": ["a", "b"]}, "/required", 2),
    "max_pattern_properties": (1, {"patternProperties": {"a": {}}}, {"patternProperties": {"a": {}, "b": {}}},
                               "/patternProperties", 2),
    "max_enum_scalars": (2, {"enum": [1, 1.0, 2]}, {"enum": [1, 2, 3]}, "/enum", 3),
    "max_enum_objects": (1, {"enum": [[], 1, 2]}, {"enum": [[], {}, 2]}, "/enum", 2),
    "max_enum_bytes": (8, {"enum": ["1234"]}, {"enum": ["12345"]}, "/enum", 9),
    "max_literal_bytes": (3, {"const": {"éa": ["abc"]}}, {"const": {"éé": ["abc"]}}, "/const", 4),
    "max_pattern_bytes": (3, {"pattern": "abc"}, {"pattern": "abcd"}, "/pattern", 4),
    "max_pattern_repeat": (9, {"pattern": "a{9}"}, {"pattern": "a{10}"}, "/pattern", 10),
    "max_pattern_repeat_product": (6, {"pattern": "(a{2}){3}"}, {"pattern": "(a{2}){4}"}, "/pattern", 8),
    "max_pattern_depth": (2, {"pattern": "((a))"}, {"pattern": "(((a)))"}, "/pattern", 3),
    "max_number_digits": (3, {"maximum": 1.25, "minimum": 1234567}, {"maximum": 1.125}, "/maximum", 4),
    "max_multiple_of": (25, {"multipleOf": 0.25}, {"multipleOf": 26}, "/multipleOf", 26),
    "max_length": (5, {"maxLength": 5}, {"maxLength": 6}, "/maxLength", 6),
    "max_required_length": (5, {"minLength": 5, "maxLength": 9}, {"minLength": 6}, "/minLength", 6),
    "max_items": (5, {"maxItems": 5}, {"maxItems": 6}, "/maxItems", 6),
    "max_row_cost": (6, {"properties": {"a": {}}, "anyOf": [{"type": "null"}, {}]},
                     {"properties": {"a": {}}, "anyOf": [{"type": "null"}, {}, {"minItems": 1}]}, "/properties", 7),
}  # fmt: skip


def test_every_limit_has_a_case() -> None:
    others = {name for name in limit_names() if name.startswith("max_grammar_")} | {"max_tools"}  # no schema has these
    assert set(CASES) == set(limit_names()) - others


@pytest.mark.parametrize("name", CASES)
def test_a_contract_at_a_limit_is_read(name: str) -> None:
    limit, kept, _, _, _ = CASES[name]
    read(kept, limits=limited(**{name: limit}))


@pytest.mark.parametrize("name", CASES)
def test_a_contract_past_a_limit_is_refused_by_its_name(name: str) -> None:
    limit, _, broken, pointer, observed = CASES[name]
    (found,) = refusals(broken, limits=limited(**{name: limit}))
    assert (found.code, found.limit_name, found.limit) == ("limit_exceeded", name, limit)
    assert (found.pointer, found.observed) == (pointer, observed)
    assert json.dumps([found.limit, found.observed])


def first(schema: Any, limits: LimitClass = TENANT) -> Rejection:
    return refusals(schema, limits=limits)[0]


@pytest.mark.parametrize(
    ("schema", "pointer", "name"),
    [
        ({"properties": {"a": {"patternProperties": {"x{300}": {}}}}},
         "/properties/a/patternProperties/x{300}", "max_pattern_repeat"),
        ({"items": {"properties": {"n" * 2000: {}}}}, "/items/properties/" + "n" * 2000, "max_literal_bytes"),
        ({"required": ["n" * 2000]}, "/required", "max_literal_bytes"),
        ({"dependentRequired": {"n" * 2000: []}}, "/dependentRequired", "max_literal_bytes"),
        ({"enum": ["n" * 2000]}, "/enum", "max_literal_bytes"),
        ({"const": [0.1234567890123456789]}, "/const", "max_number_digits"),
        ({"multipleOf": 0.123456}, "/multipleOf", "max_multiple_of"),
        ({"contains": {}, "minContains": 20_000}, "/minContains", "max_items"),
        ({"oneOf": [{"const": n} for n in range(401)]}, "/oneOf", "max_row_cost"),
        ({"items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"minLength": 10_001}}}, "/$defs/x/minLength", "max_length"),
    ],
)  # fmt: skip
def test_limits_hold_wherever_a_keyword_can_hide_a_size(schema: Any, pointer: str, name: str) -> None:
    text = json.dumps(schema).replace("0.12345678901234568", "0." + "7" * 65)
    found = first(text.encode())
    assert (found.limit_name, found.pointer) == (name, pointer)


def test_whole_numbers_are_kept_exact_and_have_no_digit_limit() -> None:
    read({"const": 9007199254740993, "maximum": 9223372036854775807})


def test_unused_parts_count_only_as_text() -> None:
    read({"type": "null", "$defs": {"x": {"maxLength": 1_000_000}}})


def test_one_digest_has_one_verdict_whatever_the_layout() -> None:
    limits = limited(max_path=2)
    inline = {"items": {"items": {"items": {"type": "null"}}}}
    hops: Any = {f"h{n}": {"$ref": f"#/$defs/h{n + 1}"} for n in range(40)}
    shallow = {"items": {"$ref": "#/$defs/h0"}, "$defs": {**hops, "h40": {"type": "null"}}}
    assert read(shallow, limits=limits).text == '{"items":{"type":"null"}}'
    assert first(inline, limits).limit_name == "max_path"


def test_doublings_are_counted_and_not_unfolded() -> None:
    found = first(doublings(60), limited(max_path=200))
    assert found.limit_name == "max_unfolded_subschemas"
    assert found.observed == 10**15
    contract = read(doublings(10))
    assert len(contract.text) < 2000
    assert contract.profile.num_references == 2 * 9


def test_a_recursion_counts_once() -> None:
    schema = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "additionalProperties": False}
    profile = read(schema).profile
    assert profile.is_recursive
    assert profile.num_subschemas == 2


def test_the_profile_says_what_the_contract_holds() -> None:
    profile = read({"items": {"enum": [1, 2, 3]}, "contains": {"pattern": "^ab$"}}).profile
    assert profile.num_enum_members == 3
    assert profile.max_pattern_bytes == 4
    assert profile.depth == 1
    assert profile.contract_bytes == len('{"contains":{"pattern":"^ab$"},"items":{"enum":[1,2,3]}}')
