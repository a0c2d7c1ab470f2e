"""The table of field cases names every sketch of a request in the corpus, and tests that are there."""

import re

import pytest

from tests.gateway.field_cases.cases import field_cases
from tests.gateway.validation.suite import ROOT

pytestmark = pytest.mark.corpus

TABLE = (ROOT / "docs" / "field-cases.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([a-z0-9-]+) \|(.*)\|$", TABLE, re.MULTILINE))
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", TABLE)))


def test_every_sketch_of_a_request_has_a_row_and_every_row_is_a_case() -> None:
    sketches = {name for name, case in field_cases().items() if case["input"]["kind"] == "request_sketch"}
    assert sketches - set(ROWS) == set()
    assert set(ROWS) - {"case"} - set(field_cases()) == set()


def test_every_row_names_a_test() -> None:
    assert [name for name, row in ROWS.items() if name in field_cases() and "`tests/" not in row] == []


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_every_test_that_is_named_is_there(file: str, test: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    assert test == "" or re.search(rf"^(?:async )?def {test}\(", source, re.MULTILINE)
