"""Query strings and preconditions: what is not known is refused by name, and nothing is read leniently."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from gateway.errors import InvalidRequestError
from gateway.query import PAGE, Query, etag, if_match, must_be_new


def asked(query: str = "", **headers: str) -> Request:
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": query.encode(),
        "headers": [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
    return Request(scope)


def test_known_parameters_are_read() -> None:
    query = Query(asked("q=invoice&limit=7&cursor=abc&flag=true&kind=regex"), "q", "flag", "kind", *PAGE)
    assert query.text("q") == "invoice"
    assert query.page() == ("abc", 7)
    assert query.flag("flag")
    assert query.choice("kind", ("json_schema", "regex")) == "regex"
    assert Query(asked(), *PAGE).page() == (None, 20)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("ownr=a", "ownr"),
        ("limit=1&limit=2", "limit"),
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=1.5", "limit"),
        ("limit=%EF%BC%91", "limit"),  # a fullwidth digit
        ("limit=" + "9" * 400, "limit"),
        ("flag=1", "flag"),
        ("kind=xml", "kind"),
        ("cursor=" + "a" * 2000, "cursor"),
    ],
)
def test_what_is_not_known_is_refused_by_name(query: str, param: str) -> None:
    def read() -> None:
        found = Query(asked(query), "owner", "flag", "kind", *PAGE)
        found.page()
        found.flag("flag")
        found.choice("kind", ("json_schema",))

    with pytest.raises(InvalidRequestError) as caught:
        read()
    assert caught.value.param == param


@given(st.integers(0, 10**17))
def test_a_version_goes_out_and_comes_back(version: int) -> None:
    assert if_match(asked(if_match=etag(version)["ETag"])) == version


@pytest.mark.parametrize("sent", ["3", "*", 'W/"3"', '"03"', '"3", "4"', '"-1"', '""', '"' + "9" * 40 + '"'])
def test_no_other_spelling_of_a_version_is_read(sent: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        if_match(asked(if_match=sent))
    assert caught.value.param == "if-match"


def test_there_is_one_way_to_ask_for_something_new() -> None:
    assert must_be_new(asked(if_none_match="*"))
    assert not must_be_new(asked())
    with pytest.raises(InvalidRequestError):
        must_be_new(asked(if_none_match='"3"'))
    with pytest.raises(InvalidRequestError):
        must_be_new(asked(if_none_match="*", if_match='"3"'))
