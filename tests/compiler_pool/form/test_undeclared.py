"""Members that a schema leaves unnamed: not generated where it names some and says nothing of the rest."""

import json
from random import Random
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.errors import ContractRejectedError
from tests.compiler_pool.form.bounded_texts import Bounded
from tests.compiler_pool.lark.form_texts import generates, walk

OPEN = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}}}
BOUND = {"max_digits": 4, "max_undeclared": 0}


def test_an_object_that_names_some_members_and_says_nothing_of_others_has_no_others() -> None:
    open_ = Bounded(OPEN, **BOUND)
    assert open_.takes("{}", '{"a":1}', '{"a":1,"b":null}', '{"c":1}', '{"a":1,"c":1}') == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert ("", "max_undeclared", 0) in open_.places
    assert Bounded(OPEN, max_digits=4).takes('{"a":1,"c":1}') == [True]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"additionalProperties": True}, '{"c":[]}'),
        ({"additionalProperties": {"type": "string"}}, '{"c":"x"}'),
        ({"unevaluatedProperties": {"type": "null"}}, '{"c":null}'),
        ({"patternProperties": {"^x": {"type": "null"}}}, '{"c":1}'),
        ({"propertyNames": {"maxLength": 3}}, '{"c":1}'),
        ({"allOf": [{"additionalProperties": True}]}, '{"c":1}'),
        ({"anyOf": [{"patternProperties": {"^x": False}}]}, '{"c":1}'),
        ({"minProperties": 3}, '{"a":1,"b":null,"c":1}'),
        ({"if": {"additionalProperties": {"type": "null"}}, "then": {"required": ["a"]}}, '{"a":1,"c":1}'),
    ],
)
def test_what_a_schema_says_of_others_stands(said: dict[str, Any], text: str) -> None:
    spoken = Bounded({**OPEN, **said}, **BOUND)
    assert spoken.takes(text) == [True]
    assert not any(name == "max_undeclared" for _, name, _ in spoken.places)


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "required": ["a"]}, True])
def test_an_object_of_which_nothing_is_declared_is_as_free_as_it_was(schema: Any) -> None:
    assert Bounded(schema, **BOUND).takes('{"a":1,"z":2}') == [True]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"required": ["r"]}, '{"r":[]}'),
        ({"dependentRequired": {"a": ["r"]}}, '{"a":1,"r":1}'),
        ({"dependentSchemas": {"d": {"properties": {"e": {"type": "null"}}}}}, '{"e":null,"d":1}'),
        ({"allOf": [{"properties": {"n": {"type": "null"}}}]}, '{"a":1,"n":null}'),
        ({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["t"]}}, '{"a":1,"t":1}'),
        ({"not": {"required": ["q"]}}, '{"a":1}'),
    ],
)
def test_names_that_stand_anywhere_in_it_are_generated(more: dict[str, Any], text: str) -> None:
    schema = {**OPEN, **more}
    jsonschema.validate(json.loads(text), schema)
    bounded = Bounded(schema, **BOUND)
    assert bounded.refusal is None
    assert any(generates(bounded.matcher, each) for each in _orders(text)), text
    assert bounded.takes('{"never":1}') == [False]


def test_members_within_members_are_held_to_it_too() -> None:
    nested = Bounded({"type": "object", "properties": {"in": OPEN}, "required": ["in"]}, **BOUND)
    assert nested.takes('{"in":{"a":1}}', '{"in":{"z":1}}', '{"in":{},"z":1}') == [True, False, False]
    assert {pointer for pointer, name, _ in nested.places if name == "max_undeclared"} == {"", "/properties/in"}


KEYWORDS = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(st.sampled_from("abc"), st.sampled_from([{"type": "null"}, {"const": 1}, False])),
        "required": st.lists(st.sampled_from("abcd"), unique=True, max_size=2),
        "maxProperties": st.integers(0, 3),
        "additionalProperties": st.sampled_from([True, False, {"type": "null"}]),
        "dependentRequired": st.dictionaries(st.sampled_from("abd"), st.lists(st.sampled_from("abe"), unique=True)),
    },
)
SCHEMAS = st.recursive(
    KEYWORDS,
    lambda inner: st.builds(
        lambda own, name, parts: {**own, name: parts[0] if name in {"not", "if", "then"} else parts},
        KEYWORDS,
        st.sampled_from(["allOf", "anyOf", "oneOf", "not", "if", "then"]),
        st.lists(inner, min_size=1, max_size=2),
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(schema=SCHEMAS, seed=st.integers(0, 2**32))
def test_it_only_ever_narrows_and_leaves_no_contract_without_a_text(schema: dict[str, Any], seed: int) -> None:
    schema, random = {"type": "object", **schema}, Random(seed)
    try:
        free = Bounded(schema, max_digits=2)
    except ContractRejectedError:
        return
    bounded = Bounded(schema, max_digits=2, max_undeclared=0)
    assert (bounded.refusal is None) == (free.refusal is None)
    if bounded.refusal is not None:
        return
    for _ in range(8):
        text = walk(bounded.matcher, random, longest=40)
        if text is None:
            continue
        assert generates(free.matcher, text)
        names = json.loads(text, object_pairs_hook=lambda pairs: [name for name, _ in pairs])
        if len(names) == len(set(names)):  # where others are allowed by the schema's own word, one may repeat
            jsonschema.validate(json.loads(text), schema)


def _orders(text: str) -> list[str]:
    members = json.loads(text)
    names = [*members]
    orders = [names, names[::-1]]
    return [json.dumps({name: members[name] for name in order}, separators=(",", ":")) for order in orders]
