"""How answers of the Responses API end, whole and as events."""

import json
from pathlib import Path
from typing import Any

import pytest

from inference_node.protocol import StopCause
from tests.gateway.responses.asking import FORMAT, URL, body, names, steady, streamed
from tests.gateway.twins import Broken, NodeTwin, gateway_with, says


async def test_a_stream_tells_of_words_in_the_order_of_the_protocol(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"a"', ":1}"))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT)
        whole = (await world.client.post(URL, json=body(text=FORMAT))).json()
    assert names(events) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert [event["delta"] for event in events if "delta" in event] == ['{"a"', ":1}"]
    first, last = events[0]["response"], events[-1]["response"]
    assert (first["status"], first["output"], first["usage"], first["completed_at"]) == ("in_progress", [], None, None)
    assert first["id"] == last["id"]
    assert steady(last) == steady(whole) | {"schemagate": steady(last)["schemagate"]}
    assert last["schemagate"]["completion"] == "complete"


@pytest.mark.parametrize(
    ("end", "completion", "details"),
    [
        ("max_tokens", "truncated", {"reason": "max_output_tokens"}),
        ("context_full", "truncated", {"reason": "max_output_tokens"}),
        ("stop_string", "stopped", None),
    ],
)
async def test_an_answer_that_is_not_whole_is_incomplete_with_its_item(
    tmp_path: Path, end: StopCause, completion: str, details: Any
) -> None:
    node = NodeTwin(script=lambda _: says('{"a"', end=end, accepting=False))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT, max_output_tokens=1)
        answer = await world.client.post(URL, json=body(text=FORMAT, max_output_tokens=1))
    whole = answer.json()
    assert answer.status_code == 200
    assert names(events)[-2:] == ["output_item.done", "incomplete"]
    assert events[-2]["item"]["status"] == "incomplete"
    for response in (whole, events[-1]["response"]):
        assert (response["status"], response["incomplete_details"]) == ("incomplete", details)
        assert response["output"][0]["status"] == "incomplete"
        assert response["output"][0]["content"][0]["text"] == '{"a"'
        assert response["completed_at"] is None
        assert response["error"] is None
        assert response["schemagate"]["completion"] == completion


@pytest.mark.parametrize(
    ("text", "end", "status", "code"),
    [
        ("[]", "grammar_end", 422, "output_failed_validation"),
        ("{", "dead_end", 422, "impossible_continuation"),
        ("{", "engine_failed", 502, "backend_failed"),
    ],
)
async def test_what_is_no_answer_is_an_http_error_or_the_failed_event(
    tmp_path: Path, text: str, end: StopCause, status: int, code: str
) -> None:
    node = NodeTwin(script=lambda _: says(text, end=end, accepting=end == "grammar_end"))
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT)
        answer = await world.client.post(URL, json=body(text=FORMAT))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert names(events)[-1] == "failed"
    assert "output_text.done" not in names(events)
    response = events[-1]["response"]
    assert (response["status"], response["error"]["code"]) == ("failed", "server_error")
    assert response["error"]["message"] == answer.json()["error"]["message"]
    assert [item["status"] for item in response["output"]] == ["incomplete"]
    assert response["usage"]["input_tokens"] == 5
    told = response["schemagate"]["error"]
    assert told["code"] == code
    assert told | {"request_id": ""} == answer.json()["error"] | {"request_id": ""}
    assert response["schemagate"]["completion"] == answer.json()["schemagate"]["completion"]


async def test_a_node_that_is_lost_in_a_stream_fails_it_once(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: [*says('{"a"')[:2], Broken])
    async with gateway_with(tmp_path, node=node) as world:
        events = await streamed(world, text=FORMAT)
    assert names(events)[-1] == "failed"
    assert events[-1]["response"]["schemagate"]["completion"] == "backend_failed"


class Mischief:
    """A judge that has a fault of its own."""

    num_ready = 1

    async def validate(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")


async def test_a_failure_of_the_gateway_itself_ends_a_stream_with_an_error_event(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, node=NodeTwin(script=lambda _: says("{}")), validator=Mischief()) as world:
        events = await streamed(world, text=FORMAT)
    last = events[-1]
    assert (last["type"], last["code"], last["param"]) == ("error", "internal_error", None)


async def test_obfuscated_deltas_have_even_sizes_and_others_have_no_padding(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('{"a":"', "b", 'üüü"}'))
    sent = body(stream=True, text=FORMAT, stream_options={"include_obfuscation": True})
    async with gateway_with(tmp_path, node=node) as world:
        padded = await world.client.post(URL, json=sent)
        plain = await streamed(world, text=FORMAT, stream_options={"include_obfuscation": False})
    data = [block.split("\n")[1].removeprefix("data: ") for block in padded.text.split("\n\n")[:-1]]
    deltas = [line for line in data if "obfuscation" in json.loads(line)]
    assert len(deltas) == 3
    assert all(len(line.encode()) % 64 == 0 for line in deltas)
    assert not any("obfuscation" in event for event in plain)


async def test_what_is_held_back_is_sent_when_it_has_been_judged_and_never_if_it_fails(tmp_path: Path) -> None:
    texts = ['{"a"', ":1}"]
    node = NodeTwin(script=lambda _: says(*texts))
    async with gateway_with(tmp_path, node=node, serving_policy={"stream_mode": "hold_back"}) as world:
        events = await streamed(world, text=FORMAT)
        assert names(events)[-1] == "completed"
        assert "".join(event["delta"] for event in events if "delta" in event) == '{"a":1}'
        texts[:] = ["[", "]"]
        events = await streamed(world, text=FORMAT)
    assert names(events) == ["created", "in_progress", "failed"]
    assert events[-1]["response"]["output"] == []
