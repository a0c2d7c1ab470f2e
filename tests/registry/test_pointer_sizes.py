"""Names over many parts: what is kept of a text grows with the text, and not with the product of two of its halves."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from policy.limits import TENANT
from policy.rejection import Rejection
from policy.rejection import RejectionCode as Code
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json
from tests.registry.reading import read, refusals

D7 = "http://json-schema.org/draft-07/schema#"
LONG = "n" * 30_000
MANY = 10_000
LIMIT = 64 * TENANT.contract.max_contract_bytes
_MIB = 1024 * 1024


@contextmanager
def little_memory() -> Iterator[None]:
    """At most 32 MiB more than before, at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 32 * _MIB
    finally:
        tracemalloc.stop()


def limit_of(schema: Any) -> tuple[str | None, float | None]:
    found = refusals(schema)
    assert [fault.code for fault in found] == [Code.LIMIT_EXCEEDED]
    return found[0].limit_name, found[0].limit


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {LONG: {"allOf": [{}] * MANY}}},
        {"properties": {LONG: {"enum": [{}] * MANY}}},
        {"$defs": {LONG: {"allOf": [True] * (MANY // 2)}}},
        {"$schema": D7, "properties": {LONG: {"items": [{}] * MANY}}},
        {"$schema": D7, "definitions": {"~" * 30_000: {"items": [{}] * MANY}}},
    ],
    ids=["applicators", "values", "definitions", "translated", "escaped"],
)
def test_a_long_name_above_many_parts_is_refused(schema: Any) -> None:
    with little_memory():
        assert limit_of(schema) == ("max_pointer_characters", LIMIT)


def chain(num_hops: int, leaf: Any) -> dict[str, Any]:
    """Definitions that lead to the leaf, each by a name of a thousand characters."""
    names = ["n" * 1_000 + str(number) for number in range(num_hops)]
    steps = {f"d{n}": {"properties": {name: {"$ref": f"#/$defs/d{n + 1}"}}} for n, name in enumerate(names)}
    return {"$ref": "#/$defs/d0", "$defs": {**steps, f"d{num_hops}": leaf}}


def test_names_that_come_together_only_in_the_canonical_text_are_counted_there() -> None:
    with little_memory():
        assert limit_of(chain(12, {"allOf": [{}] * MANY})) == ("max_pointer_characters", LIMIT)
    assert "$ref" not in read(chain(12, {"allOf": [{}] * 100})).text


def test_names_that_come_together_only_on_the_way_to_annotations_are_counted_there() -> None:
    with little_memory():
        assert limit_of(chain(27, {"allOf": [{"title": ""}] * 400})) == ("max_pointer_characters", LIMIT)
    assert len(read(chain(27, {"allOf": [{"title": ""}] * 100})).annotations) > 100


def test_a_contract_of_many_parts_under_short_names_is_far_from_the_limit() -> None:
    members = {f"member_{number}": {"type": "string", "title": "t"} for number in range(100)}
    schema = {"allOf": [{"properties": {"a_name_like_any_other": {"properties": members}}}] * 12}
    assert len(json.dumps(schema)) > 50_000
    assert read(schema).profile.num_subschemas > 2


@pytest.mark.parametrize(
    "schema",
    [
        {"$id": "http://x/" + LONG, "$defs": {f"a{n}": {"$id": f"{n}"} for n in range(1_000)}},
        {"$id": "http://x/" + "a/" * 1_100},
        {"$id": "http://x/" + "a/" * 900, "$defs": {"a": {"$id": "a/" * 900}}},
    ],
)
def test_the_name_of_a_resource_has_a_longest_length(schema: Any) -> None:
    assert limit_of(schema) == ("max_uri_characters", 2_048)


def test_a_fault_deep_under_a_long_name_is_told_with_its_pointer() -> None:
    faults: list[tuple[str, Callable[[Rejection], Any], Any]] = [
        ("1e999", lambda fault: fault.limit_name, "max_number_literal"),
        ('"\\ud800"', lambda fault: fault.code, Code.LONE_SURROGATE),
        ('{"a":1,"a":2}', lambda fault: fault.code, Code.DUPLICATE_NAME),
    ]
    for literal, told, expected in faults:
        text = f'{{"{LONG}":{{"b/c":[{"0," * MANY}{literal}]}}}}'
        with little_memory(), pytest.raises(ContractRejectedError) as caught:
            _parsed(text)
        fault = caught.value.rejections[0]
        assert told(fault) == expected
        assert fault.pointer.removesuffix("/a") == f"/{LONG}/b~1c/{MANY}"


def _parsed(text: str) -> JsonValue:
    return parse_json(text, max_bytes=_MIB, max_nesting=32)


def test_a_long_recursion_without_annotations_is_no_long_way() -> None:
    num = 1_000
    steps = {f"{n}": {"items": {"$ref": f"#/$defs/{(n + 1) % num}"}} for n in range(num)}
    contract = read({"$ref": "#/$defs/0", "$defs": steps})
    assert contract.text == '{"$defs":{"d0":{"items":{"$ref":"#/$defs/d0"}}},"$ref":"#/$defs/d0"}'
