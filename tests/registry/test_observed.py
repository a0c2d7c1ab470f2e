"""A profile says how near a contract is to each limit, by the limit's own name."""

from dataclasses import asdict

import pytest

from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from tests.registry.reading import read


def test_every_limit_that_something_is_held_against_is_observed() -> None:
    contract = read_json_schema(
        {
            "type": "object",
            "properties": {
                "code": {"type": "string", "pattern": "^([a-z]{2}){3}$", "minLength": 3, "maxLength": 6},
                "step": {"type": "number", "multipleOf": 25, "maximum": 12},
                "tags": {"type": "array", "items": {"enum": ["a", "bb"]}, "maxItems": 7},
                "free": {"enum": [{"x": 1}]},
            },
            "patternProperties": {"^x-": True},
            "required": ["code", "step", "tags"],
        },
        limits=TENANT.contract,
        policy=EnforcementPolicy(),
    )
    observed = contract.profile.observed
    of_schemas = {name for name in asdict(TENANT.contract) if not name.startswith("max_grammar_")} - {"max_tools"}
    assert set(observed) == of_schemas
    assert observed["max_length"] == 6
    assert observed["max_required_length"] == 3
    assert observed["max_items"] == 7
    assert observed["max_multiple_of"] == 25
    assert observed["max_pattern_repeat_product"] == 6
    assert observed["max_optional_properties"] == 1
    assert observed["max_required_properties"] == 3
    assert observed["max_enum_scalars"] == 2
    assert observed["max_nesting"] == 5
    limits = asdict(TENANT.contract)
    assert all(value <= limits[name] for name, value in observed.items())


def test_names_and_copies_of_dynamic_references_are_observed() -> None:
    item = {"$id": "http://x/item", "$dynamicAnchor": "n", "properties": {"child": {"$dynamicRef": "#n"}}}
    outer = {"$id": "http://x/outer", "$dynamicAnchor": "n", "type": "object", "properties": {"i": {"$ref": "item"}}}
    contract = read(
        {
            "$defs": {"item": item, "outer": outer},
            "prefixItems": [{"$ref": "http://x/outer"}, {"$ref": "http://x/item"}],
        }
    )
    assert contract.profile.observed["max_dynamic_names"] == 1
    assert contract.profile.observed["max_scoped_subschemas"] == 2


def test_an_absurd_observation_is_reported_in_few_digits() -> None:
    with pytest.raises(ContractRejectedError) as caught:
        read_json_schema({"maxLength": 10**400}, limits=TENANT.contract, policy=EnforcementPolicy())
    assert caught.value.rejections[0].observed == 10**15
