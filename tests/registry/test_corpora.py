"""Schemas that others wrote: each is read, or refused by a known code; and what is read keeps its meaning."""

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from policy.limits import UNLIMITED
from registry.contract import CanonicalContract
from registry.errors import ContractRejectedError
from tests.conftest import ROOT
from tests.registry.reading import LENIENT, read

pytestmark = pytest.mark.corpus

CORPORA = Path(os.environ.get("SCHEMAGATE_CORPORA", ROOT.parent / "shared" / "corpora"))

# Refused on purpose, and why the official suite or the field still contains them.
EXPECTED_IN_SUITE = {
    "remote_reference",  # the suite's own server of remote schemas
    "unsupported_keyword",  # `$dynamicRef` whose target depends on the way
    "unsatisfiable",  # `false`, `not: {}`, an empty `enum`
    "unresolved_reference",  # references into unknown keywords
    "unsupported_dialect",  # meta-schemas of the suite's own
    "limit_exceeded",  # numbers with more digits than doubles hold
    "foreign_dialect_keyword",  # `dependencies`, which the suite tests as an option
}
EXPECTED_IN_FIELD = {
    "foreign_dialect_keyword", "unsupported_dialect", "unresolved_reference", "invalid_schema", "limit_exceeded",
    "unsupported_regex",
}  # fmt: skip


def suite() -> Iterator[tuple[str, Any, list[tuple[Any, bool]], bool]]:
    folder = CORPORA / "json-schema-test-suite" / "tests" / "draft2020-12"
    if not folder.is_dir():
        pytest.skip(f"the official test suite is not at {folder}: set SCHEMAGATE_CORPORA")
    for path in sorted(folder.rglob("*.json")):
        for group in json.loads(path.read_text()):
            tests = [(test["data"], test["valid"]) for test in group["tests"]]
            is_required = "optional" not in path.parts
            yield f"{path.stem}: {group['description']}", group["schema"], tests, is_required


def read_or_code(schema: Any) -> CanonicalContract | str:
    try:
        return read(json.dumps(schema).encode(), limits=UNLIMITED, policy=LENIENT)
    except ContractRejectedError as error:
        return error.rejections[0].code.value


def test_every_schema_of_the_official_suite_is_read_or_refused_by_a_known_code() -> None:
    outcomes = Counter(
        outcome if isinstance(outcome, str) else "read" for outcome in (read_or_code(case[1]) for case in suite())
    )
    assert set(outcomes) <= EXPECTED_IN_SUITE | {"read"}
    # 400 of 461 in the newest suite, 383 of 438 in the one that the jsonschema package carries.
    assert outcomes["read"] > 0.85 * outcomes.total(), outcomes


def test_the_canonical_form_judges_the_official_suite_as_the_suite_does() -> None:
    wrong: list[str] = []
    num_judged = 0
    for name, schema, tests, is_required in suite():
        outcome = read_or_code(schema)
        if isinstance(outcome, str) or not is_required or "\\\\p{" in outcome.text:  # which Python's `re` cannot read
            continue
        canonical = Draft202012Validator(json.loads(outcome.text))
        for instance, is_valid in tests:
            num_judged += 1
            if canonical.is_valid(instance) != is_valid:
                wrong.append(f"{name}: {json.dumps(instance)}")
    assert num_judged > 1_000
    assert wrong == []


def test_every_schema_of_the_field_is_read_or_refused_by_a_known_code() -> None:
    path = CORPORA / "jsonschemabench-dev.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"the field's schemas are not at {path}: set SCHEMAGATE_CORPORA")
    outcomes: Counter[str] = Counter()
    with gzip.open(path, "rt") as lines:
        for line in lines:
            outcome = read_or_code(json.loads(line)["schema"])
            if isinstance(outcome, CanonicalContract):
                again = read(outcome.text.encode(), limits=UNLIMITED, policy=LENIENT)
                assert again.digest == outcome.digest
            outcomes[outcome if isinstance(outcome, str) else "read"] += 1
    assert set(outcomes) <= EXPECTED_IN_FIELD | {"read"}
    assert outcomes["read"] >= 1_178, outcomes
