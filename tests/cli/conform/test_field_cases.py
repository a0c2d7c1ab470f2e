"""Cases from public reports: each comes out as it should, and what would not is named."""

import json
from typing import Any

import pytest

from cli.conform.field_cases import FieldRun
from tests.compiler_pool.tiny_tokenizer import write_tokenizer
from tests.gateway.validation.suite import CORPORA

CASES = [json.loads(line) for line in (CORPORA / "field" / "dev.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FieldRun:
    return FieldRun(write_tokenizer(tmp_path_factory.mktemp("field") / "tokenizer.json"))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_every_case_has_its_expected_outcome(case: dict[str, Any], run: FieldRun) -> None:
    outcome = run.outcome(case)
    assert outcome.faults == []
    assert outcome.words != []


def schema_case(schema: Any, *, valid: list[Any], invalid: list[Any], **expected: Any) -> dict[str, Any]:
    return {
        "id": "made-up",
        "input": {"kind": "json_schema", "schema": schema},
        "instances_are": "json",
        "valid": valid,
        "invalid": invalid,
        "expected": {"admission": "accept", **expected},
    }


def test_what_is_generated_though_it_is_invalid_is_a_fault(run: FieldRun) -> None:
    outcome = run.outcome(schema_case({"type": "integer"}, valid=[1], invalid=[2, "x"]))
    assert outcome.faults == ["FAULT: 2"]
    assert "FAULT: 2" in outcome.row


def test_what_is_valid_and_judged_otherwise_is_a_fault(run: FieldRun) -> None:
    assert run.outcome(schema_case({"type": "integer"}, valid=["x"], invalid=[])).faults == ['FAULT: "x"']


def test_a_refusal_is_right_only_where_it_may_be_and_at_its_place(run: FieldRun) -> None:
    wrong = {"type": "object", "required": "a"}
    assert run.outcome(schema_case(wrong, valid=[], invalid=[])).faults == ["FAULT: invalid_schema at `/required`"]
    may = {"admission": "exact_or_typed_rejection", "reject": {"pointer": "/required"}}
    assert run.outcome(schema_case(wrong, valid=[], invalid=[], **may)).faults == []
    elsewhere = {"admission": "exact_or_typed_rejection", "reject": {"pointer": "/type"}}
    assert len(run.outcome(schema_case(wrong, valid=[], invalid=[], **elsewhere)).faults) == 1


def test_registered_pairs_are_held_to_both_verdicts(run: FieldRun) -> None:
    narrow, wide = {"type": "integer"}, {"type": "number"}
    pairs = {"valid": [{"old": narrow, "new": wide}], "invalid": [{"old": wide, "new": narrow}]}
    case = {"id": "pairs", "input": {"kind": "registry_pairs", "mode": "BACKWARD"}, "expected": {}, **pairs}
    assert run.outcome(case).faults == []
    assert len(run.outcome({**case, "valid": pairs["invalid"], "invalid": pairs["valid"]}).faults) == 2


def test_a_kind_that_nobody_knows_is_a_fault(run: FieldRun) -> None:
    assert run.outcome({"id": "x", "input": {"kind": "poem"}, "expected": {}}).faults != []
