"""What merging must never do: make one of two subschemas that differ, however deep and through whatever recursion.

The definitions here are long enough to be shared, nearly equal, and refer to each other.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st

from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid, Valid
from policy.limits import UNLIMITED
from registry.contract import CanonicalContract, JsonValue
from registry.errors import ContractRejectedError
from registry.text import canonical_json
from tests.registry.mutating import mutated
from tests.registry.reading import LENIENT, parsed, read
from tests.registry.test_digest_pairs import DIFFERENT
from tests.registry.thorough import thorough

_PADDING: dict[str, JsonValue] = {
    "dependentRequired": {"a_name_that_makes_this_definition_long_enough_to_be_shared_where_used": []}
}
_SCALARS: tuple[Any, ...] = (None, True, 0, 1, 2, "", "a", "ab", [], {})
_PAIRS = [{"a": one, "b": two} for one in _SCALARS[:8:2] for two in _SCALARS[1:8:2]]
_ONCE: tuple[Any, ...] = (
    *([v] for v in _SCALARS), *({"a": v} for v in _SCALARS), *({"b": v} for v in _SCALARS), *_PAIRS, [None, 1],
    ["a", 2],
)  # fmt: skip
_TWICE: tuple[Any, ...] = (*([v] for v in _ONCE), *({"a": v} for v in _ONCE), *({"b": v} for v in _ONCE[:12]))
VALUES: tuple[Any, ...] = (*_SCALARS, *_ONCE, *_TWICE, *({"a": v} for v in _TWICE[::5]), *([v] for v in _TWICE[::7]))


def family(random: Random) -> dict[str, Any]:
    """A few definitions that are nearly one, and a root that has each of them under its name."""
    names = [f"n{number}" for number in range(random.randint(2, 4))]

    def reference() -> dict[str, Any]:
        return {"$ref": f"#/$defs/{random.choice(names)}"}

    def body() -> dict[str, Any]:
        shape = Random(seed)  # the same two parts in every definition
        parts: list[dict[str, Any]] = [
            {"properties": {"a": reference(), "b": reference()}}, {"items": reference()},
            {"prefixItems": [reference(), {"type": "string"}]},
            {"additionalProperties": reference(), "required": ["a"]},
            {"anyOf": [{"type": ["null", "integer"]}, {"items": reference(), "minItems": 1, "type": "array"}]},
            {"properties": {"a": {"type": "integer"}}, "unevaluatedProperties": reference()},
            {"contains": reference(), "minContains": 0, "maxContains": 1},
            {"not": {"prefixItems": [reference()], "minItems": 1}},
            {"if": {"type": "object"}, "then": {"properties": {"a": reference()}}, "else": {"type": ["array", "null"]}},
        ]  # fmt: skip
        first, second = shape.sample(range(len(parts)), 2)
        return {**parts[first], **parts[second], **_PADDING}

    seed = random.random()
    definitions: dict[str, Any] = {}
    for name in names:
        definition = body()
        if random.random() < 0.35:
            definition = mutated(definition, random)
        definitions[name] = definition
    return {"properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}, "$defs": definitions}


def alone(schema: dict[str, JsonValue], name: str) -> CanonicalContract | None:
    """One member's subschema as a contract of its own; none where it allows nothing."""
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, dict)
    members: dict[str, JsonValue] = {"properties": schema["properties"]}
    return readable({"$ref": f"#/$defs/members/properties/{name}", "$defs": {**definitions, "members": members}})


def readable(schema: JsonValue) -> CanonicalContract | None:
    """The contract, if the registry reads it."""
    try:
        return read(canonical_json(schema).encode(), limits=UNLIMITED, policy=LENIENT)
    except ContractRejectedError:
        return None


def assert_each_means_alone_what_it_means_among_the_others(schema: JsonValue) -> None:
    contract = readable(schema)
    assert contract is not None
    assert isinstance(schema, dict)
    written = contract.schema
    assert isinstance(written, dict)
    if "$ref" in written:  # the whole is recursive itself, and stands in a definition
        definitions = written["$defs"]
        assert isinstance(definitions, dict)
        root = definitions[str(written["$ref"]).rpartition("/")[2]]
        assert isinstance(root, dict)
        written = {**root, "$defs": definitions}
    members = schema["properties"]
    assert isinstance(members, dict)
    for name in members:
        one, other = alone(schema, name), alone(written, name)
        assert (one is None) == (other is None), name
        assert one is None or other is None or one.text == other.text, name


@thorough(st.integers(0, 2**48), num_examples=1_000)
def test_a_definition_means_alone_what_it_means_among_others_like_it(seed: int) -> None:
    schema = parsed(family(Random(seed)))
    if readable(schema) is not None:
        assert_each_means_alone_what_it_means_among_the_others(schema)


# Those that mean the same as a part of another schema.
PARTS = [pair for pair in DIFFERENT if not any(name in str(pair) for name in ("$ref", "$schema"))]
WRAPPINGS: tuple[Callable[[JsonValue], JsonValue], ...] = (
    lambda inner: inner,
    lambda inner: {"items": inner, **_PADDING},
    lambda inner: {"items": inner, "contains": {"$ref": "#/$defs/again"}, "minContains": 0, **_PADDING},
)


@pytest.mark.parametrize(("reason", "one", "other"), PARTS, ids=[pair[0] for pair in PARTS])
def test_two_contracts_in_one_stay_two(reason: str, one: Any, other: Any) -> None:
    """What has two digests is not merged either, plain or as part of something long or recursive."""
    first, second = parsed(one), parsed(other)
    again: JsonValue = {"type": ["array", "null"], "items": {"$ref": "#/$defs/again"}}
    for wrap in WRAPPINGS:
        members: JsonValue = {"n0": wrap(first), "n1": wrap(second), "n2": wrap(first)}
        assert_each_means_alone_what_it_means_among_the_others({"properties": members, "$defs": {"again": again}})


@thorough(st.integers(0, 2**48), num_examples=150)
def test_nearly_equal_definitions_keep_their_meanings(seed: int) -> None:
    schema = family(Random(seed))
    contract = readable(parsed(schema))
    if contract is None:
        return
    before, after = Judge.prepare(json.dumps(schema)), Judge.prepare(contract.text)
    assert isinstance(before, Judge)
    assert isinstance(after, Judge)
    for name in schema["$defs"]:
        for value in VALUES:
            document = parsed({name: value})
            expected, found = before.judge_value(document), after.judge_value(document)
            assert isinstance(expected, Valid | Invalid)
            assert isinstance(found, Valid) == isinstance(expected, Valid), json.dumps([schema, name, value])
