"""Bounds of a policy reach the schemas inside contracts of other kinds, and nothing else of them."""

from typing import Any

from compiler_pool.kinds.kind_grammar import kind_grammar
from compiler_pool.lowering.outcome import Lowered
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from policy.text_bounds import BoundedPlace, TextBounds
from registry.contract import ContractKind
from registry.reading import read_contract
from tests.compiler_pool.lark.form_texts import generates, matcher_of

POLICY = EnforcementPolicy(bounds=TextBounds(max_digits=3, max_items=2))


def lowered(kind: ContractKind, value: Any) -> Lowered:
    contract = read_contract(kind, value, limits=TENANT.contract, policy=POLICY)
    outcome = kind_grammar(kind, contract.text, limits=TENANT, policy=POLICY)
    assert isinstance(outcome, Lowered)
    return outcome


def test_parameters_of_tools_are_bounded_at_their_place() -> None:
    members = {"n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "null"}}}
    parameters = {"type": "object", "properties": members, "additionalProperties": False}
    outcome = lowered(
        ContractKind.TOOL_SET, [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    )
    matcher = matcher_of(outcome.grammar)
    call = '{{"name":"f","arguments":{{"n":{},"l":{}}}}}'
    assert generates(matcher, call.format("123", "[null,null]"))
    assert not generates(matcher, call.format("1234", "[]"))
    assert not generates(matcher, call.format("1", "[null,null,null]"))
    places = {(place.pointer.rpartition("/")[2], place.limit_name, place.limit) for place in outcome.bounded}
    assert places == {("n", "max_digits", 3), ("l", "max_items", 2)}
    assert all(
        place.pointer.endswith(("/parameters/properties/n", "/parameters/properties/l")) for place in outcome.bounded
    )


def test_a_schema_in_a_grammar_has_no_place_but_the_grammar() -> None:
    outcome = lowered(ContractKind.LARK, 'start: "x" %json {"type": "integer"}\n')
    matcher = matcher_of(outcome.grammar)
    assert generates(matcher, "x123")
    assert not generates(matcher, "x1234")
    assert outcome.bounded == (BoundedPlace(pointer="", limit_name="max_digits", limit=3),)


def test_texts_that_no_schema_describes_are_as_long_as_they_are() -> None:
    outcome = lowered(ContractKind.REGEX, "[0-9]+")
    assert generates(matcher_of(outcome.grammar), "1" * 50)
    assert outcome.bounded == ()
