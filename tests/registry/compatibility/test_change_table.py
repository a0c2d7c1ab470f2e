"""Every kind of change: both answers, at every level, with a judged witness, and its line in a review."""

import pytest

from registry.compatibility.changes import ChangeKind, Effect, Example
from registry.compatibility.modes import CompatibilityMode, Compatible, Incompatible, judge_mode
from registry.compatibility.verdicts import Allowed, Direction, Safe, Unsafe
from registry.text import canonical_json
from tests.registry.compatibility.change_table import NESTED, ROWS, Row
from tests.registry.compatibility.comparing import JUDGES, assert_witness, compared
from tests.registry.reading import read

_ALL = (*ROWS, *NESTED)
_IDS = [f"{row.kind.value}-{row.effect.value}-{number}" for number, row in enumerate(_ALL)]
_NOT_OF_SCHEMAS = {
    ChangeKind.CHOICE_ADDED, ChangeKind.CHOICE_REMOVED, ChangeKind.EXPRESSION_CHANGED, ChangeKind.TOOL_ADDED,
    ChangeKind.TOOL_REMOVED, ChangeKind.TOOL_CHANGED, ChangeKind.KIND_CHANGED, ChangeKind.TEXT_CHANGED,
    ChangeKind.ANNOTATIONS_CHANGED,
}  # fmt: skip


def test_the_table_has_every_kind_of_change_that_schemas_have() -> None:
    assert {row.kind for row in ROWS} == set(ChangeKind) - _NOT_OF_SCHEMAS
    assert len({row.kind for row in ROWS}) > 60


@pytest.mark.parametrize("row", _ALL, ids=_IDS)
def test_both_questions_are_answered_with_a_proof_or_a_judged_witness(row: Row) -> None:
    comparison = compared(row.old, row.new)
    breaks_consumers = row.effect in {Effect.WIDENS, Effect.BOTH}
    breaks_producers = row.effect in {Effect.NARROWS, Effect.BOTH}

    for direction, breaks in (
        (Direction.CONSUMER_SAFE, breaks_consumers),
        (Direction.PRODUCER_SAFE, breaks_producers),
    ):
        answer = comparison.answer(direction)
        assert isinstance(answer, Unsafe if breaks else Safe), answer
        if breaks:
            assert_witness(answer, row.old, row.new, direction)


@pytest.mark.parametrize("row", _ALL, ids=_IDS)
def test_every_level_decides_as_its_questions_do(row: Row) -> None:
    comparison = compared(row.old, row.new)
    refusing = {
        Effect.WIDENS: ("FORWARD", "FULL"),
        Effect.NARROWS: ("BACKWARD", "FULL"),
        Effect.BOTH: ("FORWARD", "BACKWARD", "FULL"),
        Effect.NEITHER: (),
    }[row.effect]

    for mode in CompatibilityMode:
        verdict = judge_mode(mode, [(7, comparison)])
        is_refused = mode.value.removesuffix("_TRANSITIVE") in refusing
        assert isinstance(verdict, Incompatible if is_refused else Compatible), (mode, verdict)


@pytest.mark.parametrize("row", _ALL, ids=_IDS)
def test_a_review_lists_the_one_change_with_its_effect_and_a_document(row: Row) -> None:
    comparison = compared(row.old, row.new)

    assert [change.kind for change in comparison.changes] == [row.kind]
    change = comparison.changes[0]
    assert change.effect is row.effect
    if row.effect is Effect.NEITHER:
        return
    assert isinstance(change.example, Example)
    document = canonical_json(change.example.document).encode()
    was_allowed = isinstance(JUDGES.prepare(read(row.old).text).judge(document), Allowed)
    assert was_allowed == (not change.example.is_allowed)
    assert change.example.is_allowed == (row.effect is Effect.WIDENS)


@pytest.mark.parametrize("row", _ALL, ids=_IDS)
def test_the_reverse_change_has_the_reverse_answers(row: Row) -> None:
    there, back = compared(row.old, row.new), compared(row.new, row.old)

    assert type(there.consumer_safe) is type(back.producer_safe)
    assert type(there.producer_safe) is type(back.consumer_safe)
