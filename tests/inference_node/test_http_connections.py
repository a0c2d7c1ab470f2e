import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from inference_node.http_connections import HttpConnections
from inference_node.streaming_http import StreamBrokenError

_Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(serve: _Serve) -> AsyncIterator[str]:
    """A socket server that does what a test says, and its address."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(one, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def connections(*, silence_seconds: float = 10.0, max_connections: int = 8) -> AsyncIterator[HttpConnections]:
    made = HttpConnections(connect_seconds=5, silence_seconds=silence_seconds, max_connections=max_connections)
    try:
        yield made
    finally:
        await made.close()


async def request_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length"))
    return head + await reader.readexactly(int(length.partition(b":")[2]))


def says(*answers: bytes) -> _Serve:
    """A server that gives each request of a connection the next answer, then closes it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await request_of(reader)
            writer.write(answer)
            await writer.drain()

    return serve


async def body_of(http: HttpConnections, url: str) -> bytes:
    async with http.post(f"{url}/x", b"asked", {}) as answer:
        data = b""
        while part := await answer.read():
            data += part
        return data


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK, b"ok"),
        (CHUNKED, b"abc"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK, b"ok"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b""),
    ],
)
async def test_an_answer_is_read_to_where_its_framing_ends_it(answer: bytes, body: bytes) -> None:
    async with server(says(answer)) as url, connections() as http:
        assert await body_of(http, url) == body


async def test_the_request_is_what_was_asked_for() -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await request_of(reader))
        writer.write(b"HTTP/1.1 418 Teapot\r\nRetry-After: 3\r\ncontent-length: 0\r\n\r\n")

    async with server(serve) as url, connections() as http:
        async with http.post(f"{url}/v1/generate?x=1", b"{}", {"content-type": "application/json"}) as answer:
            assert (answer.status, answer.headers["retry-after"]) == (418, "3")
        host = url.removeprefix("http://").encode()
        assert seen == [
            b"POST /v1/generate?x=1 HTTP/1.1\r\nhost: " + host + b"\r\ncontent-length: 2\r\n"
            b"content-type: application/json\r\n\r\n{}"
        ]


async def test_a_header_of_two_lines_is_not_sent() -> None:
    async with connections() as http:
        with pytest.raises(ValueError, match="one line"):
            async with http.post("http://127.0.0.1:1/", b"", {"x": "a\r\ny: b"}):
                pass


async def test_what_was_read_to_its_end_leaves_its_connection_to_the_next() -> None:
    accepted = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        while True:
            await request_of(reader)
            writer.write(CHUNKED)

    async with server(serve) as url, connections() as http:
        for _ in range(5):
            assert await body_of(http, url) == b"abc"
        assert accepted == 1


async def test_a_server_that_says_it_closes_is_not_asked_again_on_that_connection() -> None:
    accepted = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        await request_of(reader)
        writer.write(OK.replace(b"content-length", b"connection: close\r\ncontent-length"))
        await reader.read()

    async with server(serve) as url, connections() as http:
        assert [await body_of(http, url) for _ in range(2)] == [b"ok"] * 2
        assert accepted == 2


async def test_leaving_early_closes_the_connection() -> None:
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(CHUNKED[:-5])
        assert await reader.read() == b""
        closed.set()

    async with server(serve) as url, connections() as http:
        async with http.post(url, b"", {}) as answer:
            assert await answer.read()
        async with asyncio.timeout(10):
            await closed.wait()


async def test_a_cancelled_reader_closes_the_connection() -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        asked.set()
        assert await reader.read() == b""
        closed.set()
        writer.close()

    async with server(serve) as url, connections() as http, asyncio.TaskGroup() as group:
        reading = group.create_task(body_of(http, url))
        await asked.wait()
        reading.cancel()
        async with asyncio.timeout(10):
            await closed.wait()


async def test_a_kept_connection_that_was_closed_meanwhile_is_replaced_unnoticed() -> None:
    accepted = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        await request_of(reader)
        writer.write(OK)
        if accepted == 1:
            await request_of(reader)  # and closes it without an answer

    async with server(serve) as url, connections() as http:
        assert await body_of(http, url) == b"ok"
        assert await body_of(http, url) == b"ok"
        assert accepted == 2


async def test_a_request_on_a_new_connection_is_never_sent_twice() -> None:
    accepted = 0

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        await request_of(reader)

    async with server(serve) as url, connections() as http:
        with pytest.raises(StreamBrokenError, match="closed"):
            await body_of(http, url)
        assert accepted == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok", "closed"),
        (CHUNKED[:-5], "closed"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000 + b"\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "another protocol"),
        (b"", "closed"),
    ],
)
async def test_what_is_no_answer_is_an_error_and_not_an_end(answer: bytes, why: str) -> None:
    async with server(says(answer)) as url, connections() as http:
        with pytest.raises(StreamBrokenError, match=why):
            await body_of(http, url)


async def test_a_second_answer_in_the_same_breath_is_not_the_next_requests() -> None:
    accepted = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        await request_of(reader)
        forged = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"
        writer.write(OK + forged if accepted == 1 else OK)
        await reader.read()

    async with server(serve) as url, connections() as http:
        assert await body_of(http, url) == b"ok"
        assert await body_of(http, url) == b"ok"
        assert accepted == 2


async def test_silence_before_the_answer_and_in_it_is_an_error() -> None:
    for said in (b"", CHUNKED[:50]):

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, said: bytes = said) -> None:
            await request_of(reader)
            writer.write(said)
            await reader.read()

        async with server(serve) as url, connections(silence_seconds=0.05) as http:
            with pytest.raises(StreamBrokenError, match="silent"):
                await body_of(http, url)


async def test_a_reader_that_takes_its_time_is_not_silence() -> None:
    async with (
        server(says(CHUNKED)) as url,
        connections(silence_seconds=0.02) as http,
        http.post(url, b"", {}) as answer,
    ):
        await asyncio.sleep(0.1)
        assert await answer.read() == b"abc"


async def test_a_sender_is_held_back_by_a_reader_that_takes_nothing() -> None:
    part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    sent = 0
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(1024):
            writer.write(part)
            await writer.drain()
            sent += 1
        writer.write(b"0\r\n\r\n")
        over.set()

    async with server(serve) as url, connections() as http, http.post(url, b"", {}) as answer:
        await answer.read()
        await asyncio.sleep(0.2)
        assert sent < 1024
        size = 0
        while data := await answer.read():
            size += len(data)
        assert over.is_set()
        assert size > 0x10000 * 1000


async def test_more_requests_than_connections_wait_for_one() -> None:
    open_now = most = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, most
        while True:
            await request_of(reader)
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0.01)
            open_now -= 1
            writer.write(OK)

    async with server(serve) as url, connections(max_connections=2) as http:
        assert await asyncio.gather(*(body_of(http, url) for _ in range(8))) == [b"ok"] * 8
        assert most == 2


async def test_nobody_there_and_no_such_scheme_are_errors() -> None:
    async with server(says()) as gone:
        pass
    async with connections() as http:
        with pytest.raises(StreamBrokenError, match="no connection"):
            await body_of(http, gone)
        with pytest.raises(StreamBrokenError, match="http or https"):
            await body_of(http, "ftp://127.0.0.1")
