"""One backend over a real socket: what is sent to it, and what is taken from it."""

import asyncio
from typing import Any

import pytest

from gateway.backends.events import RefusalText, UpstreamEvent, UpstreamFinish
from gateway.budgets.meter import Meter
from inference_node.protocol import ChatMessage, TokenEvent, ToolCallTurn
from registry.parsing import parse_json
from tests.gateway.backends.one_server import KEY, answered, asked, server_of, text_of
from tests.gateway.openai_stub import CUT, DONE, OpenAIStub, Streams, chunk, says, usage
from tests.gateway.twins import until


def end_of(events: list[UpstreamEvent]) -> str:
    last = events[-1]
    assert isinstance(last, UpstreamFinish)
    return last.end


async def test_an_answer_comes_as_it_is_said_with_the_servers_own_count() -> None:
    stub, meter = OpenAIStub(script=lambda _: says("hel", "lo ", "wörld 🙂", counted=(11, 5))), Meter()
    async with server_of(stub) as server:
        events = await answered(server, meter=meter)
    assert text_of(events) == "hello wörld 🙂"
    assert end_of(events) == "end_of_sequence"
    assert (meter.prompt_tokens, meter.completion_tokens, meter.retry_prompt_tokens) == (11, 5, 0)
    assert stub.headers[0]["authorization"] == f"Bearer {KEY}"


async def test_only_what_this_product_spells_is_sent() -> None:
    stub = OpenAIStub()
    schema = parse_json('{"type":"integer","maximum":12345678901234567890.5}', max_bytes=99, max_nesting=9)
    hint = {"type": "json_schema", "json_schema": {"name": "contract", "schema": schema, "strict": True}}
    async with server_of(stub, max_tokens_field="max_completion_tokens") as server:
        await answered(server, asked(max_tokens=9, stop=("x",), response_format=hint))
    assert stub.requests == [
        {
            "model": "upstream-m",
            "messages": [{"role": "user", "content": "hi"}],
            "temperature": 0.5,
            "top_p": 1.0,
            "seed": 5,
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_completion_tokens": 9,
            "stop": ["x"],
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "contract",
                    "schema": {"type": "integer", "maximum": 12345678901234567890.5},
                    "strict": True,
                },
            },
        }
    ]


async def test_earlier_calls_and_their_results_are_told_as_turns() -> None:
    stub = OpenAIStub()
    calls = [
        ToolCallTurn(call_id="c1", name="f", text='{"a":1}'),
        ToolCallTurn(call_id="c2", name="g", text="raw", is_custom=True),
    ]
    turns = (
        ChatMessage(role="user", content="hi"),
        ChatMessage(role="assistant", content="", tool_calls=calls),
        ChatMessage(role="tool", content="42", tool_call_id="c1"),
    )
    async with server_of(stub) as server:
        await answered(server, asked(messages=turns))
    assert stub.requests[0]["messages"][1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "raw"}},
            ],
        },
        {"role": "tool", "content": "42", "tool_call_id": "c1"},
    ]


@pytest.mark.parametrize(
    ("steps", "end", "text"),
    [
        (says("a", finish="length").steps, "max_tokens", "a"),
        (says("a", finish="content_filter").steps, "content_filter", "a"),
        ([chunk("a"), chunk(finish="stop", extra={"stop_reason": "\n\n"}), DONE], "stop_string", "a"),
        ([chunk("a"), chunk(finish="stop", extra={"stop_reason": 128009}), DONE], "end_of_sequence", "a"),
        ([chunk("a", finish="stop")], "end_of_sequence", "a"),  # no [DONE]: the reason is enough
        ([chunk(finish="stop"), DONE], "end_of_sequence", ""),  # null content with stop
        ([b": keep-alive\n\n", b"event: message\r\n", chunk("a"), chunk(finish="stop"), DONE], "end_of_sequence", "a"),
        ([chunk("a"), chunk(finish="stop"), CUT], "end_of_sequence", "a"),
    ],
)
async def test_the_reasons_of_the_api_are_ends(steps: list[Any], end: str, text: str) -> None:
    async with server_of(OpenAIStub(script=lambda _: Streams(steps=steps))) as server:
        events = await answered(server)
    assert (end_of(events), text_of(events)) == (end, text)


