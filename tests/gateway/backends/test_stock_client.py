"""The stock client before a backend without a grammar: its own exceptions fire where they should."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from openai import (
    APIError,
    AsyncOpenAI,
    BadRequestError,
    ContentFilterFinishReasonError,
    InternalServerError,
    LengthFinishReasonError,
    UnprocessableEntityError,
)
from pydantic import BaseModel

from tests.gateway.backends.world import UPSTREAM
from tests.gateway.openai_stub import OpenAIStub, Refuses, Streams, chunk, says
from tests.gateway.serving import served, served_gateway
from tests.gateway.twins import NodeTwin


class Titled(BaseModel):
    title: str


@asynccontextmanager
async def client_before(directory: Path, stub: OpenAIStub, downgrade: str = "validate") -> AsyncIterator[AsyncOpenAI]:
    async with served(stub.app) as upstream:
        one: dict[str, Any] = {"name": "cloud", "base_url": f"{upstream}/v1", "models": {UPSTREAM: "up"}}
        settings: dict[str, Any] = {
            "openai_backends": [one | {"max_attempts": 1}],
            "serving_policy": f'{{"downgrade":"{downgrade}"}}',
        }
        async with (
            served_gateway(directory, node=NodeTwin(), **settings) as (url, key),
            AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client,
        ):
            yield client


async def parse(client: AsyncOpenAI) -> Any:
    completion = await client.chat.completions.parse(
        model=UPSTREAM, messages=[{"role": "user", "content": "hi"}], response_format=Titled
    )
    return completion.choices[0].message.parsed


async def test_an_object_that_was_validated_is_parsed(tmp_path: Path) -> None:
    async with client_before(tmp_path, OpenAIStub(script=lambda _: says('{"title":"A"}'))) as client:
        assert await parse(client) == Titled(title="A")


async def test_what_was_filtered_or_cut_raises_the_clients_own_errors(tmp_path: Path) -> None:
    replies = [says("Some", finish="content_filter"), says('{"title":', finish="length")]
    async with client_before(tmp_path, OpenAIStub(script=lambda _: replies.pop(0))) as client:
        with pytest.raises(ContentFilterFinishReasonError):
            await parse(client)
        with pytest.raises(LengthFinishReasonError):
            await parse(client)


async def test_what_breaks_the_contract_is_an_error_and_no_object(tmp_path: Path) -> None:
    async with client_before(tmp_path, OpenAIStub(script=lambda _: says("prose"))) as client:
        with pytest.raises(UnprocessableEntityError) as failed:
            await parse(client)
        assert failed.value.code == "output_failed_validation"


async def test_a_contract_without_leave_is_a_bad_request(tmp_path: Path) -> None:
    async with client_before(tmp_path, OpenAIStub(), downgrade="none") as client:
        with pytest.raises(BadRequestError) as refused:
            await parse(client)
        assert refused.value.code == "capability_unavailable"


async def test_a_stream_that_fails_in_the_middle_raises(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: Streams(steps=[chunk("a"), {"error": {"message": "boom", "code": 500}}]))
    async with client_before(tmp_path, stub) as client:
        stream = await client.chat.completions.create(
            model=UPSTREAM, messages=[{"role": "user", "content": "hi"}], stream=True
        )
        texts: list[str] = []

        async def read() -> None:
            texts.extend([event.choices[0].delta.content or "" async for event in stream])

        with pytest.raises(APIError) as failed:
            await read()
        assert failed.value.code == "backend_failed"


async def test_what_an_operator_has_to_mend_is_asked_once(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: Refuses(status=401, body={"error": {"message": "x"}}))
    async with client_before(tmp_path, stub) as client:
        with pytest.raises(InternalServerError) as failed:
            await client.with_options(max_retries=3).chat.completions.create(
                model=UPSTREAM, messages=[{"role": "user", "content": "hi"}]
            )
        assert failed.value.status_code == 502
    assert len(stub.requests) == 1
