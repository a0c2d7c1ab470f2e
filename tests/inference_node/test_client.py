import json
import socket
from collections.abc import AsyncIterator

import httpx
import pytest

from inference_node.client import NodeClient
from inference_node.errors import NodeUnavailableError
from inference_node.protocol import Finish, Started, TokenEvent
from tests.inference_node.service_worlds import client_of, collect, request


async def test_a_stream_that_breaks_off_is_unavailable_and_not_a_finish() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b'{"event":"started","prompt_tokens":3}\n')

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = NodeClient("http://node", http)
        with pytest.raises(NodeUnavailableError, match="without its finish"):
            await collect(client, request())


@pytest.mark.parametrize(
    "content", [b"not json\n", b'{"event":"finish"}\n', b'{"event":"other"}\n', b"x" * (1 << 20) + b"x"]
)
async def test_an_unreadable_stream_is_unavailable(content: bytes) -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=content))) as http:
        with pytest.raises(NodeUnavailableError):
            await collect(NodeClient("http://node", http), request())


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_an_answer_that_is_not_a_nodes_is_unavailable(status: int) -> None:
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(status, content=b"<html>"))
    ) as http:
        with pytest.raises(NodeUnavailableError):
            await NodeClient("http://node", http).identity()


async def test_a_node_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    async with client_of(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(NodeUnavailableError, match="ConnectError"):
            await client.identity()
        with pytest.raises(NodeUnavailableError):
            await collect(client, request())


def line(text: str) -> bytes:
    event = {"event": "token", "text": text, "token_ids": [len(text)], "num_forced_tokens": 1, "accepting": False}
    return json.dumps(event).encode() + b"\n"


STARTED = b'{"event":"started","prompt_tokens":3}\n'
FINISH = (
    json.dumps(
        {
            "event": "finish",
            "stop_cause": "grammar_end",
            "accepting": True,
            "usage": {"prompt_tokens": 3, "completion_tokens": 3, "forced_tokens": 3},
            "timings": dict.fromkeys(("queue_seconds", "prefill_seconds", "decode_seconds", "mask_seconds"), 0.0),
        }
    ).encode()
    + b"\n"
)


def logprob(value: str, byte: int = 97) -> bytes:
    said = f'"logprobs":[{{"text":"a","token_bytes":[{byte}],"logprob":{value}}}]'
    return line("a").replace(b"}\n", b"," + said.encode() + b"}\n")


@pytest.mark.parametrize(
    "lines",
    [
        STARTED.replace(b"3", b"-3") + FINISH,
        STARTED + line("a").replace(b'"num_forced_tokens": 1', b'"num_forced_tokens": -1') + FINISH,
        STARTED + FINISH.replace(b'"completion_tokens": 3', b'"completion_tokens": -3'),
        STARTED + FINISH.replace(b'"completion_tokens": 3', b'"completion_tokens": 1' + b"0" * 30),
        STARTED + logprob("NaN") + FINISH,
        STARTED + logprob("-Infinity") + FINISH,
        STARTED + logprob("-1.5", byte=256) + FINISH,
    ],
)
async def test_counts_that_are_none_and_numbers_that_are_not_in_json_are_no_nodes_answer(lines: bytes) -> None:
    """The one would be charged, the other be given out as what no client reads."""
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=lines))) as http:
        with pytest.raises(NodeUnavailableError, match="unreadable event"):
            await collect(NodeClient("http://node", http), request())


async def test_blank_lines_are_no_events() -> None:
    lines = STARTED + b"\n\n" + line("a") + b"\n" + FINISH
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=lines))) as http:
        started, token, finish = await collect(NodeClient("http://node", http), request())
    assert (started.event, token.event, finish.event) == ("started", "token", "finish")


async def test_tokens_that_came_together_are_one_event_and_tokens_that_did_not_are_not() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield STARTED + line("a") + line("bc") + line("def")[:7]
        yield line("def")[7:]
        yield FINISH + b"what comes after the finish is not read"

    async with httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, content=pieces()))
    ) as http:
        _, first, second, finish = await collect(NodeClient("http://node", http), request())
    assert isinstance(first, TokenEvent)
    assert (first.text, first.token_ids, first.num_forced_tokens, first.accepting) == ("abc", [1, 2], 2, False)
    assert isinstance(second, TokenEvent)
    assert (second.text, second.token_ids) == ("def", [3])
    assert isinstance(finish, Finish)


@pytest.mark.parametrize("bad", [b"not json\n", b"{}\n", b" \n", line("x").strip() + b"," + line("y"), b"],[\n"])
async def test_what_came_before_a_line_that_is_none_is_still_given_out(bad: bytes) -> None:
    content = STARTED + line("a") + line("b") + bad + FINISH
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=content))
    async with (
        httpx.AsyncClient(transport=transport) as http,
        NodeClient("http://node", http).generate(request()) as events,
    ):
        assert isinstance(await anext(events), Started)
        token = await anext(events)
        assert isinstance(token, TokenEvent)
        assert token.text == "ab"
        with pytest.raises(NodeUnavailableError, match="unreadable event"):
            await anext(events)
