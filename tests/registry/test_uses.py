from policy.capability import LLGUIDANCE_1_9_1, KeywordUse, Plan, negotiate
from registry.uses import keyword_uses
from tests.registry.reading import STRICT, read


def test_every_keyword_of_every_subschema_is_a_use_and_data_is_none() -> None:
    contract = read(
        {
            "properties": {"title": {"enum": [{"not": {}}]}, "a": {"$ref": "#"}},
            "anyOf": [{"required": ["title"]}, {"dependentRequired": {"a": ["b"]}}],
        }
    )
    assert {(use.pointer, use.keyword) for use in keyword_uses(contract.schema)} == {
        ("/$ref", "$ref"),
        ("/$defs/d0/properties", "properties"),
        ("/$defs/d0/properties/title/enum", "enum"),
        ("/$defs/d0/properties/a/$ref", "$ref"),
        ("/$defs/d0/anyOf", "anyOf"),
        ("/$defs/d0/anyOf/0/required", "required"),
        ("/$defs/d0/anyOf/1/dependentRequired", "dependentRequired"),
    }


def test_a_canonical_contract_can_be_negotiated() -> None:
    plan = negotiate(keyword_uses(read({"type": "array", "uniqueItems": True}).schema), LLGUIDANCE_1_9_1, STRICT)
    assert isinstance(plan, Plan)
    assert plan.undecided == (KeywordUse(pointer="/uniqueItems", keyword="uniqueItems"),)


def test_a_boolean_schema_uses_nothing() -> None:
    assert list(keyword_uses(True)) == []
