"""Counted members: exact where they can be counted, and never fooled by a name that comes twice."""

import pytest

from compiler_pool.lowering.outcome import Lowered, Refused
from tests.compiler_pool.lowering.generation import CHECKED, Contract, lowered


@pytest.mark.parametrize(
    ("schema", "generated", "withheld"),
    [
        ('{"type":"object","minProperties":1}', ['{"a":1}'], ["{}"]),
        ('{"minProperties":1,"additionalProperties":{"type":"null"}}', ['{"a":null}', "3"], ["{}", '{"a":1}']),
        ('{"maxProperties":1,"required":["a"]}', ['{"a":1}'], ['{"a":1,"b":2}', "{}"]),
        ('{"minProperties":2,"required":["a"]}', ['{"a":1,"b":2}'], ['{"a":1}', '{"a":1,"a":2}']),
        (
            '{"properties":{"a":{},"b":{},"c":false},"additionalProperties":false,"minProperties":1}',
            ['{"a":1}', '{"b":1}', '{"a":1,"b":2}', "null"],
            ["{}", '{"c":1}'],
        ),
        ('{"patternProperties":{"^a":{"type":"null"}},"maxProperties":1}', ['{"ab":null}'], ['{"ab":null,"b":1}']),
    ],
)
def test_members_are_counted(schema: str, generated: list[str], withheld: list[str]) -> None:
    contract = Contract(schema)
    assert [text for text in generated if not contract.generates(text)] == []
    assert [text for text in withheld if contract.generates(text)] == []


@pytest.mark.parametrize(
    "schema",
    [
        '{"minProperties":2}',
        '{"minProperties":3,"required":["a"]}',
        '{"minProperties":1,"properties":{"a":{}}}',
        '{"minProperties":2,"properties":{"a":{},"b":{},"c":{}},"additionalProperties":false}',
        '{"maxProperties":2,"properties":{"a":{}}}',
    ],
)
def test_a_count_that_a_repeated_or_optional_name_could_fool_is_not_left_to_the_engine(schema: str) -> None:
    assert isinstance(lowered(schema), Refused)
    contract = Contract(schema, CHECKED)
    assert "minProperties" not in contract.grammar
    assert "maxProperties" not in contract.grammar


def test_two_counts_that_meet_still_need_one_undeclared_member_at_most() -> None:
    contract = Contract('{"allOf":[{"minProperties":1},{"minProperties":2,"required":["a"]}]}')
    assert contract.generates('{"a":1,"b":2}')
    assert not contract.generates('{"a":1}')
    assert isinstance(lowered('{"allOf":[{"minProperties":1},{"required":["a"]}]}'), Lowered)
