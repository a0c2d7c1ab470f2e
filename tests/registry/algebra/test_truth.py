"""The formulas of keywords against the official suite: a comparison believes of a document what the draft says."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policy.limits import UNLIMITED
from registry.algebra.keyword_formulas import KeywordFormulas
from registry.algebra.terms import Terms
from registry.algebra.truth import Truth
from registry.compatibility.schema_comparison import FormatJudges
from registry.errors import ContractRejectedError
from tests.conftest import ROOT
from tests.registry.compatibility.comparing import JUDGES
from tests.registry.reading import LENIENT, parsed, read

_SUITE = Path(os.environ.get("SCHEMAGATE_CORPORA", ROOT.parent / "shared" / "corpora")) / "json-schema-test-suite"
_DRAFT = _SUITE / "tests" / "draft2020-12"
_ASSERTED_HERE = {"format.json"}
"""The suite takes formats for annotations in this file; the judge asserts them."""


def _groups() -> Iterator[dict[str, Any]]:
    for path in sorted(_DRAFT.glob("*.json")):
        if path.name not in _ASSERTED_HERE:
            yield from json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.corpus
@pytest.mark.skipif(not _DRAFT.exists(), reason="the official suite is not beside this checkout")
def test_every_verdict_on_the_official_suite_is_the_suites_own() -> None:
    num_right = num_unknown = 0
    for group in _groups():
        try:
            schema = read(group["schema"], limits=UNLIMITED, policy=LENIENT).schema
        except ContractRejectedError:
            continue
        terms = Terms()
        (root,) = terms.read(schema)
        truth = Truth(terms, KeywordFormulas(terms), FormatJudges(JUDGES).holds)
        for test in group["tests"]:
            try:
                value = parsed(test["data"])
            except ContractRejectedError:
                continue
            believed = truth.allows(root, value)
            assert believed in {test["valid"], None}, (group["description"], test["description"])
            num_right += believed is not None
            num_unknown += believed is None

    assert num_right > 900
    assert num_unknown < 10
