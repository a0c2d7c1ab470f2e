"""Bounds of a policy on what a contract leaves open: they narrow, say where, and never leave nothing in silence."""

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.lowering.outcome import Refused
from compiler_pool.schema_grammar import schema_grammar
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from policy.text_bounds import FREE_JSON
from registry.json_schema import read_json_schema
from registry.text import canonical_json
from tests.compiler_pool.form.bounded_texts import Bounded
from tests.compiler_pool.lark.form_texts import generates, matcher_of, parsed, walk

CLOSED = {"type": "object", "additionalProperties": False}


def test_strings_without_a_longest_length_get_one() -> None:
    free = Bounded({"type": "string"}, max_string_length=3)
    assert free.takes('""', '"abc"', '"é\\né"', '"abcd"') == [True, True, True, False]
    assert free.places == {("", "max_string_length", 3)}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "maxLength": 5}, '"abcde"'),
        ({"type": "string", "pattern": "^a{5}$"}, '"aaaaa"'),
        ({"enum": ["abcdef"]}, '"abcdef"'),
        ({"type": "string", "format": "date"}, '"2024-02-29"'),
    ],
)
def test_a_contracts_own_ends_are_not_moved(schema: Any, text: str) -> None:
    own = Bounded(schema, max_string_length=3)
    assert own.takes(text) == [True]
    assert own.places == set()


def test_names_that_nobody_declared_are_strings_too_and_declared_ones_are_not() -> None:
    schema = {"type": "object", "properties": {"declared": {"type": "null"}}, "additionalProperties": {"type": "null"}}
    names = Bounded(schema, max_string_length=2)
    assert names.takes('{"declared":null}', '{"ab":null}', '{"abc":null}') == [True, True, False]
    assert names.places == {("", "max_string_length", 2)}


def test_arrays_without_maxitems_end() -> None:
    schema = {"type": "array", "items": {"type": "boolean"}}
    assert Bounded(schema, max_items=2).takes("[]", "[true,true]", "[true,true,true]") == [True, True, False]
    assert Bounded({**schema, "maxItems": 3}, max_items=2).takes("[true,true,true]") == [True]
    assert Bounded({**schema, "maxItems": 3}, max_items=2).places == set()
    tuple_ = {"type": "array", "prefixItems": [{"type": "null"}, {"type": "null"}, {"type": "null"}], "items": False}
    assert Bounded(tuple_, max_items=3).takes("[null,null,null]") == [True]


def test_counted_and_distinct_items_end_too() -> None:
    counted = Bounded({"type": "array", "items": {"enum": [0, 1]}, "contains": {"const": 1}}, max_items=3)
    assert counted.takes("[0,0,1]", "[0,0,0]", "[0,0,1,1]") == [True, False, False]
    distinct = Bounded({"type": "array", "items": {"enum": [0, 1, 2]}, "uniqueItems": True}, max_items=2)
    assert distinct.takes("[0,1]", "[0,0]", "[0,1,2]") == [True, False, False]
    assert distinct.places == {("", "max_items", 2)}


def test_digits_end_before_and_after_the_point() -> None:
    numbers = Bounded({"type": "number"}, max_digits=3)
    assert numbers.takes("123", "-123.456", "1234", "1.2345", "1e99") == [True, True, False, False, True]
    assert Bounded({"type": "integer", "minimum": 0}, max_digits=3).takes("999", "1000") == [True, False]
    ended = Bounded({"type": "integer", "minimum": 0, "maximum": 5000}, max_digits=3)
    assert ended.takes("5000") == [True]
    assert ended.places == set()


def test_digits_of_times_and_durations_end_as_well() -> None:
    time = Bounded({"type": "string", "format": "date-time"}, max_digits=3)
    texts = ('"2024-02-29T10:00:00.123Z"', '"2024-02-29T10:00:00Z"', '"2024-02-29T10:00:00.1234Z"')
    assert time.takes(*texts) == [True, True, False]
    assert time.takes('"2016-12-31T23:59:60.123Z"', '"2017-01-01T05:29:60.1234+05:30"') == [True, False]
    assert time.places == {("", "max_digits", 3)}
    duration = Bounded({"type": "string", "format": "duration"}, max_digits=3)
    assert duration.takes('"P123DT1H"', '"P1234D"') == [True, False]
    beside = Bounded({"type": "string", "format": "duration", "pattern": "^P1"}, max_digits=3)
    assert beside.takes('"P1234D"') == [True]


