"""Streams however they are cut, and whatever stands in them: the same events, or one of two typed ends."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.backends.errors import UpstreamFault
from gateway.backends.event_lines import BrokenStreamError, chunks
from gateway.backends.events import RefusalText, UpstreamEvent, UpstreamFinish
from gateway.backends.faults import fault_of, read_fault, refusal
from gateway.backends.reading import read_answer
from gateway.backends.tally import Tally
from gateway.budgets.meter import Meter
from inference_node.errors import NodeUnavailableError
from inference_node.protocol import TokenEvent
from tests.gateway.openai_stub import chunk, says

_NAMES = st.sampled_from(
    "error choices delta content index finish_reason usage message code type object other".split()  # noqa: SIM905
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


async def read(pieces: list[bytes]) -> list[UpstreamEvent] | str:
    async def source() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    try:
        async with aclosing(chunks(source())) as stream:
            return [event async for event in read_answer(stream, Tally(Meter(), (), is_retry=False), "up")]
    except NodeUnavailableError:
        return "lost"
    except BrokenStreamError:
        return "broken"


def written(steps: Any, separator: bytes = b"\n\n") -> bytes:
    lines = [step if isinstance(step, bytes) else b"data: " + json.dumps(step).encode() + separator for step in steps]
    return b"".join(lines)


def told(events: list[UpstreamEvent] | str) -> tuple[str, str, Any]:
    assert not isinstance(events, str)
    text = "".join(event.text for event in events if isinstance(event, TokenEvent))
    refused = "".join(event.text for event in events if isinstance(event, RefusalText))
    return text, refused, events[-1]


@settings(deadline=None)
@given(
    texts=st.lists(st.text(max_size=6), max_size=6),
    refusals=st.lists(st.text(max_size=6), max_size=3),
    separator=st.sampled_from([b"\n\n", b"\r\n\r\n", b"\n: comment\nevent: message\nid: 7\n\n"]),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=40),
)
async def test_however_a_stream_is_cut_its_events_are_the_same(
    texts: list[str], refusals: list[str], separator: bytes, cuts: list[int]
) -> None:
    steps = [*(chunk(text) for text in texts), *(chunk(refusal=text) for text in refusals)]
    stream = written([*steps, *says().steps[1:]], separator)
    pieces, rest = [], stream
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    whole, cut_up = await read([stream]), await read([*pieces, rest])
    assert told(whole) == told(cut_up)
    text, refused, last = told(whole)
    assert (text, refused) == ("".join(texts), "".join(refusals))
    assert isinstance(last, UpstreamFinish)
    assert last.end == ("model_refused" if any(refusals) else "end_of_sequence")


async def test_words_after_a_refusal_are_no_answer_in_any_order_that_could_be_told() -> None:
    """A whole answer has words before its refusal; a stream would have had them after it."""
    after = [chunk(refusal="no"), chunk("yes"), chunk(finish="stop")]
    before = [chunk("ye"), chunk(refusal="no"), chunk(finish="stop")]
    ends = [told(await read([written(steps)])) for steps in (after, before)]
    assert [(text, refused, last.end) for text, refused, last in ends] == [
        ("", "no", "engine_failed"),
        ("ye", "no", "model_refused"),
    ]


@settings(deadline=None)
@given(
    st.lists(st.binary(max_size=60) | st.builds(lambda value: b"data: " + json.dumps(value).encode() + b"\n", _JSON))
)
async def test_whatever_comes_ends_in_a_finish_or_is_lost_or_broken(pieces: list[bytes]) -> None:
    events = await read(pieces)
    if not isinstance(events, str):
        assert [isinstance(event, UpstreamFinish) for event in events] == [False] * (len(events) - 1) + [True]


@settings(deadline=None)
@given(status=st.integers(100, 599), body=st.binary(max_size=200) | st.builds(lambda v: json.dumps(v).encode(), _JSON))
def test_whatever_an_error_looks_like_it_is_a_fault_of_the_list(status: int, body: bytes) -> None:
    error, said = refusal(status, body, {})
    assert error.fault in UpstreamFault
    assert str(error) == f"the model's backend did not begin ({error.fault})"
    assert fault_of(status, said) is error.fault


def test_a_body_that_is_too_deep_or_too_long_says_nothing() -> None:
    assert read_fault(b'{"error":' * 5_000 + b"1" + b"}" * 5_000) is None
    assert read_fault(b'{"error":"' + b"x" * 70_000 + b'"}') is None
