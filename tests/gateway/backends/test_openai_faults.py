"""How one backend over a real socket may fail, and when it is asked again."""

from typing import Any

import pytest

from gateway.backends.errors import UpstreamFault, UpstreamRefusedError
from gateway.backends.openai import OpenAIServer
from gateway.backends.settings import OpenAIBackendSettings
from gateway.metrics import GatewayMetrics
from inference_node.errors import NodeUnavailableError
from tests.gateway.backends.one_server import KEY, answered, connections, server_of, text_of
from tests.gateway.openai_stub import CUT, DONE, OpenAIStub, Refuses, Reply, Streams, chunk, says


async def refused(reply: Reply, **settings: Any) -> UpstreamRefusedError:
    stub = OpenAIStub(script=lambda _: reply)
    async with server_of(stub, max_attempts=1, **settings) as server:
        with pytest.raises(UpstreamRefusedError) as caught:
            await answered(server)
        return caught.value


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
