"""Which media type an answer gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.confluent.media import JSON, UNVERSIONED, V1, answer_type


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, V1),
        ("", V1),
        ("*/*", V1),
        ("application/*", V1),
        ("application/json", JSON),
        ("APPLICATION/JSON; charset=utf-8", JSON),
        (UNVERSIONED, UNVERSIONED),
        (f"{V1}, {UNVERSIONED}, {JSON}", V1),
        (f"{V1}; q=0.9, {UNVERSIONED}; q=0.8, {JSON}; q=0.5", V1),
        (f"{V1};q=0.1, {JSON};q=0.9", JSON),
        (f"{V1};q=0, */*;q=0.1", UNVERSIONED),
        ("text/html, */*;q=0.8", V1),
        ("text/html", None),
        ("*/*;q=0", None),
        ("application/json;q=nonsense", None),
        ("application/json;q=nan", None),
        ("application/json;q=7", None),
    ],
)
def test_the_caller_decides_and_we_where_the_caller_does_not_care(accept: str | None, expected: str | None) -> None:
    assert answer_type(accept) == expected


@given(st.text(max_size=200))
def test_any_header_is_read(accept: str) -> None:
    assert answer_type(accept) in {V1, UNVERSIONED, JSON, None}
