"""Random schemas of older drafts: what is accepted judges as that draft's own validator in `jsonschema` does."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft6Validator, Draft7Validator, Draft201909Validator
from jsonschema.protocols import Validator

from gateway.validation.judge import Judge
from gateway.validation.verdict import Valid
from policy.limits import UNLIMITED
from registry.dialects import Dialect
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from tests.registry.reading import LENIENT, parsed

_VALIDATORS: dict[Dialect, type[Validator]] = {
    Dialect.DRAFT_04: Draft4Validator,
    Dialect.DRAFT_06: Draft6Validator,
    Dialect.DRAFT_07: Draft7Validator,
    Dialect.DRAFT_2019_09: Draft201909Validator,
}
# Of the oracle itself: endless recursion, arrays beside schemas in `dependencies`, `additionalItems` beside a boolean.
_ORACLE_FAULTS = (RecursionError, AttributeError, TypeError)
# Every keyword of every dialect, so that each one is met where it is at home and where it is not.
_ONE = (
    "not", "items", "items", "additionalItems", "additionalProperties", "contains", "propertyNames", "if", "then",
    "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema",
)  # fmt: skip
_MANY = ("allOf", "anyOf", "oneOf", "items", "items", "prefixItems")
_NAMED = ("properties", "properties", "patternProperties", "dependencies", "dependentSchemas", "definitions", "$defs")
_NUMBERS = ("minimum", "maximum")
_COUNTS = (
    "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "minContains", "maxContains",
)  # fmt: skip
_TYPES = ("integer", "string", "array", "object", "null", "boolean", "number")
_VALUES: tuple[Any, ...] = (0, 1, 2, -1, "a", "ab", "", None, True, [], [1], ["a", 1], {"a": 1}, {})
_REFERENCES = (
    "#", "#/definitions/a", "#/definitions/b", "#/definitions/a", "#/properties/a", "#/items/0", "#/items/1", "#/items",
    "#/additionalItems", "#/dependencies/a", "#/dependencies/b", "#/$defs/a", "#/allOf/0", "#/allOf/1", "#/not",
    "#/prefixItems/0", "#/dependentSchemas/a", "#/contains", "#/allOf/1/not/not/contains", "#name", "#other",
    "http://x/r", "http://x/r#/items/0", "http://x/r#name",
)  # fmt: skip
_IDS = ("#name", "#name", "#other", "http://x/r", "http://x/r", "s", "#/pointer")


def _schema(random: Random, dialect: Dialect, depth: int) -> Any:
    if random.random() < 0.08 and (dialect is not Dialect.DRAFT_04 or random.random() < 0.05):
        return random.random() < 0.7
    schema: dict[str, Any] = {}

    def below() -> Any:
        return _schema(random, dialect, depth - 1)

    def named() -> dict[str, Any]:
        return {name: below() for name in random.choice(["a", "b", "ab"])}

    if random.random() < 0.55:
        schema["type"] = random.choice(_TYPES) if random.random() < 0.8 else random.sample(_TYPES, 2)
    for keyword in random.sample(_NUMBERS, random.choice([0, 0, 1, 2])):
        schema[keyword] = random.choice([0, 1, 1.5])
    if random.random() < 0.25:
        keyword = random.choice(["exclusiveMinimum", "exclusiveMaximum"])
        is_old = (dialect is Dialect.DRAFT_04) is (random.random() < 0.95)
        schema[keyword] = random.random() < 0.7 if is_old else random.choice([0, 1])
    if random.random() < 0.3:
        schema[random.choice(_COUNTS)] = random.choice([0, 1, 2])
    if random.random() < 0.15:
        schema["required"] = random.choice([["a"], ["b"], ["a", "b"]])
    if random.random() < 0.1:
        schema["enum"] = random.sample(_VALUES, 3)
    if random.random() < 0.06:
        schema["const"] = random.choice(_VALUES)
    if random.random() < 0.06:
        schema["uniqueItems"] = random.random() < 0.8
    if random.random() < 0.06:
        schema["dependentRequired"] = {"a": ["b"]}
    if random.random() < 0.12:
        schema["id" if dialect is Dialect.DRAFT_04 else "$id"] = random.choice(_IDS)
    if random.random() < 0.03:
        schema["$anchor"] = random.choice(["name", "other"])
    if random.random() < 0.25:
        schema["$ref"] = random.choice(_REFERENCES)
    if dialect is Dialect.DRAFT_2019_09 and random.random() < 0.2:
        schema["$recursiveRef"] = "#"
    if depth:
        for _ in range(random.choice([1, 1, 2, 3])):
            kind = random.random()
            if kind < 0.35:
                schema[random.choice(_ONE)] = below()
            elif kind < 0.6:
                schema[random.choice(_MANY)] = [below() for _ in range(random.choice([1, 2, 2]))]
            else:
                keyword = random.choice(_NAMED)
                schema[keyword] = named()
                if keyword == "dependencies" and random.random() < 0.5:
                    schema[keyword]["c"] = ["a"]
        if isinstance(schema.get("items"), list) and random.random() < 0.6:
            schema["additionalItems"] = below()
        if random.random() < 0.4:
            schema["definitions"] = named()
    if "$ref" in schema:
        schema.pop("$id", None)  # the oracle takes a plain name beside `$ref` for one; nothing there counts
    if "unevaluatedItems" in schema:
        schema.pop("contains", None)  # which the oracle counts as 2020-12 does
    order = list(schema.items())
    random.shuffle(order)
    return dict(order)


def _aimed(random: Random, source: Any) -> Any:
    """The schema with most of its references leading to some object in it."""
    places: list[str] = []
    holders: list[dict[str, Any]] = []
    pending: list[tuple[str, Any]] = [("#", source)]
    while pending:
        place, value = pending.pop()
        if isinstance(value, dict):
            places.append(place)
            if isinstance(value.get("$ref"), str):
                holders.append(value)
            pending.extend((f"{place}/{name}", member) for name, member in value.items())
        elif isinstance(value, list):
            pending.extend((f"{place}/{index}", member) for index, member in enumerate(value))
    for holder in holders:
        if random.random() < 0.7:
            holder["$ref"] = random.choice(places)
    return source


def _instance(random: Random, depth: int) -> Any:
    kind = random.random()
    if depth and kind < 0.35:
        return [_instance(random, depth - 1) for _ in range(random.choice([0, 1, 2, 3]))]
    if depth and kind < 0.7:
        return {name: _instance(random, depth - 1) for name in random.choice(["", "a", "b", "c", "ab", "ac", "abc"])}
    return random.choice((0, 1, 2, -1, 1.5, "a", "ab", "", None, True, False))


def _agrees(dialect: Dialect, source: Any, instances: list[Any]) -> bool:
    """Whether the schema was accepted. A verdict that differs fails."""
    try:
        contract = read_json_schema(parsed(source), limits=UNLIMITED.contract, policy=LENIENT, dialect=dialect)
    except ContractRejectedError:
        return False
    judge = Judge.prepare(contract.text)
    assert isinstance(judge, Judge), (source, judge)
    original = _VALIDATORS[dialect](source)
    for instance in instances:
        verdict = judge.judge(json.dumps(instance).encode())
        try:
            expected = original.is_valid(instance)
        except _ORACLE_FAULTS:
            continue
        assert isinstance(verdict, Valid) is expected, (dialect, source, contract.text, instance, verdict)
    return True


@settings(max_examples=3000, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(dialect=st.sampled_from(sorted(_VALIDATORS)), seed=st.integers(min_value=0, max_value=2**48))
def test_an_accepted_schema_of_any_keywords_judges_as_its_draft_does(dialect: Dialect, seed: int) -> None:
    random = Random(seed)
    source = _aimed(random, _schema(random, dialect, random.choice([1, 2, 2, 3])))
    _agrees(dialect, source, [_instance(random, 2) for _ in range(12)])


@pytest.mark.parametrize("dialect", sorted(_VALIDATORS))
def test_a_good_part_of_the_random_schemas_is_accepted(dialect: Dialect) -> None:
    random = Random(7)
    accepted = [
        _agrees(dialect, _aimed(random, _schema(random, dialect, 2)), [_instance(random, 2)]) for _ in range(400)
    ]
    assert sum(accepted) > 40