@pytest.mark.parametrize(
    "steps",
    [
        says("a", finish="abort").steps,
        says("a", finish="tool_calls").steps,
        says("a", finish="because").steps,
        [chunk("a"), {"error": {"message": "boom", "type": "server_error", "code": 500}}, DONE],
        [chunk("a"), {"object": "error", "message": "boom", "code": 500}, DONE],
        [chunk("a"), {"error": "boom"}],
        [chunk("a"), chunk(finish="stop"), {"error": {"message": "late"}}, DONE],
        [chunk("a"), chunk(finish="stop"), chunk("b"), DONE],
        [chunk("a"), chunk(finish="stop"), chunk(finish="length"), DONE],
        [chunk("a"), chunk("b", index=1), chunk(finish="stop"), DONE],
        [chunk("a", tool_calls=[{"index": 0}]), chunk(finish="stop"), DONE],
        [chunk("a"), chunk("x" * (8 * 1024 * 1024 // 16)) | {}, *([chunk("x" * 600_000)] * 14), chunk(finish="stop")],
    ],
)
async def test_whatever_else_comes_is_a_failed_answer(steps: list[Any]) -> None:
    async with server_of(OpenAIStub(script=lambda _: Streams(steps=steps))) as server:
        events = await answered(server)
    assert end_of(events) == "engine_failed"


async def test_a_refusal_is_told_apart_from_an_answer() -> None:
    steps = [chunk(refusal="I "), chunk(refusal="cannot"), chunk(finish="stop"), DONE]
    async with server_of(OpenAIStub(script=lambda _: Streams(steps=steps))) as server:
        events = await answered(server)
    assert [event.text for event in events if isinstance(event, RefusalText)] == ["I ", "cannot"]
    assert (end_of(events), text_of(events)) == ("model_refused", "")


async def test_a_connection_is_used_again() -> None:
    stub = OpenAIStub()
    async with server_of(stub) as server:
        for _ in range(3):
            await answered(server)
    assert len({headers["x-test-peer"] for headers in stub.headers}) == 1


async def test_who_leaves_closes_the_connection_and_pays_for_what_came() -> None:
    never = asyncio.Event()
    stub, meter = OpenAIStub(script=lambda _: Streams(steps=[chunk("a"), chunk("b"), never])), Meter()
    async with server_of(stub) as server:
        async with server.open("m", asked(), meter, is_retry=True) as answer:
            assert isinstance(await anext(answer.events), TokenEvent)
            assert isinstance(await anext(answer.events), TokenEvent)
            assert stub.num_open == 1
        await until(lambda: stub.num_open == 0)
    assert (meter.completion_tokens, meter.retry_completion_tokens) == (2, 2)
    assert meter.prompt_tokens == meter.retry_prompt_tokens > 0


async def test_a_server_that_does_not_count_is_counted_for() -> None:
    stub, meter = OpenAIStub(script=lambda _: says("a", "b", "c", counted=None)), Meter()
    async with server_of(stub) as server:
        events = await answered(server, meter=meter)
    last = events[-1]
    assert isinstance(last, UpstreamFinish)
    assert last.usage.completion_tokens == meter.completion_tokens == 3
    assert meter.prompt_tokens == last.usage.prompt_tokens > 0


async def test_cached_tokens_are_a_part_of_the_prompts() -> None:
    steps = [chunk("a"), chunk(finish="stop"), usage(100, 1, cached=64), DONE]
    meter = Meter()
    async with server_of(OpenAIStub(script=lambda _: Streams(steps=steps))) as server:
        await answered(server, meter=meter)
    assert (meter.prompt_tokens, meter.cached_prompt_tokens) == (100, 64)
