from dataclasses import asdict, fields

import pytest

from policy.limits import GOVERNED, LIMIT_CLASSES, TENANT, UNLIMITED, ContractLimits, limit_names
from registry.parsing import MAX_NUMBER_DIGITS
from tests.conftest import ROOT


def test_every_class_is_found_by_its_name() -> None:
    assert LIMIT_CLASSES == {"tenant": TENANT, "governed": GOVERNED, "none": UNLIMITED}


@pytest.mark.parametrize("name", limit_names())
def test_whoever_answers_for_more_may_have_more(name: str) -> None:
    tenant, governed, unlimited = (getattr(c.contract, name) for c in (TENANT, GOVERNED, UNLIMITED))
    assert 0 < tenant <= governed <= unlimited


def test_no_class_takes_numbers_that_the_validator_would_not_judge() -> None:
    assert max(limits.contract.max_number_digits for limits in LIMIT_CLASSES.values()) <= MAX_NUMBER_DIGITS


def test_budgets_of_processes_are_finite_in_every_class() -> None:
    for limits in LIMIT_CLASSES.values():
        assert all(0 < value < float("inf") for value in asdict(limits.compile).values())
        assert 0 < limits.validation_seconds < float("inf")


def test_every_limit_says_what_it_stops_in_the_note() -> None:
    note = (ROOT / "docs" / "policy.md").read_text()
    assert [name for name in limit_names() if f"`{name}`" not in note] == []
    assert len(fields(ContractLimits)) == len(limit_names())
