import socket

import httpx
import pytest

from inference_node.client import NodeClient
from inference_node.errors import NodeUnavailableError
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
