"""The official suite's files on references, judged on the canonical text by the gateway's own judge."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema_specifications import REGISTRY as SPECIFICATIONS  # type: ignore[import-untyped]

from gateway.validation.judge import Judge
from gateway.validation.verdict import Invalid, Unjudged, Valid
from policy.limits import UNLIMITED
from registry.contract import CanonicalContract
from registry.errors import ContractRejectedError
from tests.conftest import ROOT
from tests.registry.reading import LENIENT, read

pytestmark = pytest.mark.corpus

SUITE = Path(os.environ.get("SCHEMAGATE_CORPORA", ROOT.parent / "shared" / "corpora")) / "json-schema-test-suite"

EXPECTED: dict[str, tuple[int, dict[str, str]]] = {
    # file: schemas read, and those refused with the code
    "anchor": (4, {}),
    "defs": (1, {}),
    "dynamicRef": (21, {}),
    "infinite-loop-detection": (1, {}),
    "ref": (35, {"$ref to boolean schema false": "unsatisfiable"}),
    "refRemote": (15, {}),
    "unevaluatedItems": (29, {}),
    "unevaluatedProperties": (44, {}),
    "optional/anchor": (1, {}),
    "optional/dynamicRef": (1, {}),
    "optional/id": (1, {}),
    "optional/unknownKeyword": (1, {}),
}


def approved() -> dict[str, Any]:
    """The documents that the suite expects at its own server, and the meta-schemas of 2020-12."""
    folder = SUITE / "remotes"
    documents: dict[str, Any] = {
        f"http://localhost:1234/{path.relative_to(folder)}": json.loads(path.read_text())
        for path in sorted(folder.rglob("*.json"))
    }
    return documents | {
        uri.rstrip("#"): SPECIFICATIONS[uri].contents for uri in SPECIFICATIONS if "/draft/2020-12/" in uri
    }


def read_or_code(schema: Any, documents: dict[str, Any]) -> CanonicalContract | str:
    try:
        return read(json.dumps(schema).encode(), limits=UNLIMITED, policy=LENIENT, documents=documents)
    except ContractRejectedError as error:
        return error.rejections[0].code.value


@pytest.mark.parametrize("name", EXPECTED)
def test_every_schema_on_references_gives_the_verdicts_of_the_suite(name: str) -> None:
    path = SUITE / "tests" / "draft2020-12" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"the official test suite is not at {SUITE}: set SCHEMAGATE_CORPORA")
    documents = approved()
    wrong: list[str] = []
    refused: dict[str, str] = {}
    num_read = 0
    for group in json.loads(path.read_text()):
        outcome = read_or_code(group["schema"], documents)
        if isinstance(outcome, str):
            refused[group["description"]] = outcome
            continue
        num_read += 1
        judge = Judge.prepare(outcome.text)
        assert not isinstance(judge, Unjudged)
        for test in group["tests"]:
            verdict = judge.judge(json.dumps(test["data"]).encode())
            if verdict != Valid() and not isinstance(verdict, Invalid):
                wrong.append(f"{group['description']}: {test['description']}: {verdict}")
            elif (verdict == Valid()) != test["valid"]:
                wrong.append(f"{group['description']}: {test['description']}")
    assert wrong == []
    assert (num_read, refused) == EXPECTED[name]
