from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inference_node.text_stream import TextStream

TEXT = st.text(alphabet="abc\u00e9\u20ac\U0001f600", max_size=30)
STOPS = st.lists(st.text(alphabet="abc\u00e9\u20ac", min_size=1, max_size=4), max_size=4)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


def test_a_character_is_sent_when_it_is_whole() -> None:
    stream = TextStream([])
    assert [stream.push(bytes([byte])) for byte in "é€".encode()] == ["", "é", "", "", "€"]
    assert stream.is_exact


def test_an_unfinished_character_is_dropped_at_the_end_and_the_text_is_not_exact() -> None:
    stream = TextStream([])
    assert stream.push(b"a\xe2\x82") == "a"
    assert stream.finish() == ""
    assert stream.sent_text == "a"
    assert not stream.is_exact


def test_a_broken_character_is_replaced_and_the_text_is_not_exact() -> None:
    stream = TextStream([])
    assert stream.push(b"a\xffb") == "a\ufffdb"
    assert not stream.is_exact


def test_text_is_held_back_while_it_could_become_a_stop_string() -> None:
    stream = TextStream(["END"])
    assert [stream.push(data) for data in (b"xE", b"N", b"ENx", b"E")] == ["x", "", "ENENx", ""]
    assert stream.finish() == "E"
    assert stream.is_exact


def test_a_stop_string_over_several_tokens_is_cut_with_what_follows() -> None:
    stream = TextStream(["\n\n"])
    assert stream.push(b"one\n") == "one"
    assert stream.push(b"\ntwo") == ""
    assert stream.stopped_by == "\n\n"
    assert stream.push(b"three") == ""
    assert stream.finish() == ""
    assert stream.sent_text == "one"


def test_the_stop_string_that_is_complete_first_wins() -> None:
    stream = TextStream(["abcd", "bc"])
    assert stream.push(b"xabcd") == "xa"
    assert stream.stopped_by == "bc"


def test_of_stop_strings_complete_at_once_the_longer_wins() -> None:
    stream = TextStream(["c", "abc"])
    assert stream.push(b"xabc") == "x"
    assert stream.stopped_by == "abc"


@given(text=TEXT, stops=STOPS, places=st.lists(st.integers(0, 200), max_size=8))
def test_how_bytes_are_cut_into_tokens_changes_nothing(text: str, stops: list[str], places: list[int]) -> None:
    whole, parts = TextStream(stops), TextStream(stops)
    expected = whole.push(text.encode()) + whole.finish()
    actual = "".join(parts.push(data) for data in cut(text.encode(), places)) + parts.finish()
    assert actual == expected == parts.sent_text
    assert parts.stopped_by == whole.stopped_by
    assert parts.is_exact == whole.is_exact


@given(text=TEXT, stops=STOPS, places=st.lists(st.integers(0, 200), max_size=8))
def test_no_stop_string_is_ever_sent_and_nothing_before_it_is_lost(
    text: str, stops: list[str], places: list[int]
) -> None:
    stream = TextStream(stops)
    sent = "".join(stream.push(data) for data in cut(text.encode(), places)) + stream.finish()
    assert not any(stop in sent for stop in stops)
    ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
    if not ends:
        assert sent == text
        assert stream.is_exact
    else:
        assert stream.stopped_by is not None
        assert sent + stream.stopped_by == text[: min(ends)]
