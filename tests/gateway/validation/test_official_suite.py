"""The judge against the official suite of JSON Schema 2020-12, every known format asserted."""

import json
from collections.abc import Callable

import pytest

from gateway.validation.judge import Judge
from gateway.validation.verdict import Unjudged, UnjudgedReason, Valid
from tests.gateway.validation.suite import SUITE, SuiteCase, suite_cases, suite_remotes

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not SUITE.is_dir(), reason=f"the official suite is not at {SUITE} (SCHEMAGATE_CORPORA)"),
]

Excuse = Callable[[SuiteCase], bool]

# The judge refuses to guess here, and says so: it never answers `Valid` or `Invalid` for these.
_UNJUDGED: tuple[tuple[Excuse, UnjudgedReason], ...] = (
    # Another metaschema is another dialect; only 2020-12 itself is judged.
    (lambda case: "custom metaschema" in case.description, UnjudgedReason.CONTRACT),
    (lambda case: case.description == "ignore unrecognized optional vocabulary", UnjudgedReason.CONTRACT),
    (lambda case: case.file == "optional/cross-draft.json", UnjudgedReason.REFERENCE),
)

# Optional behaviour of 2019-09 and before that 2020-12 itself does not define: the keyword is unknown here.
_NOT_OF_THIS_DRAFT = "optional/dependencies-compatibility.json"


def _disagreements(pattern: str) -> list[str]:
    remotes = suite_remotes()
    wrong = []
    num_tests = 0
    for case in suite_cases(pattern):
        if case.file == _NOT_OF_THIS_DRAFT:
            continue
        expected_reason = next((reason for excuse, reason in _UNJUDGED if excuse(case)), None)
        judge = Judge.prepare(json.dumps(case.schema), documents=remotes)
        for description, data, is_valid in case.tests:
            num_tests += 1
            verdict = judge if isinstance(judge, Unjudged) else judge.judge(json.dumps(data).encode())
            # A case may be excused in part: where the judge does answer, it must be right.
            if isinstance(verdict, Unjudged):
                agrees = verdict.reason is expected_reason
            else:
                agrees = isinstance(verdict, Valid) is is_valid
            if not agrees:
                wrong.append(f"{case.file}: {case.description}: {description}: {verdict}")
    assert num_tests > 0
    return wrong


def test_every_required_test_has_the_verdict_of_the_suite() -> None:
    wrong = _disagreements("*.json")
    # The suite's own `format.json` says that formats are annotations; here all of them are asserted.
    assert [line for line in wrong if not line.startswith("format.json")] == []


def test_formats_are_asserted_where_the_required_suite_only_annotates() -> None:
    wrong = _disagreements("format.json")
    assert len(wrong) == 19
    assert all("is only an annotation by default" in line and "keyword='format'" in line for line in wrong)


def test_every_optional_format_test_has_the_verdict_of_the_suite() -> None:
    assert _disagreements("optional/format/*.json") == []


def test_the_other_optional_tests_have_the_verdict_of_the_suite() -> None:
    assert _disagreements("optional/*.json") == []
