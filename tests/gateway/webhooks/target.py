"""A webhook's service on localhost: it keeps what it was sent, and answers as the test says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send


@dataclass(slots=True, kw_only=True)
class Target:
    """`answer` is a status, headers and parts of a body; a part that is an event is waited for."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    body: Sequence[bytes | asyncio.Event] = field(default_factory=lambda: [b'{"valid": true}'])
    decide: Callable[[bytes], Awaitable[bytes]] | None = None
    bodies: list[bytes] = field(default_factory=list)
    sent_headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    has_asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.bodies.append(bytes(body))
        self.has_asked.set()
        self.sent_headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        self.paths.append(scope["raw_path"].decode() + ("?" + scope["query_string"].decode()).rstrip("?"))
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        parts = self.body if self.decide is None else [await self.decide(bytes(body))]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        for part in parts:
            if isinstance(part, asyncio.Event):
                await part.wait()
            else:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@asynccontextmanager
async def serving(target: Target, **tls: Any) -> AsyncIterator[str]:
    """The target behind a real server; its origin, as it is without TLS."""
    config = uvicorn.Config(
        target, port=0, log_config=None, access_log=False, ws="none", lifespan="off", timeout_graceful_shutdown=1, **tls
    )
    server = uvicorn.Server(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        async with asyncio.timeout(10):
            while not server.started:  # noqa: ASYNC110 - the server has no event to wait for
                await asyncio.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
