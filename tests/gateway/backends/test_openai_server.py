"""One backend over a real socket: what is sent to it, what is taken from it, and how it may fail."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.backends.errors import UpstreamFault, UpstreamRefusedError
from gateway.backends.events import RefusalText, UpstreamEvent, UpstreamFinish, UpstreamRequest
from gateway.backends.openai import OpenAIServer
from gateway.backends.settings import OpenAIBackendSettings
from gateway.budgets.meter import Meter
from gateway.metrics import GatewayMetrics
from inference_node.errors import NodeUnavailableError
from inference_node.http_connections import HttpConnections
from inference_node.protocol import ChatMessage, Sampling, TokenEvent, ToolCallTurn
from registry.parsing import parse_json
from tests.gateway.openai_stub import CUT, DONE, OpenAIStub, Refuses, Reply, Streams, chunk, says, usage
from tests.gateway.serving import served
from tests.gateway.twins import until

KEY = "sk-a-secret-of-the-operator"


def asked(**changes: Any) -> UpstreamRequest:
    values: dict[str, Any] = {
        "messages": (ChatMessage(role="user", content="hi"),),
        "sampling": Sampling(seed=2**40 + 5, temperature=0.5),
        "max_tokens": None,
        "stop": (),
    }
    return UpstreamRequest(**(values | changes))


@asynccontextmanager
async def server_of(stub: OpenAIStub, **settings: Any) -> AsyncIterator[OpenAIServer]:
    async with served(stub.app) as url, connections() as streams:
        values: dict[str, Any] = {"name": "up", "base_url": f"{url}/v1", "api_key": KEY, "models": {"m": "upstream-m"}}
        yield OpenAIServer(OpenAIBackendSettings(**(values | settings)), streams, GatewayMetrics())


@asynccontextmanager
async def connections() -> AsyncIterator[HttpConnections]:
    streams = HttpConnections(connect_seconds=2, silence_seconds=10, max_connections=8)
    try:
        yield streams
    finally:
        await streams.close()


async def answered(
    server: OpenAIServer, request: UpstreamRequest | None = None, meter: Meter | None = None
) -> list[UpstreamEvent]:
    async with server.open("m", request or asked(), meter or Meter()) as answer:
        return [event async for event in answer.events]


def text_of(events: list[UpstreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokenEvent))


def end_of(events: list[UpstreamEvent]) -> str:
    last = events[-1]
    assert isinstance(last, UpstreamFinish)
    return last.end


async def refused(reply: Reply, **settings: Any) -> UpstreamRefusedError:
    stub = OpenAIStub(script=lambda _: reply)
    async with server_of(stub, max_attempts=1, **settings) as server:
        with pytest.raises(UpstreamRefusedError) as caught:
            await answered(server)
        return caught.value


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


@pytest.mark.parametrize(
    "steps",
    [
        [chunk("a"), CUT],
        [chunk("a")],
        [chunk("a"), DONE],
        [chunk("a"), b"data: {not json\n\n"],
        [chunk("a"), b'data: {"choices": 3}\n\n'],
        [chunk("a"), b'data: {"choices":[{"delta":{"content":"\\ud800"}}]}\n\n'],
        [chunk("a"), b"data: " + b"x" * (1024 * 1024 + 2)],
    ],
)
async def test_a_stream_that_breaks_off_is_lost_and_never_an_end(steps: list[Any]) -> None:
    async with server_of(OpenAIStub(script=lambda _: Streams(steps=steps))) as server:
        with pytest.raises(NodeUnavailableError):
            await answered(server)


async def test_a_refusal_is_told_apart_from_an_answer() -> None:
    steps = [chunk(refusal="I "), chunk(refusal="cannot"), chunk(finish="stop"), DONE]
    async with server_of(OpenAIStub(script=lambda _: Streams(steps=steps))) as server:
        events = await answered(server)
    assert [event.text for event in events if isinstance(event, RefusalText)] == ["I ", "cannot"]
    assert (end_of(events), text_of(events)) == ("model_refused", "")


NESTED = {"error": {"message": "m", "type": "t", "param": None, "code": "c"}}


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        # OpenAI: nested, a string as code
        (
            Refuses(status=400, body={"error": {"message": "m", "code": "context_length_exceeded"}}),
            UpstreamFault.CONTEXT_LENGTH,
        ),
        (Refuses(status=401, body={"error": {"message": "m", "code": "invalid_api_key"}}), UpstreamFault.CREDENTIALS),
        (Refuses(status=404, body={"error": {"message": "m", "code": "model_not_found"}}), UpstreamFault.MODEL),
        (Refuses(status=429, body={"error": {"code": "insufficient_quota"}}), UpstreamFault.CREDENTIALS),
        (Refuses(status=400, body={"error": {"code": "content_filter"}}), UpstreamFault.PROMPT_FILTERED),
        (Refuses(status=400, body=NESTED), UpstreamFault.REQUEST),
        # vLLM: nested, the status as code
        (
            Refuses(
                status=400,
                body={
                    "error": {
                        "message": "This model's maximum context length is 2048 tokens.",
                        "type": "BadRequestError",
                        "param": None,
                        "code": 400,
                    }
                },
            ),
            UpstreamFault.CONTEXT_LENGTH,
        ),
        (
            Refuses(status=404, body={"error": {"message": "no", "type": "NotFoundError", "code": 404}}),
            UpstreamFault.MODEL,
        ),
        # SGLang, where it is flat
        (
            Refuses(
                status=400,
                body={
                    "object": "error",
                    "message": "The input (9 tokens) is longer than the model's context length (4 tokens).",
                    "type": "BadRequestError",
                    "code": 400,
                },
            ),
            UpstreamFault.CONTEXT_LENGTH,
        ),
        (Refuses(status=500, body={"object": "error", "message": "CUDA error at /opt/x.py"}), UpstreamFault.FAILED),
        # others: a bare string, FastAPI's, a list
        (Refuses(status=424, body={"error": "model overloaded", "error_type": "overloaded"}), UpstreamFault.REQUEST),
        (Refuses(status=422, body={"detail": [{"msg": "extra"}]}), UpstreamFault.REQUEST),
        (Refuses(status=400, body=[NESTED]), UpstreamFault.REQUEST),
        # proxies: pages, nothing, redirects
        (Refuses(status=502, body=b"<html>Bad Gateway</html>", media_type="text/html"), UpstreamFault.FAILED),
        (Refuses(status=503, body=b""), UpstreamFault.OVERLOADED),
        (Refuses(status=403, body=b"<html>no</html>", media_type="text/html"), UpstreamFault.CREDENTIALS),
        (Refuses(status=301, headers={"location": "http://127.0.0.1:1/"}), UpstreamFault.UNREADABLE),
        (Refuses(status=200, body=b"<html>Welcome</html>", media_type="text/html"), UpstreamFault.UNREADABLE),
        (Refuses(status=200, body=b""), UpstreamFault.UNREADABLE),
        (Refuses(status=200, body=b"[" * 60_000), UpstreamFault.UNREADABLE),
        (Refuses(status=400, body=b"x" * 1_000_000), UpstreamFault.REQUEST),
        # errors under a 200
        (Refuses(status=200, body={"error": {"message": "busy", "code": 429}}), UpstreamFault.OVERLOADED),
        (Refuses(status=200, body={"error": {"message": "boom"}}), UpstreamFault.FAILED),
        (Streams(steps=[{"error": {"message": "boom", "code": 500}}]), UpstreamFault.FAILED),
        (Streams(steps=[{"error": {"message": "m", "code": "context_length_exceeded"}}]), UpstreamFault.CONTEXT_LENGTH),
        (Streams(steps=[]), UpstreamFault.UNREADABLE),
        (Streams(steps=[DONE]), UpstreamFault.UNREADABLE),
        (Streams(steps=[b"data: {]\n\n"]), UpstreamFault.UNREADABLE),
        (Streams(steps=[b"data: 3\n\n"]), UpstreamFault.UNREADABLE),
        (Streams(steps=[b"\x00\xff\xfe" * 100]), UpstreamFault.UNREADABLE),
        (Streams(steps=[CUT]), UpstreamFault.UNREACHABLE),
    ],
    ids=str,
)
async def test_every_shape_of_an_error_is_one_of_our_faults(reply: Reply, fault: UpstreamFault) -> None:
    error = await refused(reply)
    assert error.fault is fault
    assert "up" not in str(error).split()
    assert "CUDA" not in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "999999999"}, 3600.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 99 Oct"}, None),
        ({}, None),
    ],
)
async def test_a_full_backend_is_asked_again_when_it_says(headers: dict[str, str], seconds: float | None) -> None:
    error = await refused(Refuses(status=429, body=NESTED, headers=headers))
    assert (error.fault, error.retry_after_seconds) == (UpstreamFault.OVERLOADED, seconds)


async def test_a_connection_is_used_again() -> None:
    stub = OpenAIStub()
    async with server_of(stub) as server:
        for _ in range(3):
            await answered(server)
    assert len({headers["x-test-peer"] for headers in stub.headers}) == 1


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with connections() as streams:
        settings = OpenAIBackendSettings(name="up", base_url="http://127.0.0.1:9/v1", models={"m": "m"}, max_attempts=1)
        with pytest.raises(UpstreamRefusedError) as caught:
            await answered(OpenAIServer(settings, streams, GatewayMetrics()))
    assert caught.value.fault is UpstreamFault.UNREACHABLE


async def test_it_is_asked_again_before_the_first_token_and_never_after_it() -> None:
    replies: list[Reply] = [Refuses(status=500), says("a")]
    stub = OpenAIStub(script=lambda _: replies.pop(0))
    async with server_of(stub) as server:
        assert text_of(await answered(server)) == "a"
        assert len(stub.requests) == 2
        replies = [Streams(steps=[chunk("a"), CUT]), says("b")]
        with pytest.raises(NodeUnavailableError):
            await answered(server)
        assert len(stub.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_what_would_fail_again_is_asked_once(status: int) -> None:
    stub = OpenAIStub(script=lambda _: Refuses(status=status))
    async with server_of(stub, max_attempts=3) as server:
        with pytest.raises(UpstreamRefusedError):
            await answered(server)
    assert len(stub.requests) == 1


async def test_a_server_that_asks_for_patience_is_not_waited_for() -> None:
    stub = OpenAIStub(script=lambda _: Refuses(status=429, headers={"retry-after": "30"}))
    async with server_of(stub, max_attempts=3) as server:
        with pytest.raises(UpstreamRefusedError):
            await answered(server)
    assert len(stub.requests) == 1


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


async def test_a_key_that_is_gone_or_no_header_is_the_operators_fault(tmp_path: Any) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    stub = OpenAIStub()
    async with server_of(stub, api_key=None, api_key_file=file, max_attempts=1) as server:
        await answered(server)
        assert stub.headers[0]["authorization"] == f"Bearer {KEY}"
        file.write_text("a\nb")
        for _ in range(2):
            with pytest.raises(UpstreamRefusedError) as caught:
                await answered(server)
            assert caught.value.fault is UpstreamFault.CREDENTIALS
            file.unlink(missing_ok=True)
    assert len(stub.requests) == 1
