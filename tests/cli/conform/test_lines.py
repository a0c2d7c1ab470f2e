"""Lines in bounded memory, and whose they are."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.conform import lines
from cli.conform.lines import InputLine, line_id, read_lines


def test_lines_are_read_without_their_ends_and_blank_ones_are_none() -> None:
    found = list(read_lines(io.BytesIO(b'{"a":1}\r\n\n  \n{"b":2}')))
    assert found == [InputLine(data=b'{"a":1}', num_bytes=7), InputLine(data=b'{"b":2}', num_bytes=7)]


def test_a_line_above_the_limit_is_skipped_to_its_end_and_keeps_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100_000)
    monkeypatch.setattr(lines, "_SKIP_BYTES", 1000)
    long = b'{"id":"long","x":"' + b"x" * 250_000 + b'"}'
    first, second = read_lines(io.BytesIO(long + b"\n{}\n"))
    assert not first.is_whole
    assert (first.num_bytes, len(first.data)) == (len(long) + 1, 64 * 1024)
    assert line_id(first.data) == "long"
    assert second == InputLine(data=b"{}", num_bytes=2)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"id":"a"}', "a"),
        (b'{"contract":{"id":"inner"},"instances":[{"id":"x"}],"id":"a\\u00e9\\""}', 'aé"'),
        (b'{"x":"\\"id\\":\\"no\\"","id" : "yes", "contract": {', "yes"),
        (b'{"id":1}', None),
        (b'{"id":"\\ud800"}', None),
        (b'{"id":"open', None),
        (b'[{"id":"a"}]', None),
        (b'{"id",:"a"}', None),
        (b"", None),
        (b"{" * 100_000, None),
    ],
)
def test_an_id_is_found_in_a_line_that_may_be_broken(line: bytes, found: str | None) -> None:
    assert line_id(line) == found


@given(st.binary())
def test_no_line_breaks_the_search_for_its_id(data: bytes) -> None:
    assert line_id(data) is None or isinstance(line_id(data), str)
