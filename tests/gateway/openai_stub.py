"""A server that speaks OpenAI's API, behind a real socket, and answers what a test tells it to: every good and bad way.

    async with served(stub.app) as url: …

A script makes the reply to a request: `Refuses` is a whole answer of any status, `Streams` a stream whose steps are
objects (sent as events), bytes (sent as they are), `asyncio.Event` (waited for) and `CUT` (the connection breaks).
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse


class Breaks(Enum):
    """What a stream does that is no data."""

    HERE = "here"


CUT: Final = Breaks.HERE
"""In a stream: the connection breaks here."""
DONE: Final = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuses:
    """A whole answer: an error in any shape, a page, nothing."""

    status: int
    body: Any = b""
    """Bytes as they are; anything else as JSON."""
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """A stream; `media_type` as it should be, unless a test wants otherwise."""

    steps: Sequence[Any]
    media_type: str = "text/event-stream; charset=utf-8"


Reply = Refuses | Streams
Script = Callable[[dict[str, Any]], Reply]


def chunk(
    content: str | None = None, *, finish: str | None = None, index: int = 0, extra: Any = None, **delta: Any
) -> dict[str, Any]:
    """One chunk of a chat completion; `extra` stands in its choice, `delta` in the choice's delta."""
    said = delta if content is None else {"content": content, **delta}
    choice = {"index": index, "delta": said, "logprobs": None, "finish_reason": finish, **(extra or {})}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "up", "choices": [choice]}


def usage(prompt: int, completion: int, *, cached: int | None = None) -> dict[str, Any]:
    """The chunk with the server's own count."""
    count: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion}
    count["total_tokens"] = prompt + completion
    if cached is not None:
        count["prompt_tokens_details"] = {"cached_tokens": cached}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "choices": [], "usage": count}


def says(*texts: str, finish: str = "stop", counted: tuple[int, int] | None = (7, 3)) -> Streams:
    """An answer as it should be."""
    steps: list[Any] = [chunk("", role="assistant"), *(chunk(text) for text in texts), chunk(finish=finish)]
    if counted is not None:
        steps.append(usage(*counted))
    return Streams(steps=[*steps, DONE])


@dataclass(slots=True, kw_only=True)
class OpenAIStub:
    """`script` decides; `requests` holds the bodies that came, `headers` what came with them and from which port."""

    script: Script = lambda _: says("hello")
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    num_open: int = 0

    @property
    def app(self) -> FastAPI:
        """The server."""
        app = FastAPI(openapi_url=None)
        app.add_api_route("/v1/chat/completions", self._complete, methods=["POST"])
        return app

    async def _complete(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append(body)
        peer = "" if request.client is None else str(request.client.port)
        self.headers.append(dict(request.headers) | {"x-test-peer": peer})
        reply = self.script(body)
        if isinstance(reply, Refuses):
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            return Response(content, status_code=reply.status, headers=reply.headers, media_type=reply.media_type)
        return StreamingResponse(self._lines(reply.steps), headers={"content-type": reply.media_type})

    async def _lines(self, steps: Sequence[Any]) -> AsyncGenerator[bytes, None]:
        self.num_open += 1
        try:
            for step in steps:
                if isinstance(step, asyncio.Event):
                    await step.wait()
                elif step is CUT:
                    raise ConnectionResetError
                else:
                    yield step if isinstance(step, bytes) else b"data: " + json.dumps(step).encode() + b"\n\n"
        finally:
            self.num_open -= 1
