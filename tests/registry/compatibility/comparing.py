"""How these tests compare: schemas as callers write them, the gateway's judge, and the whole comparison."""

import json
from typing import Any

from gateway.compatibility.judges import GatewayJudges
from registry.compatibility.comparison import Comparison, ContractText, compare
from registry.compatibility.schema_comparison import SchemaPair
from registry.compatibility.verdicts import (
    Allowed,
    Answer,
    ComparisonBudget,
    Direction,
    Forbidden,
    Safe,
    Unsafe,
)
from registry.text import canonical_json
from tests.registry.reading import read

JUDGES = GatewayJudges()
BUDGET = ComparisonBudget()


def contract(schema: Any) -> ContractText:
    """A JSON Schema contract."""
    return ContractText(kind="json_schema", text=read(schema).text)


def compared(old: Any, new: Any, *, budget: ComparisonBudget = BUDGET) -> Comparison:
    """Two schemas compared."""
    return compare(contract(old), contract(new), JUDGES, budget)


def pair(old: Any, new: Any) -> SchemaPair:
    """Two schemas, ready for single questions."""
    return SchemaPair(read(old).schema, read(new).schema, JUDGES, BUDGET)


def answers(old: Any, new: Any) -> tuple[str, str]:
    """Consumer's answer and producer's answer, by name; a witness is judged again before it counts."""
    comparison = compared(old, new)
    for direction in Direction:
        answer = comparison.answer(direction)
        if isinstance(answer, Unsafe):
            assert_witness(answer, old, new, direction)
    return type(comparison.consumer_safe).__name__, type(comparison.producer_safe).__name__


def assert_witness(answer: Answer, old: Any, new: Any, direction: Direction) -> None:
    """The document is allowed by the one contract and refused by the other: asked of judges of this test's own."""
    assert isinstance(answer, Unsafe)
    document = answer.witness_text.encode()
    assert canonical_json(answer.witness) == answer.witness_text
    inner, outer = (new, old) if direction is Direction.CONSUMER_SAFE else (old, new)
    assert isinstance(JUDGES.prepare(read(inner).text).judge(document), Allowed), answer
    assert isinstance(JUDGES.prepare(read(outer).text).judge(document), Forbidden), answer
    json.loads(answer.witness_text)


def is_safe(answer: Answer) -> bool:
    """Whether an answer is a proof."""
    return isinstance(answer, Safe)
