"""What is proved is never contradicted, what is shown is judged, and both directions are one question asked twice."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.compatibility.schema_comparison import SchemaPair
from registry.compatibility.variations import hints, names_in, variations
from registry.compatibility.verdicts import Allowed, Direction, Forbidden, Safe, Unknown, Unsafe
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.text import canonical_json
from tests.registry.compatibility.comparing import BUDGET, JUDGES
from tests.registry.compatibility.making import Making
from tests.registry.reading import parsed, read
from tests.registry.strategies import SCHEMAS, VALUES

_SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_NUM_VARIED = 40
"""Documents near each one that a schema allows."""


def _pair(old: Any, new: Any) -> SchemaPair | None:
    try:
        return SchemaPair(read(old).schema, read(new).schema, JUDGES, BUDGET)
    except ContractRejectedError:
        return None


def _documents(pair: SchemaPair, values: list[JsonValue]) -> list[JsonValue]:
    """Documents that either schema allows, documents near them, and any others."""
    documents = [*values]
    edges, names = hints(pair.terms), names_in(pair.terms)
    for contract in (pair.old, pair.new):
        for seed in pair.seeds(contract.root):
            documents.append(seed)
            varied = variations(seed, edges, names)
            documents += [document for document, _ in zip(varied, range(_NUM_VARIED), strict=False)]
    return documents


def _assert_sound(pair: SchemaPair, values: list[JsonValue]) -> None:
    answers = {direction: pair.answer(direction) for direction in Direction}
    swapped = SchemaPair(pair.new.schema, pair.old.schema, JUDGES, BUDGET)
    assert type(swapped.answer(Direction.CONSUMER_SAFE)) is type(answers[Direction.PRODUCER_SAFE])
    assert type(swapped.answer(Direction.PRODUCER_SAFE)) is type(answers[Direction.CONSUMER_SAFE])
    sides = {
        Direction.CONSUMER_SAFE: (pair.new.judge, pair.old.judge),
        Direction.PRODUCER_SAFE: (pair.old.judge, pair.new.judge),
    }
    for direction, answer in answers.items():
        inner, outer = sides[direction]
        if isinstance(answer, Unsafe):
            assert isinstance(inner.judge(answer.witness_text.encode()), Allowed)
            assert isinstance(outer.judge(answer.witness_text.encode()), Forbidden)
    for value in _documents(pair, values):
        document = canonical_json(value).encode()
        for direction, answer in answers.items():
            inner, outer = sides[direction]
            if isinstance(answer, Safe) and isinstance(inner.judge(document), Allowed):
                assert isinstance(outer.judge(document), Allowed), (direction, document)
        for contract in (pair.old, pair.new):
            believed = pair.is_allowed(contract.root, value)
            if believed is not None:
                assert believed == isinstance(contract.judge.judge(document), Allowed), document


@_SETTINGS
@given(SCHEMAS, SCHEMAS, st.lists(VALUES, max_size=20))
def test_answers_about_two_random_schemas_are_sound(old: Any, new: Any, values: list[Any]) -> None:
    pair = _pair(old, new)
    if pair is not None:
        _assert_sound(pair, [parsed(value) for value in values])


@_SETTINGS
@given(st.randoms(use_true_random=False))
def test_answers_about_a_schema_and_a_mutation_of_it_are_sound(random: Random) -> None:
    making = Making(random)
    schema = making.schema(3)
    pair = _pair(schema, making.mutated(schema))
    if pair is not None:
        _assert_sound(pair, [parsed(making.value(2)) for _ in range(10)])


def test_few_random_mutations_are_left_without_an_answer() -> None:
    making = Making(Random(20261130))
    answers = []
    for _ in range(150):
        schema = making.schema(3)
        pair = _pair(schema, making.mutated(schema))
        if pair is not None:
            answers += [pair.answer(direction) for direction in Direction]

    num_unknown = sum(isinstance(answer, Unknown) for answer in answers)

    assert len(answers) > 150
    assert num_unknown < len(answers) * 0.02


@pytest.mark.parametrize(
    ("old", "new", "consumer", "producer"),
    [
        # 1.0 is an integer, and equal to 1
        ({"type": "integer"}, {"type": "number", "multipleOf": 1}, Safe, Safe),
        ({"enum": [1, 2]}, {"enum": [1.0, 2.0]}, Safe, Safe),
        ({"type": "array", "uniqueItems": True, "items": {"enum": [1, 2]}},
         {"type": "array", "maxItems": 2},
         Unsafe, Safe),
        ({"const": [True]}, {"const": [1]}, Unsafe, Unsafe),
        # integers above 2^53 and decimals are exact
        ({"type": "integer", "maximum": 9007199254740993},
         {"type": "integer", "maximum": 9007199254740992},
         Safe, Unsafe),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 1e-30}, {"minimum": 0, "maximum": 1e-30}, Unsafe, Safe),
        ({"multipleOf": 0.1}, {"multipleOf": 0.01}, Unsafe, Safe),
        # names that a closed object forbids make the object impossible
        ({"type": "string"},
         {"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"], "additionalProperties": False}]},
         Safe, Safe),
        ({"type": "object", "properties": {"a": False}, "required": ["b"]},
         {"type": "object", "properties": {"a": False}, "required": ["b"], "maxProperties": 1},
         Safe, Unsafe),
        # a member falls under its pattern as well as under its name, and not under the others
        ({"properties": {"ab": {"type": "integer"}}, "patternProperties": {"^a": {"minimum": 0}}},
         {"properties": {"ab": {"type": "integer", "minimum": 0}}, "patternProperties": {"^a": {"minimum": 0}}},
         Safe, Safe),
        ({"patternProperties": {"^a": True}, "additionalProperties": False},
         {"patternProperties": {"a": True}, "additionalProperties": False},
         Unsafe, Safe),
        ({"patternProperties": {"^a": True, "b$": True}, "additionalProperties": False},
         {"propertyNames": {"anyOf": [{"pattern": "^a"}, {"pattern": "b$"}]}},
         Safe, Safe),
        # overlapping branches
        ({"oneOf": [{"minimum": 0}, {"maximum": 10}]}, {"anyOf": [{"minimum": 0}, {"maximum": 10}]}, Unsafe, Safe),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, {"type": ["integer", "string"]}, Safe, Safe),
        # unevaluated members depend on the branch that holds
        ({"type": "object", "if": {"required": ["a"]}, "then": {"properties": {"a": True}},
          "unevaluatedProperties": False},
         {"type": "object", "properties": {"a": True}, "maxProperties": 1, "additionalProperties": False},
         Safe, Safe),
        ({"type": "array", "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}},
         {"type": "array", "items": {"type": ["null", "string"]}, "contains": {"type": "string"}},
         Safe, Safe),
        # lengths count code points
        ({"type": "string", "maxLength": 1}, {"type": "string", "pattern": "^[^]?$"}, Safe, Safe),
        ({"type": "string", "pattern": "^\\p{L}$"},
         {"type": "string", "pattern": "^(?:\\p{Lu}|\\p{Ll}|\\p{Lt}|\\p{Lm}|\\p{Lo})$"},
         Safe, Safe),
        ({"type": "string", "pattern": "^\\p{L}\\P{L}$"},
         {"type": "string", "maxLength": 2, "minLength": 2},
         Unsafe, Safe),
        # a schema that only recursion would satisfy
        ({"type": "object", "properties": {"n": {"$ref": "#"}}, "required": ["v"], "additionalProperties": False},
         {"type": "object", "properties": {"n": {"$ref": "#"}, "v": False}, "required": ["v"]},
         None, None),
        # formats contradict themselves only; a format that is a pattern is known as one
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "uri", "pattern": ":"}, Safe, Safe),
        ({"type": "string", "format": "uuid"},
         {"type": "string", "format": "uuid", "minLength": 36, "maxLength": 36},
         Safe, Safe),
        # a format that another one holds
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "uri-reference"}, Unsafe, Safe),
        # smaller steps than any candidate has decimals
        ({"type": "number", "multipleOf": 1e-10}, {"type": "number"}, Unsafe, Safe),
        # arrays and objects of which there are only so many, listed and described
        ({"const": {}}, {"type": "object", "additionalProperties": False}, Safe, Safe),
        ({"enum": [{}, {"a": None}]},
         {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False},
         Safe, Safe),
        ({"enum": [[], [True], [False]]}, {"type": "array", "items": {"type": "boolean"}, "maxItems": 1}, Safe, Safe),
        ({"enum": [[], [True]]}, {"type": "array", "items": {"type": "boolean"}, "maxItems": 1}, Unsafe, Safe),
        ({"enum": [{"a": [{"b": True}]}, {"a": [{"b": False}]}]},
         {"type": "object", "required": ["a"], "additionalProperties": False, "properties": {
             "a": {"type": "array", "minItems": 1, "maxItems": 1, "items": {
                 "type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"],
                 "additionalProperties": False}}}},
         Safe, Safe),
        ({"enum": [[], [None]]}, {"type": "array", "items": {"type": "null"}, "uniqueItems": True}, Safe, Safe),
        ({"enum": [[True, False], [False, True]]},
         {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "uniqueItems": True},
         Safe, Safe),
        # false beneath an optional member
        ({"type": "object", "properties": {"a": False}}, {"type": "object", "not": {"required": ["a"]}}, Safe, Safe),
        # equal items by pigeonhole
        ({"type": "array", "items": {"type": "null"}, "uniqueItems": True},
         {"type": "array", "items": {"type": "null"}, "maxItems": 1},
         Safe, Safe),
        ({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}, "maxContains": 1,
          "minContains": 0, "minItems": 2},
         {"type": "array", "items": {"type": "integer"}, "not": {"items": {"minimum": 5}}},
         Unsafe, Safe),
    ],
)  # fmt: skip
def test_traps(old: Any, new: Any, consumer: type | None, producer: type | None) -> None:
    pair = _pair(old, new)
    if consumer is None or producer is None:
        assert pair is None
        return
    assert pair is not None
    _assert_sound(pair, [])
    assert isinstance(pair.answer(Direction.CONSUMER_SAFE), consumer), pair.answer(Direction.CONSUMER_SAFE)
    assert isinstance(pair.answer(Direction.PRODUCER_SAFE), producer), pair.answer(Direction.PRODUCER_SAFE)
