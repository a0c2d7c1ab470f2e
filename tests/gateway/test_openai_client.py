"""The stock `openai` client against a gateway on a real socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import openai
import pytest
from pydantic import BaseModel

from inference_node.protocol import GenerateRequest
from tests.gateway.serving import served_gateway
from tests.gateway.twins import MODEL, Broken, Event, NodeTwin, PoolTwin, says

MESSAGES: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]


class Answer(BaseModel):
    """What a user of the client would write."""

    a: int


@asynccontextmanager
async def client(
    directory: Path, node: NodeTwin, pool: PoolTwin | None = None, *, max_retries: int = 0
) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        served_gateway(directory, node=node, pool=pool) as (url, key),
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=max_retries) as api,
    ):
        yield api


def objects(request: GenerateRequest) -> list[Event]:
    if request.max_tokens is not None and request.max_tokens < 3:
        return says('{"a":', end="max_tokens", accepting=False)
    return says('{"a":', "1", "}")


async def test_parse_returns_the_pydantic_model(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin(script=objects)) as api:
        answer = await api.chat.completions.parse(model=MODEL, messages=MESSAGES, response_format=Answer)
    assert answer.choices[0].message.parsed == Answer(a=1)
    assert answer._request_id
    assert answer.model_extra is not None
    assert answer.model_extra["schemagate"]["completion"] == "complete"


async def test_a_stream_is_read_to_its_usage(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin(script=objects)) as api:
        stream = await api.chat.completions.create(
            model=MODEL,
            messages=MESSAGES,
            response_format={"type": "json_object"},
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == '{"a":1}'
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 8


async def test_the_streaming_parser_of_the_client_gets_the_object(tmp_path: Path) -> None:
    async with (
        client(tmp_path, NodeTwin(script=objects)) as api,
        api.chat.completions.stream(model=MODEL, messages=MESSAGES, response_format=Answer) as stream,
    ):
        final = await stream.get_final_completion()
    assert final.choices[0].message.parsed == Answer(a=1)


async def test_a_truncated_answer_raises_the_clients_own_error(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin(script=objects)) as api:
        with pytest.raises(openai.LengthFinishReasonError):
            await api.chat.completions.parse(model=MODEL, messages=MESSAGES, response_format=Answer, max_tokens=1)


async def test_a_refused_contract_raises_bad_request_with_code_and_param(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin()) as api:
        for is_streamed in (False, True):
            with pytest.raises(openai.BadRequestError) as caught:
                await api.chat.completions.create(
                    model=MODEL,
                    messages=MESSAGES,
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": "x", "schema": {"properties": {"a": {"maxLenght": 1}}}},
                    },
                    stream=is_streamed,
                )
            assert caught.value.code == "unknown_keyword"
            assert caught.value.param == "response_format.json_schema.schema.properties.a.maxLenght"
            assert isinstance(caught.value.body, dict)
            assert caught.value.body["pointer"] == "/properties/a/maxLenght"


async def test_a_node_that_dies_in_a_stream_raises_the_clients_api_error(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: [*says('{"a":')[:2], Broken])
    async with client(tmp_path, node) as api:
        stream = await api.chat.completions.create(
            model=MODEL, messages=MESSAGES, response_format={"type": "json_object"}, stream=True
        )
        with pytest.raises(openai.APIError, match="went away") as caught:
            async for _ in stream:
                pass
    assert caught.value.code == "backend_failed"


async def test_an_answer_that_fails_validation_raises_unprocessable(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin(script=lambda _: says("[]"))) as api:
        with pytest.raises(openai.UnprocessableEntityError) as caught:
            await api.chat.completions.create(model=MODEL, messages=MESSAGES, response_format={"type": "json_object"})
    assert caught.value.code == "output_failed_validation"


async def test_keys_and_models_raise_the_clients_own_errors(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin()) as api:
        assert [model.id async for model in api.models.list()] == [MODEL]
        assert (await api.models.retrieve(MODEL)).id == MODEL
        with pytest.raises(openai.NotFoundError) as missing:
            await api.models.retrieve("nobody/nothing")
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.AuthenticationError) as refused:
            await api.with_options(api_key="sg_nobody_secret").models.list()
        assert refused.value.code == "invalid_api_key"


async def test_a_contract_that_kills_workers_is_sent_once_by_a_client_that_retries(tmp_path: Path) -> None:
    from compiler_pool.protocol import Crashed

    pool = PoolTwin(answer=lambda _: Crashed(reason="memory"))
    async with client(tmp_path, NodeTwin(), pool, max_retries=2) as api:
        with pytest.raises(openai.InternalServerError) as caught:
            await api.chat.completions.create(model=MODEL, messages=MESSAGES, response_format={"type": "json_object"})
    assert caught.value.code == "compiler_crashed"
    assert len(pool.requests) == 1
