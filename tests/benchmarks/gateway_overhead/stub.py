"""A backend that costs next to nothing: an inference node and an OpenAI server on one port, one fixed valid answer.

    python -m tests.benchmarks.gateway_overhead.stub --port P --tokenizer-digest D [--tokens 24]

Every token is a write of its own in a turn of its own, as a real engine sends them; it only takes no time between two.
"""

import argparse
import asyncio
import json
from collections import deque
from typing import Any, cast

import httptools
import uvloop

from inference_node.protocol import (
    ArtifactStored,
    Finish,
    NodeFault,
    NodeIdentity,
    NodeTimings,
    Started,
    TokenEvent,
    Usage,
    Wire,
)
from tests.benchmarks.gateway_overhead.workload import ANSWER, MODEL, PROMPT_TOKENS, pieces


class Answers:
    """Everything this server will ever say, made once. The artifacts it was given are all it remembers."""

    def __init__(self, tokenizer_digest: str, num_tokens: int) -> None:
        self.artifacts: set[str] = set()
        texts = pieces(num_tokens)
        self.identity = _whole(200, _identity(tokenizer_digest).model_dump_json())
        self.artifact_required = _whole(409, NodeFault(code="artifact_required", message="send it").model_dump_json())
        self.not_found = _whole(404, "{}")
        self.node = _chunked("application/x-ndjson", [_line(each) for each in _node_events(texts)])
        self.openai_stream = _chunked("text/event-stream", [*map(_sse, _openai_chunks(texts)), b"data: [DONE]\n\n"])
        self.openai = _whole(200, json.dumps(_completion(num_tokens)))

    def stored(self, key: str) -> bytes:
        """An artifact is taken, whatever is in it."""
        self.artifacts.add(key)
        return _whole(200, ArtifactStored(artifact_key=key, already_present=False).model_dump_json())


class Connection(asyncio.Protocol):
    """One keep-alive connection."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._url = b""
        self._body: list[bytes] = []
        self._pending: deque[bytes] = deque()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # not a subclass of it, under uvloop

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._url = url

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        body, self._body = b"".join(self._body), []
        path = self._url.decode()
        answers = self._answers
        if path == "/v1/generate":
            key = json.loads(body)["artifact_key"]
            self._say([answers.artifact_required] if key and key not in answers.artifacts else answers.node)
        elif path == "/v1/chat/completions":
            self._say(answers.openai_stream if json.loads(body).get("stream") else [answers.openai])
        elif path == "/v1/identity":
            self._say([answers.identity])
        elif path.startswith("/v1/artifacts/"):
            self._say([answers.stored(path.rpartition("/")[2])])
        else:
            self._say([answers.not_found])

    def _say(self, parts: list[bytes]) -> None:
        assert self._transport is not None
        self._transport.write(parts[0])
        if len(parts) > 1:
            self._pending.extend(parts[1:])
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            self._pending.clear()
            return
        self._transport.write(self._pending.popleft())
        if self._pending:
            self._loop.call_soon(self._go_on)


def _identity(tokenizer_digest: str) -> NodeIdentity:
    return NodeIdentity(
        model=MODEL,
        tokenizer_digest=tokenizer_digest,
        chat_template_digest="sha256:" + "0" * 64,
        engine="stub",
        engine_version="1",
        device="none",
        dtype="none",
        context_tokens=4096,
        max_sequences=1024,
        vocabulary_size=32000,
    )


def _node_events(texts: list[str]) -> list[Wire]:
    usage = Usage(prompt_tokens=PROMPT_TOKENS, completion_tokens=len(texts), forced_tokens=0)
    timings = NodeTimings(queue_seconds=0, prefill_seconds=0, decode_seconds=0, mask_seconds=0)
    return [
        Started(prompt_tokens=PROMPT_TOKENS),
        *(
            TokenEvent(text=text, token_ids=[at], num_forced_tokens=0, accepting=at + 1 == len(texts))
            for at, text in enumerate(texts)
        ),
        Finish(stop_cause="grammar_end", accepting=True, usage=usage, timings=timings),
    ]


def _openai_chunks(texts: list[str]) -> list[dict[str, Any]]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}

    def chunk(delta: dict[str, str], reason: str | None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    first = chunk({"role": "assistant", "content": ""}, None)
    return [first, *(chunk({"content": text}, None) for text in texts), chunk({}, "stop")]


def _completion(num_tokens: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": ANSWER}
    usage = {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": num_tokens,
        "total_tokens": PROMPT_TOKENS + num_tokens,
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


def _whole(status: int, text: str) -> bytes:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
    return (head + text).encode()


def _chunked(media_type: str, parts: list[bytes]) -> list[bytes]:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    framed = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
    return [head + framed[0], *framed[1:-1], framed[-1] + b"0\r\n\r\n"]


def _line(event: Wire) -> bytes:
    return event.model_dump_json().encode() + b"\n"


def _sse(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def _serve(port: int, answers: Answers) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Connection(answers), "127.0.0.1", port)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tokenizer-digest", required=True)
    parser.add_argument("--tokens", type=int, default=24)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options.port, Answers(options.tokenizer_digest, options.tokens)))


if __name__ == "__main__":
    main()