def test_values_nest_no_deeper_than_they_may() -> None:
    free = Bounded(True, max_depth=2)
    assert free.takes("1", "[[1]]", '{"a":{"b":1}}', "[[[]]]", '{"a":{"b":{}}}') == [True, True, True, False, False]
    tree = {"$defs": {"t": {**CLOSED, "properties": {"t": {"$ref": "#/$defs/t"}}}}, "$ref": "#/$defs/t"}
    assert Bounded(tree, max_depth=2).takes('{"t":{}}', '{"t":{"t":{}}}') == [True, False]


def test_free_json_is_bounded_where_nobody_said_so() -> None:
    free = Bounded(True)
    deep = FREE_JSON.max_depth or 0
    assert free.takes("[" * deep + "]" * deep, "[" * (deep + 1) + "]" * (deep + 1)) == [True, False]
    assert free.takes("9" * (FREE_JSON.max_digits or 0), "9" * 33) == [True, False]
    assert free.places == {("", "max_digits", 32), ("", "max_depth", 32)}


def test_a_contract_that_has_no_value_within_a_bound_is_refused_by_its_name() -> None:
    deep = {"type": "array", "minItems": 1, "items": {"type": "array"}}
    cases: list[tuple[Any, str, int]] = [
        ({"type": "string", "minLength": 9}, "max_string_length", 3),
        ({"type": "array", "minItems": 9}, "max_items", 3),
        ({**CLOSED, "properties": {"a": deep}, "required": ["a"]}, "max_depth", 2),
    ]
    for schema, name, bound in cases:
        refusal = Bounded(schema, **{"max_digits": 9, name: bound}).refusal
        assert refusal is not None
        assert (refusal.code, refusal.limit_name, refusal.limit) == ("limit_exceeded", name, bound)


def test_where_two_bounds_each_leave_nothing_one_of_them_is_named() -> None:
    schema = {"type": "array", "minItems": 9, "items": {"type": "string", "minLength": 9}}
    refusal = Bounded(schema, max_items=3, max_string_length=3).refusal
    assert refusal is not None
    assert (refusal.code, refusal.limit_name) == ("limit_exceeded", "max_items")


def test_what_has_no_value_at_all_is_still_unsatisfiable() -> None:
    refusal = Bounded({"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]}, max_string_length=3).refusal
    assert refusal is not None
    assert refusal.code == "unsatisfiable"


def test_bounds_are_told_where_they_hold() -> None:
    schema = {**CLOSED, "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "number"}}}}
    assert Bounded(schema, max_string_length=5, max_items=5, max_digits=5).places == {
        ("/properties/a", "max_string_length", 5),
        ("/properties/b", "max_items", 5),
        ("/properties/b/items", "max_digits", 5),
    }
    holder = Bounded({**CLOSED, "properties": {"x": {"type": "array", "items": True}}}, max_digits=5)
    assert holder.places == {("/properties/x", "max_digits", 5)}


_LEAVES = st.sampled_from(
    [True, {"type": "number"}, {"type": "string"}, {"type": "integer"}, {"type": "null"}, {"const": 7}]
)
_SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda member: {**CLOSED, "properties": {"m": member}}, inner),
        st.builds(lambda first, second: {"anyOf": [first, second]}, inner, inner),
    ),
    max_leaves=4,
)


def _is_within(value: Any, depth: int = 0) -> bool:
    match value:
        case str():
            return len(value) <= 3
        case list():
            return len(value) <= 2 and depth < 3 and all(_is_within(each, depth + 1) for each in value)
        case dict():
            names = all(len(name) <= 3 for name in value)
            return names and depth < 3 and all(_is_within(each, depth + 1) for each in value.values())
        case _:
            return True


@settings(max_examples=40, deadline=None)
@given(_SCHEMAS, st.integers(0, 1 << 30))
def test_whatever_is_generated_is_within_the_bounds_and_valid_without_them(schema: Any, seed: int) -> None:
    bounded = Bounded(schema, max_digits=4, max_string_length=3, max_items=2, max_depth=3)
    free = matcher_of(schema_text(schema))
    random = Random(seed)
    for _ in range(3):
        text = walk(bounded.matcher, random, longest=40)
        if text is not None:
            assert generates(free, text)
            assert _is_within(parsed(text))
            assert max(map(len, re.findall("[0-9]+", re.sub('"[^"]*"', "", text))), default=0) <= 4


def schema_text(schema: Any) -> str:
    """The grammar without bounds, but for those that free JSON has of its own."""
    contract = read_json_schema(parsed(canonical_json(schema)), limits=TENANT.contract, policy=EnforcementPolicy())
    made = schema_grammar(contract.schema, limits=TENANT, policy=EnforcementPolicy())
    assert not isinstance(made, Refused)
    return made.grammar.text()
