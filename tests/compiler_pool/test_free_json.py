"""Which contracts ask for "some JSON", and the bounds that they get where a policy has none."""

from compiler_pool.free_json import bounds_for
from policy.text_bounds import FREE_JSON, UNBOUNDED, TextBounds
from registry.contract import JsonValue

CLOSED: JsonValue = {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False}


def test_a_contract_that_only_names_types_is_held_to_bounds_of_its_own() -> None:
    free: list[JsonValue] = [True, {}, {"type": "object"}, {"type": ["array", "null"]}]
    for schema in free:
        assert bounds_for(schema, UNBOUNDED) == FREE_JSON
        assert bounds_for(schema, TextBounds(max_digits=5)) == TextBounds(max_digits=5, max_depth=FREE_JSON.max_depth)


def test_a_contract_that_says_more_has_those_of_the_policy_only() -> None:
    others: list[JsonValue] = [False, {"type": "object", "required": ["a"]}, CLOSED]
    for other in others:
        assert bounds_for(other, UNBOUNDED) == UNBOUNDED
        assert bounds_for(other, TextBounds(max_items=5)) == TextBounds(max_items=5)
