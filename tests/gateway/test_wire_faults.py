"""What a caller is told of a member that nobody knows."""

import pytest

from gateway.budgets.protocol import BudgetSent
from gateway.errors import InvalidRequestError, RequestFault
from gateway.fields import unknown_member
from gateway.wire_faults import read_model


def test_what_was_meant_is_looked_for_where_the_member_stands() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_model(BudgetSent, {"windows": [{"seconds": 60, "max_request": 2}]})
    assert (caught.value.param, caught.value.suggestion) == ("windows[0].max_request", "max_requests")


def test_a_member_of_an_outer_object_is_no_suggestion_for_an_inner_one() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_model(BudgetSent, {"windows": [{"seconds": 60, "max_concurrent_request": 2}]})
    assert caught.value.suggestion != "max_concurrent_requests"


def test_at_the_outside_the_outer_members_count() -> None:
    with pytest.raises(InvalidRequestError, match="did you mean `windows`") as caught:
        read_model(BudgetSent, {"window": []})
    assert caught.value.suggestion == "windows"


def test_a_lost_constraint_is_said_to_be_no_ignored_one() -> None:
    error = unknown_member(
        "choices", known=("choice", "json"), param="structured_outputs.choices", fault=RequestFault.UNKNOWN_CONSTRAINT
    )
    assert str(error) == "`structured_outputs.choices` is not known, and not ignored; did you mean `choice`?"
    assert error.fault is RequestFault.UNKNOWN_CONSTRAINT
