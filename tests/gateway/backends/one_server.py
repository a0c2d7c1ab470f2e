"""One backend over a real socket, and what is asked of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gateway.backends.events import UpstreamEvent, UpstreamRequest
from gateway.backends.openai import OpenAIServer
from gateway.backends.settings import OpenAIBackendSettings
from gateway.budgets.meter import Meter
from gateway.metrics import GatewayMetrics
from inference_node.http_connections import HttpConnections
from inference_node.protocol import ChatMessage, Sampling, TokenEvent
from tests.gateway.openai_stub import OpenAIStub
from tests.gateway.serving import served

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
