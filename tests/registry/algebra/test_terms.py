"""Two schemas as one set of terms: what says the same is one term, and nothing else is."""

from typing import Any

import pytest

from registry.algebra.terms import TermId, Terms, UnreadableContractError
from registry.contract import JsonValue
from tests.registry.reading import read


def _roots(*schemas: Any) -> list[TermId]:
    return Terms().read(*(read(schema).schema for schema in schemas))


def test_equal_schemas_are_one_term_however_they_are_laid_out() -> None:
    inlined = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
    shared = {"$defs": {"i": {"type": "integer"}, "a": {"items": {"$ref": "#/$defs/i"}, "type": "array"}},
              "type": "array", "items": {"$ref": "#/$defs/a"}}  # fmt: skip

    one, two = _roots(inlined, shared)

    assert one == two


def test_recursion_is_seen_through_in_two_contracts_with_other_names() -> None:
    one, two, three = _roots(
        {"type": "object", "properties": {"n": {"$ref": "#"}}},
        {"$defs": {"x": {"type": "object", "properties": {"n": {"$ref": "#/$defs/y"}}},
                   "y": {"type": "object", "properties": {"n": {"$ref": "#/$defs/x"}}}}, "$ref": "#/$defs/x"},
        {"type": "object", "properties": {"n": {"$ref": "#"}, "m": True}},
    )  # fmt: skip

    assert one == two
    assert one != three


def test_what_differs_deep_down_is_another_term_all_the_way_up() -> None:
    def nested(leaf: str) -> Any:
        return {"properties": {"a": {"properties": {"b": {"items": {"type": leaf}}}}}}

    one, two = _roots(nested("string"), nested("null"))

    assert one != two


def test_true_and_1_are_different_values() -> None:
    one, two, three = _roots({"const": 1}, {"const": True}, {"const": 1.0})

    assert one != two
    assert one == three


def test_the_order_of_members_is_not_told_apart_but_that_of_items_is() -> None:
    one, two = _roots({"properties": {"a": True, "b": False}}, {"properties": {"b": False, "a": True}})
    three, four = _roots({"prefixItems": [True, False]}, {"prefixItems": [False, True]})

    assert one == two
    assert three != four


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/missing"},
        {"$ref": "other"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/a", "type": "null", "$defs": {"a": True}},
        {"$dynamicRef": "#a"},
        {"properties": []},
        {"items": 3},
        {"minimum": "x"},
        {"required": [1]},
        {"$defs": []},
        "true",
    ],
)
def test_what_is_no_canonical_form_is_refused(schema: JsonValue) -> None:
    with pytest.raises(UnreadableContractError):
        Terms().read(schema)
