"""The corpus of contracts of every kind, asked of conform's own session: verdicts, refusals, texts."""

from pathlib import Path
from typing import Any

import pytest

from cli.conform.answer import ConformVerdict
from cli.conform.kind_corpus import KindCase, faults, kind_cases
from cli.conform.session import Session, Settings
from compiler_pool.tokenizer import load_tokenizer
from policy.enforcement import EnforcementPolicy
from policy.limits import TENANT
from tests.compiler_pool.tiny_tokenizer import write_tokenizer

CORPUS = Path(__file__).parents[2] / "corpora" / "kinds.jsonl"
CASES = list(kind_cases(CORPUS))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    tokenizer = load_tokenizer(write_tokenizer(tmp_path_factory.mktemp("kinds") / "tokenizer.json"))
    return Session(Settings(tokenizer=tokenizer, limits=TENANT, policy=EnforcementPolicy(), documents={}))


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_every_contract_of_the_corpus_comes_out_as_expected(case: KindCase, session: Session) -> None:
    taken = session.take_contract(case.question().encode())
    answer: dict[str, Any] = {
        "verdict": taken.answer.verdict,
        "code": taken.answer.code,
        "pointer": taken.answer.pointer,
        "message": taken.answer.message,
        "instances": [],
    }
    if taken.answer.verdict is ConformVerdict.ACCEPTED:
        tried = session.try_instances().instances
        answer["instances"] = [{"generable": each.generable, "valid": each.valid} for each in tried]
        assert taken.answer.report
    assert list(case.faults(answer)) == []


def test_the_corpus_has_every_kind_accepted_and_refused() -> None:
    seen = {(case.kind, case.expected["verdict"]) for case in CASES}
    kinds = ("regex", "choice", "lark", "gbnf", "structural_tag", "tool_set")
    assert seen == {(kind, verdict) for kind in kinds for verdict in ("accepted", "rejected")}
    assert len(CASES) >= 60
    assert len({case.id for case in CASES}) == len(CASES)


def test_what_is_not_as_expected_is_named() -> None:
    case = KindCase(
        id="a", kind="choice", contract=["x"], instances=(("x", True), ("y", False)), expected={"verdict": "accepted"}
    )
    right = {"generable": True, "valid": True}
    wrong = {"generable": True, "valid": None}
    answer = {"verdict": "accepted", "message": None, "instances": [right, wrong]}
    assert faults([case], [answer]) == [
        "a: 'y' is invalid, and `generable` is True",
        "a: 'y' is invalid, and `valid` is None",
    ]
    refusal = {"verdict": "rejected", "message": "no", "instances": []}
    assert faults([case], [refusal]) == ["a: verdict is 'rejected', not 'accepted' (no)"]
