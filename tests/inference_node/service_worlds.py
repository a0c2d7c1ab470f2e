"""A node that serves on a port of its own, and the calls that tests make of it."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from compiler_pool.frame import KeyRing, seal
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.app import create_app
from inference_node.client import NodeClient
from inference_node.http_connections import HttpConnections
from inference_node.node import Node
from inference_node.protocol import (
    ChatMessage,
    GenerateEvent,
    GenerateRequest,
    Sampling,
)
from inference_node.settings import NodeSettings
from tests.inference_node.worlds import DEADLINE_SECONDS, eventually, new_artifact

KEYS = "test:" + "5e" * 32
RING = KeyRing.from_text(KEYS)
OBJECT = 'start: "{\\"a\\":" /[0-9]{1,4}/ "}"'
ENDLESS = "start: /[a-z]{400}/"


@contextmanager
def serving(directory: Path, **changes: Any) -> Iterator[tuple[str, Node]]:
    """A node on a port of its own, ready."""
    node = Node(NodeSettings(artifact_keys=KEYS, model_dir=directory, dtype="float32", **changes))
    server = uvicorn.Server(
        uvicorn.Config(create_app(node), host="127.0.0.1", port=0, log_config=None, timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        eventually(lambda: node.not_ready_reason != "the model is loading")
        yield f"http://127.0.0.1:{port}", node
    finally:
        node.stop()
        server.should_exit = True
        thread.join(DEADLINE_SECONDS)
        assert not thread.is_alive()


@asynccontextmanager
async def client_of(base_url: str) -> AsyncIterator[NodeClient]:
    streams = HttpConnections(connect_seconds=5, silence_seconds=DEADLINE_SECONDS, max_connections=64)
    try:
        async with httpx.AsyncClient(timeout=DEADLINE_SECONDS) as http:
            yield NodeClient(base_url, http, streams)
    finally:
        await streams.close()


def request(**changes: Any) -> GenerateRequest:
    members: dict[str, Any] = {
        "request_id": "r",
        "messages": [ChatMessage(role="user", content="Hi")],
        "artifact_key": None,
        "sampling": Sampling(temperature=0.0, seed=1),
        "max_tokens": 8,
    }
    return GenerateRequest(**(members | changes))


async def collect(client: NodeClient, ask: GenerateRequest) -> list[GenerateEvent]:
    async with client.generate(ask) as events:
        return [event async for event in events]


async def store(client: NodeClient, tokenizer: BoundTokenizer, grammar: str) -> str:
    artifact = new_artifact(tokenizer.digest, grammar)
    await client.put_artifact(artifact.key, seal(artifact, RING))
    return artifact.key
