"""What a caller's connection may say before anybody knows who it is: bytes on a real socket, and what comes back."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.bounded_connection import MAX_HEAD_BYTES, BoundedConnection
from tests.gateway.serving import served_gateway
from tests.gateway.twins import NodeTwin, chat, says, until

CLOSE = b"Connection: close\r\n\r\n"


def speaker() -> NodeTwin:
    return NodeTwin(script=lambda _: says("hi", end="end_of_sequence", accepting=None))


class Impatient(BoundedConnection):
    """Waits for hardly anything."""

    head_seconds = 0.05
    linger_seconds = 0.05


def models(key: str, headers: bytes = b"") -> bytes:
    return f"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n".encode() + headers


def posted(key: str, body: bytes, headers: str = "") -> bytes:
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n{headers}"
    return head.encode() + b"Content-Type: application/json\r\n" + body


async def answers(url: str, *pieces: bytes) -> bytes:
    """Everything that comes back until the other side closes."""
    host, _, port = url.removeprefix("http://").partition(":")
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            return await reader.read()
        finally:
            writer.close()


def status_and_error(answer: bytes) -> tuple[int, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]


@pytest.mark.parametrize(
    "flood",
    [
        b"X-A: " + b"a" * MAX_HEAD_BYTES + b"\r\n",
        b"X-A: " + b"a" * (4 * MAX_HEAD_BYTES),
        b"".join(b"X-%d: a\r\n" % number for number in range(8_000)),
        b"X-" + b"a" * MAX_HEAD_BYTES + b": a\r\n",
    ],
    ids=["one header", "no end", "many headers", "a long name"],
)
async def test_a_flood_of_headers_is_431_whoever_sends_it(tmp_path: Path, flood: bytes) -> None:
    async with served_gateway(tmp_path, node=speaker()) as (url, key):
        answer = await answers(url, models(key, flood) + CLOSE)
        status, error = status_and_error(answer)
        assert (status, error["code"], error["limit"]) == (431, "headers_too_large", MAX_HEAD_BYTES)
        assert f"x-request-id: {error['request_id']}".encode() in answer
        assert (await answers(url, models(key) + CLOSE)).startswith(b"HTTP/1.1 200")


async def test_a_request_line_without_an_end_is_431(tmp_path: Path) -> None:
    async with served_gateway(tmp_path, node=speaker()) as (url, _):
        status, error = status_and_error(await answers(url, b"GET /" + b"a" * (2 * MAX_HEAD_BYTES)))
    assert (status, error["code"]) == (431, "headers_too_large")


async def test_headers_up_to_the_limit_are_read(tmp_path: Path) -> None:
    async with served_gateway(tmp_path, node=speaker()) as (url, key):
        answer = await answers(url, models(key, b"X-A: " + b"a" * (MAX_HEAD_BYTES - 1_000) + b"\r\n") + CLOSE)
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [b"\xff" * 500, b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nA : 1\r\n\r\n"])
async def test_what_is_no_http_is_told_so_as_everything_else_is(tmp_path: Path, sent: bytes) -> None:
    async with served_gateway(tmp_path, node=speaker()) as (url, _):
        status, error = status_and_error(await answers(url, sent))
    assert (status, error["code"]) == (400, "invalid_http")


@pytest.mark.parametrize("sent", [b"", b"GET /v1/models HTT", b"\r\n", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
async def test_a_connection_that_never_ends_its_headers_is_closed(tmp_path: Path, sent: bytes) -> None:
    async with served_gateway(tmp_path, node=speaker(), http=Impatient) as (url, _):
        assert await answers(url, sent) == b""


async def test_a_body_that_goes_on_after_its_answer_is_not_waited_for(tmp_path: Path) -> None:
    async with served_gateway(tmp_path, node=speaker(), http=Impatient) as (url, _):
        answer = await answers(url, posted("nobody", b"Content-Length: 1000000\r\n\r\n{"))
    assert answer.startswith(b"HTTP/1.1 401")


async def test_an_answer_may_take_longer_than_its_headers_might(tmp_path: Path) -> None:
    gate = asyncio.Event()
    node = NodeTwin(script=lambda _: [gate, *says("hi", end="end_of_sequence", accepting=None)])
    body = json.dumps(chat()).encode()
    async with served_gateway(tmp_path, node=node, http=Impatient) as (url, key):
        asking = asyncio.ensure_future(answers(url, posted(key, b"Content-Length: %d\r\n\r\n" % len(body) + body)))
        await asyncio.sleep(3 * Impatient.head_seconds)
        gate.set()
        assert (await asking).startswith(b"HTTP/1.1 200")


async def test_what_follows_a_body_does_not_pass_for_headers(tmp_path: Path) -> None:
    body = json.dumps(chat()).encode()
    chunked = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n" % (len(body), body)
    async with served_gateway(tmp_path, node=speaker()) as (url, key):
        smuggled = f"Authorization: Bearer {key}\r\n".encode()
        nobody = posted("nobody", chunked, "Connection: close\r\n").replace(b"Authorization: Bearer nobody\r\n", b"")
        assert (await answers(url, nobody + smuggled + b"\r\n")).startswith(b"HTTP/1.1 401")
        asked = posted(key, chunked, "Connection: close\r\n")
        kept = await answers(url, asked + b"Idempotency-Key: a b\r\n\r\n")
        assert kept.startswith(b"HTTP/1.1 200")
        with suppress(ConnectionResetError):  # there is no place for an answer, so the connection just ends
            assert await answers(url, asked + b"X-A: " + b"a" * (8 * MAX_HEAD_BYTES)) == b""


async def test_an_upgrade_that_is_not_made_leaves_the_connection_as_it_was(tmp_path: Path) -> None:
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
    body = json.dumps(chat()).encode()
    async with served_gateway(tmp_path, node=speaker()) as (url, key):
        read = await answers(url, models(key, upgrade), models(key, upgrade) + models(key) + CLOSE)
        sized = posted(key, upgrade + body, f"Content-Length: {len(body)}\r\n")
        made = await answers(url, sized + models(key) + CLOSE)
        chunks = b"5\r\n" + body[:5] + b"\r\n%x\r\n" % (len(body) - 5) + body[5:] + b"\r\n0\r\n\r\n"
        chunked = posted(key, upgrade + chunks, "Transfer-Encoding: chunked\r\n")
        in_pieces = await answers(url, chunked[:-40], chunked[-40:], models(key) + CLOSE)
    assert read.count(b"HTTP/1.1 200") == 3
    assert made.count(b"HTTP/1.1 200") == 2
    assert in_pieces.count(b"HTTP/1.1 200") == 2


async def test_requests_that_are_sent_ahead_are_answered_in_their_order(tmp_path: Path) -> None:
    body = json.dumps(chat()).encode()
    async with served_gateway(tmp_path, node=speaker()) as (url, key):
        first = posted(key, b"Content-Length: %d\r\n\r\n" % len(body) + body)
        answer = await answers(url, first + models(key) + b"\r\n" + models(key) + CLOSE)
    assert answer.count(b"HTTP/1.1 200") == 3
    assert answer.index(b'"chat.completion"') < answer.index(b'"list"')


@pytest.mark.parametrize("num_ahead", [1, 3])
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_caller_who_leaves_is_missed_also_behind_requests_that_it_sent_ahead(
    tmp_path: Path, num_ahead: int, *, is_streamed: bool
) -> None:
    node = NodeTwin(script=lambda _: [*says("hi", end="end_of_sequence", accepting=None)[:2], asyncio.Event()])
    body = json.dumps(chat(stream=is_streamed)).encode()
    async with served_gateway(tmp_path, node=node) as (url, key):
        host, _, port = url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(posted(key, b"Content-Length: %d\r\n\r\n" % len(body) + body) * (1 + num_ahead))
        await until(lambda: node.num_open == 1)
        writer.close()
        await until(lambda: node.num_open == 0)
        await asyncio.sleep(0.1)
        assert (node.num_open, len(node.requests)) == (0, 1)


@pytest.mark.parametrize("long", [b"GET /healthz HTTP/1.1\r\n\r\n" * 40, b"x" * 500_000])
async def test_too_much_that_is_sent_ahead_ends_the_connection(tmp_path: Path, long: bytes) -> None:
    node = NodeTwin(script=lambda _: [*says("hi", end="end_of_sequence", accepting=None)[:2], asyncio.Event()])
    body = json.dumps(chat()).encode()
    behind = long if long.startswith(b"GET") else posted("x", b"Content-Length: 600000\r\n\r\n" + long)
    async with served_gateway(tmp_path, node=node) as (url, key):
        with suppress(ConnectionError):
            assert await answers(url, posted(key, b"Content-Length: %d\r\n\r\n" % len(body) + body) + behind) == b""
        await until(lambda: node.num_open == 0)


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "gzip, identity"])
async def test_an_encoded_body_is_refused_by_the_name_of_its_header(tmp_path: Path, encoding: str) -> None:
    body = json.dumps(chat()).encode()
    sent = b"Content-Length: %d\r\n\r\n" % len(body) + body
    async with served_gateway(tmp_path, node=speaker()) as (url, key):
        headers = f"Content-Encoding: {encoding}\r\nConnection: close\r\n"
        status, error = status_and_error(await answers(url, posted(key, sent, headers)))
    assert (status, error["code"], error["param"]) == (415, "unsupported_media_type", "content-encoding")
