"""Member names: what is declared, what a pattern claims, and what is left for additional properties."""

import pytest

from tests.compiler_pool.lowering.generation import Contract, refusal


@pytest.mark.parametrize(
    "text",
    [
        '{"\\u0061":"x"}',
        '{"a":1,"\\u0061":"x"}',
        '{"a":1,"a":"x"}',
        '{"a":"x"}',
    ],
)
def test_a_declared_name_has_one_spelling_only(text: str) -> None:
    contract = Contract('{"type":"object","properties":{"a":{"type":"integer"}}}')
    assert not contract.generates(text)
    assert contract.generates('{"a":1,"b":"x"}')


def test_a_declared_control_character_has_one_spelling_only() -> None:
    contract = Contract('{"properties":{"\\n":{"type":"integer"}},"additionalProperties":{"type":"null"}}')
    assert contract.generates('{"\\n":1,"b":null}')
    for text in ('{"\\n":null}', '{"\\u000a":null}', '{"\\u000A":null}'):
        assert not contract.generates(text)


def test_a_required_name_that_nothing_declares_is_still_required() -> None:
    contract = Contract('{"type":"object","required":["b","a"]}')
    assert contract.generates('{"b":1,"a":2}')
    assert not contract.generates('{"b":1}')


def test_a_pattern_applies_to_declared_names_too() -> None:
    contract = Contract(
        '{"properties":{"ab":{"type":"integer"}},"patternProperties":{"^a":{"minimum":4}},"additionalProperties":false}'
    )
    assert contract.generates('{"ab":5,"ac":"text"}')
    for text in ('{"ab":3}', '{"ac":3}', '{"b":5}', '{"\\u0061b":3}'):
        assert not contract.generates(text)


def test_additional_properties_do_not_look_into_all_of() -> None:
    contract = Contract('{"allOf":[{"properties":{"a":true}}],"additionalProperties":false}')
    assert contract.generates("{}")
    assert not contract.generates('{"a":1}')


def test_unevaluated_properties_alone_are_additional_properties() -> None:
    contract = Contract('{"type":"object","properties":{"a":true},"unevaluatedProperties":false}')
    assert contract.generates('{"a":1}')
    assert not contract.generates('{"b":1}')


def test_unevaluated_properties_beside_branches_are_refused() -> None:
    rejection = refusal('{"anyOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}').rejections[0]
    assert rejection.pointer == "/unevaluatedProperties"


def test_a_control_character_in_a_value_is_refused_only_beside_names() -> None:
    assert Contract('{"const":"a\\u0000b"}').generates('"a\\u0000b"')
    rejection = refusal('{"properties":{"a":{"const":"\\u0000"}}}').rejections[0]
    assert (rejection.pointer, rejection.keyword) == ("/properties/a/const", "const")


def test_no_properties_at_all_can_be_said_by_count() -> None:
    contract = Contract('{"type":"object","properties":{"a":true},"maxProperties":0}')
    assert contract.generates("{}")
    assert not contract.generates('{"a":1}')
    assert not contract.generates('{"b":1}')
