"""Choices: a set of texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.rejection import RejectionCode as Code
from registry.contract import ContractKind
from tests.registry.kinds.contracts import read, refusal


def test_order_and_repetition_do_not_matter_and_repetition_is_reported() -> None:
    once, twice = read(ContractKind.CHOICE, ["b", "a"]), read(ContractKind.CHOICE, ["a", "b", "a"])
    assert once.text == twice.text == '["a","b"]'
    assert once.digest == twice.digest
    assert once.transformations == ()
    assert twice.transformations == ("choices that were listed twice are listed once",)


def test_a_choice_leads_back_to_where_it_was_first_listed() -> None:
    contract = read(ContractKind.CHOICE, ["b", "a", "b"])
    assert [contract.source_pointer(pointer) for pointer in ("", "/0", "/1")] == ["", "/1", "/0"]


def test_the_empty_text_is_a_choice_like_any_other() -> None:
    contract = read(ContractKind.CHOICE, ["", "a"])
    assert contract.schema == ["", "a"]
    assert contract.profile.observed["max_shortest_instance_bytes"] == 0


@pytest.mark.parametrize(
    ("value", "code", "pointer"),
    [
        ([], Code.UNSATISFIABLE, ""),
        ("a", Code.INVALID_SCHEMA, ""),
        ({"a": 1}, Code.INVALID_SCHEMA, ""),
        (["a", 1], Code.INVALID_SCHEMA, "/1"),
        (["a", None], Code.INVALID_SCHEMA, "/1"),
        ([["a"]], Code.INVALID_SCHEMA, "/0"),
        (["a", "\ud800"], Code.LONE_SURROGATE, "/1"),
        (["a", "b" * 1025], Code.LIMIT_EXCEEDED, "/1"),
        ([str(number) for number in range(1_001)], Code.LIMIT_EXCEEDED, ""),
    ],
)
def test_what_is_no_choice_is_refused_where_it_stands(value: Any, code: Code, pointer: str) -> None:
    found = refusal(ContractKind.CHOICE, value)
    assert (found.code, found.pointer) == (code, pointer)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_any_order_is_one_contract_and_its_text_is_its_own(members: list[str], random: Any) -> None:
    contract = read(ContractKind.CHOICE, members)
    shuffled = [*members]
    random.shuffle(shuffled)
    assert read(ContractKind.CHOICE, shuffled).digest == contract.digest
    assert read(ContractKind.CHOICE, contract.schema).text == contract.text
