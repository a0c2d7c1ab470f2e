"""The stock `openai` client with an `Idempotency-Key`: it gets one answer, and is never made to hammer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.gateway.serving import served_gateway
from tests.gateway.twins import MODEL, NodeTwin, says

MESSAGES: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]
KEYED = {"Idempotency-Key": "one"}


@asynccontextmanager
async def client(directory: Path, node: NodeTwin) -> AsyncIterator[tuple[openai.AsyncOpenAI, list[httpx.Request]]]:
    """A client that asks again as often as it does by default, and what it sends."""
    sent: list[httpx.Request] = []

    async def note(request: httpx.Request) -> None:
        sent.append(request)

    async with (
        served_gateway(directory, node=node) as (url, key),
        openai.DefaultAsyncHttpxClient(event_hooks={"request": [note]}) as http,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, http_client=http) as api,
    ):
        yield api, sent


def hello(*_: Any) -> Any:
    return says("hel", "lo", end="end_of_sequence", accepting=None)


async def test_whole_and_streamed_answers_are_given_again(tmp_path: Path) -> None:
    node = NodeTwin(script=hello)
    async with client(tmp_path, node) as (api, _):
        create = api.chat.completions.create
        whole = [await create(model=MODEL, messages=MESSAGES, extra_headers=KEYED) for _ in range(2)]
        other = {"Idempotency-Key": "two"}
        streams: list[list[Any]] = []
        for _ in range(2):
            stream = await create(model=MODEL, messages=MESSAGES, stream=True, extra_headers=other)
            streams.append([chunk async for chunk in stream])
        third = {"Idempotency-Key": "three"}
        responses = [await api.responses.create(model=MODEL, input="hi", extra_headers=third) for _ in range(2)]
    assert whole[0] == whole[1]
    assert whole[0].choices[0].message.content == "hello"
    assert streams[0] == streams[1]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in streams[1]) == "hello"
    assert responses[0] == responses[1]
    assert responses[1].output_text == "hello"
    assert len(node.requests) == 3


async def test_another_request_under_the_key_is_refused_once(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin(script=hello)) as (api, sent):
        await api.chat.completions.create(model=MODEL, messages=MESSAGES, extra_headers=KEYED)
        sent.clear()
        with pytest.raises(openai.ConflictError) as error:
            await api.chat.completions.create(model=MODEL, messages=MESSAGES, temperature=0.1, extra_headers=KEYED)
    assert error.value.code == "idempotency_conflict"
    assert len(sent) == 1
