"""Output items and the events that lead to them."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseOutputItem, ResponseStreamEvent
from pydantic import TypeAdapter

from gateway.answer import AnswerPart, CallBegan, CallPart, ReasoningPart, RefusalPart, TextPart
from gateway.responses.items import Event
from gateway.responses.output import Output
from inference_node.protocol import TokenLogprob, TopLogprob

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
ITEM: TypeAdapter[Any] = TypeAdapter(ResponseOutputItem)


def told(
    parts: Iterable[AnswerPart], *, is_whole: bool = True, has_content: bool = False
) -> tuple[Output, list[Event]]:
    output = Output("5eed")
    events = [event for part in parts for event in output.take(part)]
    return output, [*events, *output.finish(is_whole=is_whole, has_content=has_content)]


def names(events: Iterable[Event]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


def began(index: int = 0, *, is_custom: bool = False) -> CallBegan:
    return CallBegan(index=index, call_id=f"call_{index}", name=f"f{index}", is_custom=is_custom)


def test_words_are_a_message_with_one_part() -> None:
    output, events = told([TextPart(text="he"), TextPart(text="llo")])
    assert names(events) == [
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ]
    place = {"item_id": "msg_5eed0000", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}
    item = {"id": "msg_5eed0000", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    assert events[0] == {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": item | {"status": "in_progress", "content": []},
    }
    assert events[1] == {"type": "response.content_part.added", **place, "part": part | {"text": ""}}
    assert events[2] == {"type": "response.output_text.delta", **place, "delta": "he", "logprobs": []}
    assert events[4] == {"type": "response.output_text.done", **place, "text": "hello", "logprobs": []}
    assert events[5] == {"type": "response.content_part.done", **place, "part": part}
    assert events[6] == {"type": "response.output_item.done", "output_index": 0, "item": item}
    assert [each.model_dump() for each in output.told()] == [item]


def test_a_refusal_is_a_part_of_its_own_kind() -> None:
    output, events = told([RefusalPart(text="I "), RefusalPart(text="won't")])
    assert names(events)[2:5] == ["refusal.delta", "refusal.delta", "refusal.done"]
    assert events[4]["refusal"] == "I won't"
    assert output.told()[0].model_dump()["content"] == [{"type": "refusal", "refusal": "I won't"}]


def test_a_function_is_called_with_its_name_at_the_end_again() -> None:
    output, events = told([began(), CallPart(index=0, text='{"a"'), CallPart(index=0, text=":1}")])
    assert names(events) == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert events[3] == {
        "type": "response.function_call_arguments.done",
        "item_id": "fc_5eed0000",
        "output_index": 0,
        "name": "f0",
        "arguments": '{"a":1}',
    }
    assert output.told()[0].model_dump() == {
        "id": "fc_5eed0000",
        "type": "function_call",
        "call_id": "call_0",
        "name": "f0",
        "arguments": '{"a":1}',
        "status": "completed",
    }


def test_a_custom_tool_is_called_with_its_input() -> None:
    output, events = told([began(is_custom=True), CallPart(index=0, text="ls")])
    assert names(events) == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    assert events[2]["input"] == "ls"
    assert output.told()[0].model_dump()["input"] == "ls"


def test_a_thought_stands_before_the_answer_and_is_done_when_that_begins() -> None:
    output, events = told([ReasoningPart(text="hm"), TextPart(text="ok")])
    assert names(events) == [
        "output_item.added",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ]
    assert [item.type for item in output.told()] == ["reasoning", "message"]
    assert output.told()[0].model_dump()["content"] == [{"type": "reasoning_text", "text": "hm"}]


def test_free_words_are_done_when_a_call_begins_and_calls_only_at_the_end() -> None:
    parts: list[AnswerPart] = [
        TextPart(text="a"),
        began(0),
        CallPart(index=0, text="{}"),
        began(1),
        CallPart(index=1, text="{}"),
    ]
    output = Output("5eed")
    before = [event for part in parts for event in output.take(part)]
    assert [event["output_index"] for event in before if event["type"] == "response.output_item.done"] == [0]
    after = list(output.finish(is_whole=True, has_content=True))
    assert names(after) == [
        "function_call_arguments.done",
        "output_item.done",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert [event["output_index"] for event in after] == [1, 1, 2, 2]


def test_of_an_answer_that_is_cut_the_last_item_is_incomplete() -> None:
    output, events = told([TextPart(text="a"), began(), CallPart(index=0, text='{"a')], is_whole=False)
    assert [item.status for item in output.told()] == ["completed", "incomplete"]
    assert events[-1]["item"]["status"] == "incomplete"
    assert "function_call_arguments.done" not in names(events)


def test_a_call_before_one_that_was_cut_was_judged_by_nobody_and_is_not_said_to_be_done() -> None:
    parts: list[AnswerPart] = [
        ReasoningPart(text="hm"),
        began(0),
        CallPart(index=0, text='{"id":"no number"}'),
        began(1),
        CallPart(index=1, text='{"i'),
    ]
    output, events = told(parts, is_whole=False)
    assert [item.status for item in output.told()] == ["completed", "incomplete", "incomplete"]
    assert "function_call_arguments.done" not in names(events)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        (TextPart(text="12"), "output_text.done"),
        (RefusalPart(text="I c"), "refusal.done"),
        (ReasoningPart(text="hm"), "reasoning_text.done"),
    ],
)
def test_words_that_were_cut_are_never_told_as_a_whole(part: AnswerPart, whole: str) -> None:
    _, cut = told([part], is_whole=False)
    assert whole not in names(cut)
    assert names(cut)[-2:] == ["content_part.done", "output_item.done"]
    assert whole in names(told([part])[1])


def test_what_fails_is_never_said_to_be_done() -> None:
    output = Output("5eed")
    parts: list[AnswerPart] = [TextPart(text="a"), began(), CallPart(index=0, text="{}")]
    before = [event for part in parts for event in output.take(part)]
    output.fail()
    assert [item.status for item in output.told()] == ["completed", "incomplete"]
    assert "function_call_arguments.done" not in names(before)


def test_an_answer_of_no_words_at_all_is_an_empty_message() -> None:
    output, events = told([], has_content=True)
    assert names(events) == [
        "output_item.added",
        "content_part.added",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ]
    assert output.told()[0].model_dump()["content"][0]["text"] == ""


def test_an_answer_of_nothing_has_no_items() -> None:
    output, events = told([], is_whole=False)
    assert (output.told(), events) == ([], [])


def test_log_probabilities_are_in_deltas_and_in_the_whole() -> None:
    top = TopLogprob(text="b", token_bytes=[98], logprob=-1.5)
    tokens = [
        TokenLogprob(text="a", token_bytes=[97], logprob=-0.5, top=[top]),
        TokenLogprob(text="c", token_bytes=[99], logprob=-0.25),
    ]
    output, events = told([TextPart(text="a", logprobs=tokens[:1]), TextPart(text="c", logprobs=tokens[1:])])
    first = {
        "token": "a",
        "bytes": [97],
        "logprob": -0.5,
        "top_logprobs": [{"token": "b", "bytes": [98], "logprob": -1.5}],
    }
    second = {"token": "c", "bytes": [99], "logprob": -0.25, "top_logprobs": []}
    deltas = [event["logprobs"] for event in events if event["type"] == "response.output_text.delta"]
    assert deltas == [[first], [second]]
    assert output.told()[0].model_dump()["content"][0]["logprobs"] == [first, second]


PARTS = st.lists(
    st.one_of(
        st.builds(TextPart, text=st.text(max_size=3)),
        st.builds(RefusalPart, text=st.text(max_size=3)),
        st.builds(ReasoningPart, text=st.text(max_size=3)),
        st.booleans(),
        st.text(max_size=3),
    ),
    max_size=8,
)


def parts_of(drawn: list[Any]) -> list[AnswerPart]:
    """A boolean begins a call, a string goes on with the last one."""
    parts: list[AnswerPart] = []
    num_calls = 0
    for each in drawn:
        if isinstance(each, bool):
            parts.append(began(num_calls, is_custom=each))
            num_calls += 1
        elif isinstance(each, str):
            if num_calls:
                parts.append(CallPart(index=num_calls - 1, text=each))
        else:
            parts.append(each)
    return parts


@given(PARTS, st.booleans(), st.booleans())
def test_the_events_of_any_answer_are_the_clients_and_add_up_to_its_items(
    drawn: list[Any],
    is_whole: bool,  # noqa: FBT001 - hypothesis passes by position
    has_content: bool,  # noqa: FBT001
) -> None:
    output, events = told(parts_of(drawn), is_whole=is_whole, has_content=has_content)
    texts: dict[tuple[int, int], str] = {}
    for number, event in enumerate(events):
        EVENT.validate_python({**event, "sequence_number": number}, strict=False)
        if event["type"].endswith(".delta"):
            place = (event["output_index"], event.get("content_index", 0))
            texts[place] = texts.get(place, "") + event["delta"]
    for index, item in enumerate(output.told()):
        dumped = item.model_dump()
        ITEM.validate_python(dumped)
        pieces = dumped.get("content") or [{"text": dumped.get("arguments", dumped.get("input", ""))}]
        for position, piece in enumerate(pieces):
            assert texts.get((index, position), "") == piece.get("text", piece.get("refusal"))
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == [item.model_dump() for item in output.told()]
    added = [event["output_index"] for event in events if event["type"] == "response.output_item.added"]
    assert added == list(range(len(output.told())))


def test_an_item_of_a_call_needs_its_beginning() -> None:
    with pytest.raises(KeyError):
        list(Output("5eed").take(CallPart(index=0, text="x")))
