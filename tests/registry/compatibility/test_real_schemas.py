"""Real schemas, one ordinary change each: nearly every question has an answer that real instances keep."""

import gzip
import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from policy.enforcement import EnforcementPolicy, Unknown
from policy.limits import UNLIMITED
from registry.compatibility.schema_comparison import SchemaPair
from registry.compatibility.verdicts import Allowed, Direction, Forbidden, Safe, Unsafe
from registry.compatibility.verdicts import Unknown as NoAnswer
from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.json_schema import read_json_schema
from tests.conftest import ROOT
from tests.registry.compatibility.comparing import BUDGET, JUDGES
from tests.registry.compatibility.making import Making
from tests.registry.reading import parsed

_CORPUS = (
    Path(os.environ.get("SCHEMAGATE_CORPORA", ROOT.parent / "shared" / "corpora")) / "jsonschemabench-dev.jsonl.gz"
)
_LENIENT = EnforcementPolicy(unknown_keyword=Unknown.ANNOTATION, unknown_format=Unknown.ANNOTATION)
_NUM_SCHEMAS = 150
_MAX_BYTES = 6_000


def _canonical(schema: Any) -> JsonValue:
    return read_json_schema(parsed(schema), limits=UNLIMITED.contract, policy=_LENIENT).schema


@pytest.mark.corpus
@pytest.mark.skipif(not _CORPUS.exists(), reason="the corpus is not beside this checkout")
def test_ordinary_changes_of_real_schemas_have_answers_that_their_instances_keep() -> None:
    making = Making(Random(11))
    with gzip.open(_CORPUS, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    making.random.shuffle(cases)
    small = [case for case in cases if len(json.dumps(case["schema"])) < _MAX_BYTES]
    answers = []
    for case in small[:_NUM_SCHEMAS]:
        try:
            old, new = _canonical(case["schema"]), _canonical(making.ordinary_change(case["schema"]))
        except ContractRejectedError:
            continue
        pair = SchemaPair(old, new, JUDGES, BUDGET)
        sides = {
            Direction.CONSUMER_SAFE: (pair.new.judge, pair.old.judge),
            Direction.PRODUCER_SAFE: (pair.old.judge, pair.new.judge),
        }
        documents = [json.dumps(test["data"]).encode() for test in case["tests"]]
        for direction, (inner, outer) in sides.items():
            answer = pair.answer(direction)
            answers.append(answer)
            if isinstance(answer, Safe):
                allowed = [document for document in documents if isinstance(inner.judge(document), Allowed)]
                assert all(isinstance(outer.judge(document), Allowed) for document in allowed), case["id"]
            if isinstance(answer, Unsafe):
                assert isinstance(inner.judge(answer.witness_text.encode()), Allowed), case["id"]
                assert isinstance(outer.judge(answer.witness_text.encode()), Forbidden), case["id"]

    assert len(answers) > _NUM_SCHEMAS
    assert sum(isinstance(answer, NoAnswer) for answer in answers) <= len(answers) // 100
