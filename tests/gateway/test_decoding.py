"""What decoding was like, in the answers of both APIs: of whole ones, of several choices, and of what is withheld."""

import json
from pathlib import Path
from typing import Any

from inference_node.protocol import DecodingReport, Finish, GenerateRequest, Spread
from tests.gateway.rules.ruled import INVOICE, RIGHT, under
from tests.gateway.twins import Event, NodeTwin, chat, gateway_with, says, strict

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
REPORT = DecodingReport(
    num_steps=2,
    cached_prompt_tokens=3,
    drafted_tokens=7,
    accepted_draft_tokens=2,
    num_preemptions=1,
    mask_seconds=Spread(p50=0.00005, p95=0.0001, max=0.0002),
    allowed_tokens=Spread(p50=10, p95=100, max=1110),
    pressure=Spread(p50=0.25, p95=0.5, max=0.75),
    pressure_by_field={"/a": 0.75, "": 0.25},
)


def reporting(text: str, **changes: Any) -> list[Event]:
    """A sequence that says `text`, and a last event with a report."""
    *before, last = says(text)
    assert isinstance(last, Finish)
    return [*before, last.model_copy(update={"decoding": REPORT.model_copy(update=changes)})]


async def test_an_answer_says_what_decoding_was_like(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: reporting('{"a":1}'))
    async with gateway_with(tmp_path, node=node) as world:
        answer = (await world.client.post(CHAT, json=strict(OBJECT))).json()
    assert answer["schemagate"]["decoding"] == {
        "picks": 2,
        "forced_tokens": 1,
        "cached_prompt_tokens": 3,
        "drafted_tokens": 7,
        "accepted_draft_tokens": 2,
        "preemptions": 1,
        "mask_ms": {"p50": 0.05, "p95": 0.1, "max": 0.2},
        "allowed_tokens": {"p50": 10, "p95": 100, "max": 1110},
        "pressure": {"p50": 0.25, "p95": 0.5, "max": 0.75},
        "pressure_by_field": {"/a": 0.75, "": 0.25},
    }
    usage = answer["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 3
    assert usage["completion_tokens_details"]["accepted_prediction_tokens"] == 2
    assert usage["completion_tokens_details"]["rejected_prediction_tokens"] == 5


async def test_a_stream_ends_with_the_same(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: reporting('{"a":1}'))
    asked = strict(OBJECT, stream=True, stream_options={"include_usage": True})
    async with gateway_with(tmp_path, node=node) as world:
        whole = (await world.client.post(CHAT, json=strict(OBJECT))).json()
        streamed = await world.client.post(CHAT, json=asked)
    chunks = [json.loads(block.removeprefix("data: ")) for block in streamed.text.split("\n\n")[:-2]]
    told = [chunk["schemagate"]["decoding"] for chunk in chunks if "schemagate" in chunk]
    assert told == [whole["schemagate"]["decoding"]]
    assert chunks[-1]["usage"] == whole["usage"]


async def test_the_responses_api_tells_of_it_too(tmp_path: Path) -> None:
    text = {"format": {"type": "json_schema", "name": "x", "strict": True, "schema": {"type": "string"}}}
    async with gateway_with(tmp_path, node=NodeTwin(script=lambda _: reporting('"Hello"'))) as world:
        asked = {"model": chat()["model"], "input": "hi", "text": text}
        answer = (await world.client.post(RESPONSES, json=asked)).json()
    assert answer["usage"]["input_tokens_details"]["cached_tokens"] == 3
    assert answer["schemagate"]["decoding"]["pressure"] == {"p50": 0.25, "p95": 0.5, "max": 0.75}


async def test_of_several_choices_the_prompt_was_cached_as_far_as_none_computed_it(tmp_path: Path) -> None:
    def script(request: GenerateRequest) -> list[Event]:
        is_first = not request.request_id.endswith(("-1", "-2"))
        return reporting('{"a":1}', cached_prompt_tokens=1 if is_first else 4)

    async with gateway_with(tmp_path, node=NodeTwin(script=script)) as world:
        usage = (await world.client.post(CHAT, json=strict(OBJECT, n=3))).json()["usage"]
    assert usage["prompt_tokens"] == 5
    assert usage["prompt_tokens_details"]["cached_tokens"] == 1
    assert usage["completion_tokens_details"]["accepted_prediction_tokens"] == 6
    assert usage["completion_tokens_details"]["rejected_prediction_tokens"] == 15


async def test_no_more_is_told_to_be_cached_than_the_prompt_has(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: reporting('{"a":1}', cached_prompt_tokens=10**6))
    async with gateway_with(tmp_path, node=node) as world:
        answer = (await world.client.post(CHAT, json=strict(OBJECT))).json()
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 5
    assert answer["schemagate"]["decoding"]["cached_prompt_tokens"] == 5


async def test_names_of_members_are_not_told_of_an_answer_that_nobody_may_have(tmp_path: Path) -> None:
    """Under an open contract, names are the answer's own text."""
    never = {"name": "never", "cel": "false", "message": "no"}
    node = NodeTwin(script=lambda _: reporting(RIGHT, pressure_by_field={"/secret": 0.5}))
    async with under(tmp_path, {"authorisation": [never]}, node=node) as world:
        refused = await world.client.post(CHAT, json=strict(INVOICE))
    assert refused.json()["error"]["code"] == "output_not_authorised"
    assert "secret" not in refused.text
    assert refused.json()["schemagate"]["decoding"]["pressure_by_field"] == {}


async def test_a_node_is_told_whose_request_it_is_and_not_who_that_is(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: reporting('{"a":1}'))
    async with gateway_with(tmp_path, node=node) as world:
        for _ in range(2):
            await world.client.post(CHAT, json=strict(OBJECT))
    first, second = node.requests
    assert first.partition == second.partition
    assert len(bytes.fromhex(first.partition)) == 32
