"""What is read from an older dialect judges as that dialect's own validator does, wherever names stand."""

import json
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)
from jsonschema.protocols import Validator

from registry.errors import ContractRejectedError
from tests.registry.reading import LENIENT, read

_VALIDATORS: dict[str, type[Validator]] = {
    "http://json-schema.org/draft-04/schema#": Draft4Validator,
    "http://json-schema.org/draft-06/schema#": Draft6Validator,
    "http://json-schema.org/draft-07/schema#": Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": Draft202012Validator,
}
_NAMES = ("http://a/b", "http://a/c", "c", "http://a/d/e")
_REFERENCES = (
    "#/definitions/p", "#/definitions/p", "#/definitions/q", "#/$defs/p", "#/$defs/q", "#/definitions/p/definitions/p",
    "#/$defs/p/definitions/p", "#/definitions/q/$defs/p", "#/properties/x", "#/properties/x/definitions/p", "#",
    "http://a/b", "c", "http://a/c#/definitions/p",
)  # fmt: skip
_TYPES = ("integer", "string", "array")
_IDLE = ("items", "additionalItems", "contentSchema", "x-own", "const", "default")
_INSTANCES: tuple[Any, ...] = (
    1, "s", [], {}, {"x": 1}, {"x": "s"}, {"x": []}, {"y": 1}, {"y": "s"}, {"x": {"x": 1}}, {"x": {"x": "s"}},
    {"x": {"y": 1}}, {"x": {"y": "s"}}, {"y": {"x": 1}}, {"y": {"x": "s"}}, {"y": {"y": "s"}}, [1], ["s"], {"x": ["s"]},
)  # fmt: skip


def _schema(random: Random, depth: int) -> dict[str, Any]:
    """A small schema in which many references lead somewhere, and most `definitions` say different things."""
    schema: dict[str, Any] = {}
    if random.random() < 0.2:
        schema[random.choice(["$id", "$id", "$id", "id"])] = random.choice(_NAMES)
    if depth == 0 or random.random() < 0.3:
        if random.random() < 0.5:
            schema["$ref"] = random.choice(_REFERENCES)
        else:
            schema["type"] = random.choice(_TYPES)
    if depth:
        if random.random() < 0.6:
            schema["definitions"] = {name: _schema(random, depth - 1) for name in random.choice(["p", "pq", "q"])}
        if random.random() < 0.35:
            schema["$defs"] = {name: _schema(random, depth - 1) for name in random.choice(["p", "q"])}
        if "$ref" not in schema and random.random() < 0.8:
            schema["properties"] = {name: _schema(random, depth - 1) for name in random.choice(["x", "y", "xy"])}
        if random.random() < 0.15:
            schema[random.choice(_IDLE)] = _schema(random, depth - 1)
    return schema


@settings(max_examples=2500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(uri=st.sampled_from(sorted(_VALIDATORS)), seed=st.integers(min_value=0, max_value=2**32))
def test_an_accepted_schema_judges_as_its_own_dialect_does(uri: str, seed: int) -> None:
    random = Random(seed)
    source = {"$schema": uri, **_schema(random, random.choice([1, 2, 2, 3]))}
    try:
        contract = read(source, policy=LENIENT)
    except ContractRejectedError:
        return
    canonical = Draft202012Validator(json.loads(contract.text))
    original = _VALIDATORS[uri](source)
    for instance in _INSTANCES:
        assert canonical.is_valid(instance) == original.is_valid(instance), (source, contract.text, instance)
