"""Counting answers against what a corpus says, and the questions that a corpus asks."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from cli.conform.corpora import CorpusMissingError, bench_cases, suite_cases
from cli.conform.score import score


def _answer(name: str, verdict: str, *instances: tuple[bool, bool | None], code: str | None = None) -> dict[str, Any]:
    tried = [{"generable": generable, "valid": valid} for generable, valid in instances]
    return {"id": name, "verdict": verdict, "code": code, "instances": tried, "compile_ms": 1.0}


def test_every_kind_of_difference_is_counted_by_itself() -> None:
    answers = [
        _answer("right", "accepted", (True, True), (False, False)),
        _answer("weak", "accepted", (True, True), (True, False)),
        _answer("narrow", "accepted", (False, True)),
        _answer("judge", "accepted", (False, None)),
        _answer("no", "rejected", (False, None), code="unsupported_keyword"),
        _answer("slow", "timeout", code="cpu_seconds"),
    ]
    expected = {
        "right": (True, False), "weak": (True, False), "narrow": (True,), "judge": (False,), "no": (True,), "slow": (),
    }  # fmt: skip
    total = score(answers, expected)
    assert total.num_contracts == 6
    assert dict(total.verdicts) == {"accepted": 4, "rejected": 1, "timeout": 1}
    assert dict(total.refusals) == {"rejected: unsupported_keyword": 1, "timeout: cpu_seconds": 1}
    assert total.invalid_generable == ["weak instance 1"]
    assert total.valid_not_generable == ["narrow instance 0"]
    assert total.validator_disagrees == ["judge instance 0 (validator: None)"]
    assert total.num_all_right == 2
    assert "invalid but generable" in total.table()


def test_an_answer_that_lacks_an_instance_is_no_answer() -> None:
    with pytest.raises(AssertionError):
        score([_answer("x", "accepted", (True, True))], {"x": (True, False)})


def test_questions_keep_numbers_as_the_corpus_spells_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = tmp_path / "json-schema-test-suite" / "tests" / "draft2020-12"
    (tests / "optional").mkdir(parents=True)
    group = '[{"description":"d","schema":{"maxItems":2.0},"tests":[{"data":[1e2,9007199254740993],"valid":true}]}]'
    (tests / "maxItems.json").write_text(group)
    (tests / "optional" / "more.json").write_text(group)
    monkeypatch.setenv("SCHEMAGATE_CORPORA", str(tmp_path))
    (case,) = suite_cases()
    assert case.question() == (
        '{"id":"draft2020-12/maxItems.json#0","contract":{"kind":"json_schema","schema":{"maxItems":2.0}},'
        '"instances":[{"json":[1e2,9007199254740993]}]}'
    )
    assert [case.id for case in suite_cases(optional=True)] == ["draft2020-12/optional/more.json#0"]


def test_the_bench_is_read_from_its_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"id": "b", "schema": {"type": "null"}, "tests": [{"data": None, "valid": True}]})
    (tmp_path / "jsonschemabench-dev.jsonl.gz").write_bytes(gzip.compress(line.encode() + b"\n"))
    monkeypatch.setenv("SCHEMAGATE_CORPORA", str(tmp_path))
    (case,) = bench_cases()
    assert (case.id, case.instances) == ("b", ((None, True),))


def test_a_corpus_that_is_not_there_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMAGATE_CORPORA", str(tmp_path))
    with pytest.raises(CorpusMissingError):
        list(bench_cases())
    with pytest.raises(CorpusMissingError):
        list(suite_cases())
