"""Contracts written to hurt: each gets its typed answer, in work that grows with its size and no faster."""

import json
from typing import Any

import pytest

from policy.limits import TENANT, UNLIMITED, LimitClass
from registry.canonical import MAX_CANONICAL_NESTING, read_canonical
from registry.contract import JsonValue
from registry.errors import MAX_REJECTIONS, ContractRejectedError
from registry.json_schema import read_json_schema
from tests.registry.reading import LENIENT, STRICT, read, refusals


def ring(size: int, keyword: str = "items") -> Any:
    nodes = {f"x{n}": {keyword: {"$ref": f"#/$defs/x{(n + 1) % size}"}, "title": str(n)} for n in range(size)}
    return {"$ref": "#/$defs/x0", "$defs": nodes}


def codes(schema: Any, limits: LimitClass = TENANT) -> set[str]:
    return {rejection.limit_name or rejection.code.value for rejection in refusals(schema, limits=limits)}


def test_a_value_nested_a_hundred_thousand_deep_is_refused_without_recursion() -> None:
    value: JsonValue = True
    for _ in range(100_000):
        value = {"not": value}
    with pytest.raises(ContractRejectedError) as caught:
        read_json_schema(value, limits=TENANT.contract, policy=STRICT)
    assert caught.value.rejections[0].limit_name == "max_nesting"
    while isinstance(value, dict):  # taken apart by hand: the interpreter would recurse
        value = value.pop("not")


def test_ten_thousand_references_in_a_row_are_one_step() -> None:
    hops: dict[str, Any] = {f"h{n}": {"$ref": f"#/$defs/h{n + 1}"} for n in range(10_000)}
    schema = {"$ref": "#/$defs/h0", "$defs": {**hops, "h10000": {"type": "null"}}}
    assert read(schema, limits=UNLIMITED).text == '{"type":"null"}'


def test_ten_thousand_references_with_siblings_are_too_long_a_path() -> None:
    hops: dict[str, Any] = {f"h{n}": {"$ref": f"#/$defs/h{n + 1}", "minLength": n} for n in range(10_000)}
    schema = {"$ref": "#/$defs/h0", "$defs": {**hops, "h10000": {"type": "null"}}}
    assert codes(schema, UNLIMITED) == {"max_path"}
    assert codes(schema) == {"max_contract_bytes"}


def test_a_ring_of_equal_subschemas_is_one() -> None:
    contract = read(ring(4_000), limits=UNLIMITED)
    assert contract.text == '{"$defs":{"d0":{"items":{"$ref":"#/$defs/d0"}}},"$ref":"#/$defs/d0"}'


def test_a_ring_of_different_subschemas_is_too_long_a_path() -> None:
    schema = ring(2_000)
    schema["$defs"]["x0"]["minLength"] = 1
    assert codes(schema, UNLIMITED) == {"max_path"}


def test_a_ring_that_consumes_nothing_is_refused() -> None:
    assert codes(ring(2_000, "not"), UNLIMITED) == {"unguarded_ref_cycle"}


def test_every_subschema_referring_to_every_other_is_read() -> None:
    names = [f"x{n}" for n in range(60)]
    schema = {
        "$ref": "#/$defs/x0",
        "$defs": {
            name: {"properties": {other: {"$ref": f"#/$defs/{other}"} for other in names}, "minProperties": n}
            for n, name in enumerate(names)
        },
    }
    contract = read(schema, limits=UNLIMITED)
    assert contract.profile.num_subschemas == 60
    assert read(contract.text.encode(), limits=UNLIMITED).text == contract.text


def test_a_hundred_thousand_members_are_refused_by_the_first_limit() -> None:
    assert codes({"properties": {f"p{n}": {} for n in range(100_000)}}) == {"max_contract_bytes"}
    names = [f"p{n}" for n in range(20_000)]
    contract = read({"properties": dict.fromkeys(names, True), "required": names}, limits=UNLIMITED)
    assert contract.profile.num_subschemas == 2


def test_a_hundred_thousand_unknown_keywords_are_answered_with_the_first_few() -> None:
    assert len(refusals({f"k{n}": {} for n in range(100_000)}, limits=UNLIMITED)) == MAX_REJECTIONS


def test_sixty_thousand_enum_values_are_counted_and_not_compared_in_pairs() -> None:
    assert codes({"enum": list(range(10_000))}) == {"max_enum_scalars", "max_enum_bytes"}
    assert read({"enum": list(range(60_000))}, limits=UNLIMITED).profile.num_enum_members == 60_000


def test_a_long_chain_of_anchors_and_resources_is_read() -> None:
    definitions: dict[str, Any] = {
        f"x{n}": {"$id": f"http://example.com/{n}", "$anchor": "here", "items": {"$ref": f"{n + 1}#here"}}
        for n in range(100)
    }
    last = {"$id": "http://example.com/100", "$anchor": "here", "type": "null"}
    schema = {"$ref": "http://example.com/0#here", "$defs": {**definitions, "x100": last}}
    assert read(schema, limits=UNLIMITED).profile.depth == 100


def test_a_tower_of_not_is_refused_by_nesting() -> None:
    text = b'{"not":' * 20_000 + b"true" + b"}" * 20_000
    with pytest.raises(ContractRejectedError):
        read(text)


def test_the_deepest_contract_that_is_read_has_a_shallow_canonical_text() -> None:
    schema: Any = {"enum": [json.loads("[" * 10 + "]" * 10)]}
    for n in range(100):
        schema = {"properties": {f"p{n}": schema}}
    contract = read(schema, limits=UNLIMITED)
    assert read_canonical(contract.text) == contract.schema
    depth = deepest = 0
    for character in contract.text:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    assert deepest < 64 < MAX_CANONICAL_NESTING


def test_twenty_thousand_equal_subschemas_are_one() -> None:
    schema = {"prefixItems": [{"type": "null"}] * 20_000}
    assert read(schema, limits=UNLIMITED).profile.num_subschemas == 2


@pytest.mark.parametrize(
    "name", ["\x00", "\u2028", "\ufeff", "\U0001d54f", "a" * 500, "../", "%2e", "#", "$ref", "__proto__"]
)
def test_strange_names_keep_their_identity(name: str) -> None:
    contract = read({"properties": {name: {"$ref": "#/$defs/x"}}, "$defs": {"x": {"const": name}}}, policy=LENIENT)
    assert contract.schema == {"properties": {name: {"const": name}}}
    assert read(contract.text.encode()).digest == contract.digest
