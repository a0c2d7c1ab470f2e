"""A value in the order and spelling of its contract."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.conform.serialise import Serialiser, decimal_text, string_text
from gateway.validation.judge import Judge
from registry.contract import JsonValue
from registry.parsing import parse_json


def spellings(schema: dict[str, JsonValue], value: JsonValue) -> list[str]:
    judge = Judge.prepare(json.dumps(schema))
    assert isinstance(judge, Judge)
    return [text.decode() for text in Serialiser(schema, judge.admits).candidates(value)]


def test_members_come_in_the_contracts_order_then_required_then_as_given() -> None:
    schema: dict[str, JsonValue] = {"properties": {"b": True, "a": True}, "required": ["d", "a"]}
    value: JsonValue = {"x": 1, "a": 2, "d": 3, "b": 4, "c": 5}
    assert spellings(schema, value) == ['{"b":4,"a":2,"d":3,"x":1,"c":5}']


def test_order_reaches_through_references_branches_and_items() -> None:
    schema: dict[str, JsonValue] = {
        "prefixItems": [{"$ref": "#/$defs/a~1b"}],
        "items": {"allOf": [{"properties": {"z": True}}, {"properties": {"y": {"$ref": "#/$defs/a~1b"}}}]},
        "$defs": {"a/b": {"properties": {"n": True, "m": True}}},
    }
    value: JsonValue = [{"m": 1, "n": 2}, {"y": {"m": 1, "n": 2}, "z": 0}]
    assert spellings(schema, value) == ['[{"n":2,"m":1},{"z":0,"y":{"n":2,"m":1}}]']


def test_only_branches_that_accept_the_value_order_it() -> None:
    schema: dict[str, JsonValue] = {
        "anyOf": [
            {"properties": {"kind": {"const": "x"}, "b": True, "a": True}, "required": ["kind"]},
            {"properties": {"kind": {"const": "y"}, "a": True, "b": True}, "required": ["kind"]},
        ]
    }
    assert spellings(schema, {"b": 1, "a": 2, "kind": "y"}) == ['{"kind":"y","a":2,"b":1}']


def test_every_accepting_branch_gives_a_spelling() -> None:
    schema: dict[str, JsonValue] = {"anyOf": [{"properties": {"a": True, "b": True}}, {"properties": {"b": True}}]}
    assert spellings(schema, {"a": 1, "b": 2}) == ['{"a":1,"b":2}', '{"b":2,"a":1}']


def test_spellings_of_one_value_are_bounded() -> None:
    branch: JsonValue = {"anyOf": [{"properties": {"a": True, "b": True}}, {"properties": {"b": True, "a": True}}]}
    values: JsonValue = [{"a": 1, "b": 2}] * 40
    assert len(spellings({"items": branch}, values)) == 24


def test_a_reference_that_runs_in_a_circle_ends() -> None:
    schema: dict[str, JsonValue] = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#"}}}
    assert spellings(schema, {"x": [1]}) == ['{"x":[1]}']


@pytest.mark.parametrize(
    ("value", "text"),
    [("1.50", "1.5"), ("1e-7", "0.0000001"), ("-0.0", "0"), ("-2.5E+1", "-25"), ("1.000", "1")],
)
def test_numbers_are_plain(value: str, text: str) -> None:
    assert decimal_text(Decimal(value)) == text


def test_strings_use_short_escapes_and_hide_delete() -> None:
    assert string_text('"\\/\b\x01\x7fé\u2028') == '"\\"\\\\/\\b\\u0001\\u007fé\u2028"'


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(-(10**9), 10**9, places=4) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(_VALUES)
def test_a_spelling_reads_back_as_the_value(value: JsonValue) -> None:
    (text,) = Serialiser(True, lambda _value, _schema: True).candidates(value)
    assert parse_json(text, max_bytes=10_000_000, max_nesting=100) == value
