"""Query parameters, as several clients spell them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from gateway.confluent.errors import ConfluentError, Fault
from gateway.confluent.parameters import (
    MAX_LISTED,
    Window,
    read_flag,
    read_id,
    read_standing,
    read_version,
    read_window,
    refuse_formats,
)
from registry.store.subjects import Standing


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", Standing.LIVE),
        ("deleted=false&deleted_only=false", Standing.LIVE),
        ("deleted=true", Standing.ANY),
        ("deleted=True", Standing.ANY),
        ("deletedOnly=true", Standing.RETIRED),
        ("deleted_only=True&deleted=true", Standing.RETIRED),
    ],
)
def test_only_the_deleted_outweighs_also_the_deleted(query: str, expected: Standing) -> None:
    assert read_standing(QueryParams(query)) is expected


def test_a_flag_that_is_neither_is_refused_and_not_taken_for_no() -> None:
    with pytest.raises(ConfluentError) as refused:
        read_flag(QueryParams("permanent=yes"), "permanent")
    assert refused.value.fault is Fault.MALFORMED


@pytest.mark.parametrize(("text", "expected"), [("latest", None), ("LATEST", None), ("-1", None), ("7", 7)])
def test_versions_are_numbers_or_the_latest(text: str, expected: int | None) -> None:
    assert read_version(text) == expected


@pytest.mark.parametrize("text", ["0", "-2", "", "1.0", "one", "2147483648", "9" * 5000, "٣", " 1"])
def test_anything_else_is_no_version(text: str) -> None:
    with pytest.raises(ConfluentError) as refused:
        read_version(text)
    assert refused.value.fault is Fault.INVALID_VERSION


@given(st.text(max_size=40))
def test_any_text_is_an_id_or_none(text: str) -> None:
    number = read_id(text)
    assert number is None or 1 <= number < 2**31


def test_a_negative_limit_asks_for_everything() -> None:
    assert read_window(QueryParams("offset=0&limit=-1")) == Window()
    assert read_window(QueryParams("offset=3&limit=2")) == Window(offset=3, limit=2)


@pytest.mark.parametrize("query", ["offset=-1", "limit=all", "offset=1e3", "limit=99999999999999999999"])
def test_windows_that_are_none_are_refused(query: str) -> None:
    with pytest.raises(ConfluentError) as refused:
        read_window(QueryParams(query))
    assert refused.value.fault is Fault.MALFORMED


def test_a_whole_list_that_is_too_long_is_refused_and_a_part_of_it_is_not() -> None:
    whole = range(MAX_LISTED + 5)
    with pytest.raises(ConfluentError) as refused:
        Window().part(whole)
    assert refused.value.fault is Fault.NOT_PERMITTED
    assert Window(offset=MAX_LISTED, limit=50).part(whole) == list(whole[MAX_LISTED:])
    assert Window(limit=0).part(whole) == []
    assert len(Window(limit=MAX_LISTED * 2).part(whole)) == MAX_LISTED


def test_a_schema_is_given_out_in_no_other_format() -> None:
    refuse_formats(QueryParams("format="))
    refuse_formats(QueryParams("format=default&referenceFormat=DEFAULT"))
    for query in ("format=resolved", "reference_format=qualified"):
        with pytest.raises(ConfluentError) as refused:
            refuse_formats(QueryParams(query))
        assert refused.value.fault is Fault.NOT_PERMITTED
