"""The stock client that blocks and the one that does not, over both APIs of the running product: the same request gets
the same answer, whole, streamed and parsed, and what was asked for beside it is there."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import jsonschema
import openai
import pytest
from pydantic import BaseModel

from tests.system.product import Product
from tests.system.usage import used

pytestmark = pytest.mark.system

MESSAGES: Any = [{"role": "user", "content": "Pick a colour for the door."}]
ASKED = "Pick a colour for the door."
CALLED: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "green", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


class Picked(BaseModel):
    """What a user of the client would write."""

    colour: Literal["red", "green", "blue"]
    is_warm: bool


def blocking(product: Product) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0)


@asynccontextmanager
async def waiting(product: Product) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0) as api:
        yield api


def served_model(product: Product) -> str:
    with blocking(product) as api:
        return api.models.list().data[0].id


def extension(answer: Any) -> dict[str, Any]:
    assert answer.model_extra is not None
    found = answer.model_extra["schemagate"]
    assert isinstance(found, dict)
    return found


def test_chat_is_the_same_for_both_whole_streamed_and_parsed(product: Product) -> None:
    fields: dict[str, Any] = {"model": served_model(product), "messages": MESSAGES, "seed": 3, "max_tokens": 40}

    async def ask() -> list[Any]:
        async with waiting(product) as api:
            parsed = await api.chat.completions.parse(**fields, response_format=Picked)
            async with api.chat.completions.stream(**fields, response_format=Picked) as stream:
                kinds = [event.type async for event in stream]
                final = await stream.get_final_completion()
            assert "content.delta" in kinds
            assert kinds[-1] == "content.done"
            return [parsed.choices[0].message.parsed, final.choices[0].message.parsed]

    with blocking(product) as api:
        parsed = api.chat.completions.parse(**fields, response_format=Picked).choices[0].message.parsed
        with api.chat.completions.stream(**fields, response_format=Picked) as stream:
            for _ in stream:
                pass
            streamed = stream.get_final_completion().choices[0].message.parsed
    assert isinstance(parsed, Picked)
    assert [streamed, *asyncio.run(ask())] == [parsed] * 3


def test_responses_are_the_same_for_both_whole_streamed_and_parsed(product: Product) -> None:
    fields: dict[str, Any] = {
        "model": served_model(product), "input": ASKED, "max_output_tokens": 40, "extra_body": {"seed": 3},
    }  # fmt: skip

    async def ask() -> list[Any]:
        async with waiting(product) as api:
            parsed = await api.responses.parse(**fields, text_format=Picked)
            async with api.responses.stream(**fields, text_format=Picked) as stream:
                kinds = [event.type async for event in stream]
                final = await stream.get_final_response()
            assert kinds[-1] == "response.completed"
            return [parsed.output_parsed, final.output_parsed]

    with blocking(product) as api:
        parsed = api.responses.parse(**fields, text_format=Picked).output_parsed
    assert isinstance(parsed, Picked)
    assert asyncio.run(ask()) == [parsed] * 2


def test_a_cut_stream_raises_the_clients_own_length_error(product: Product) -> None:
    fields: dict[str, Any] = {"model": served_model(product), "messages": MESSAGES, "seed": 3, "max_tokens": 2}

    async def ask() -> None:
        async with (
            waiting(product) as api,
            api.chat.completions.stream(**fields, response_format=Picked) as stream,
        ):
            await stream.get_final_completion()

    with (
        blocking(product) as api,
        pytest.raises(openai.LengthFinishReasonError),
        api.chat.completions.stream(**fields, response_format=Picked) as stream,
    ):
        stream.until_done()
    with pytest.raises(openai.LengthFinishReasonError):
        asyncio.run(ask())


def test_a_stop_string_ends_words_and_is_not_in_them(product: Product) -> None:
    model = served_model(product)
    with blocking(product) as api:
        fields: dict[str, Any] = {"model": model, "messages": MESSAGES, "seed": 3, "max_tokens": 24, "temperature": 0}
        free = api.chat.completions.create(**fields).choices[0].message.content or ""
        stop = free.split()[1]
        before = free[: free.index(stop)]
        whole = api.chat.completions.create(**fields, stop=[stop])
        chunks = list(api.chat.completions.create(**fields, stop=stop, stream=True))
        response = api.responses.create(
            model=model, input=ASKED, max_output_tokens=24, temperature=0, extra_body={"stop": [stop]}
        )
    assert whole.choices[0].message.content == before
    assert whole.choices[0].finish_reason == "stop"
    assert extension(whole)["completion"] == "stopped"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == before
    assert response.output_text == before
    assert (response.status, extension(response)["completion"]) == ("incomplete", "stopped")


def test_a_seed_gives_the_same_again_and_is_told_where_it_was_chosen_here(product: Product) -> None:
    with blocking(product) as api:
        fields: dict[str, Any] = {
            "model": served_model(product), "messages": MESSAGES, "max_tokens": 12, "temperature": 1.5,
        }  # fmt: skip
        chosen = api.chat.completions.create(**fields)
        again = api.chat.completions.create(**fields, seed=extension(chosen)["seed"])
    assert again.choices[0].message.content == chosen.choices[0].message.content
    assert used(again.usage) == used(chosen.usage)


def test_usage_has_its_details_and_comes_in_a_stream_only_where_it_was_asked_for(product: Product) -> None:
    model = served_model(product)
    with blocking(product) as api:
        fields: dict[str, Any] = {"model": model, "messages": MESSAGES, "seed": 3, "max_tokens": 4}
        whole = api.chat.completions.create(**fields).usage
        with_usage = list(api.chat.completions.create(**fields, stream=True, stream_options={"include_usage": True}))
        without = list(api.chat.completions.create(**fields, stream=True))
        response = api.responses.create(model=model, input=ASKED, max_output_tokens=16, extra_body={"seed": 3}).usage
    assert whole is not None
    assert whole.completion_tokens == 4
    assert whole.completion_tokens_details is not None
    assert whole.completion_tokens_details.reasoning_tokens == 0
    assert [chunk.usage for chunk in with_usage[:-1]] == [None] * (len(with_usage) - 1)
    assert with_usage[-1].choices == []
    assert used(with_usage[-1].usage) == used(whole)
    # The whole blocks before the last token were computed by the request before it.
    again = with_usage[-1].usage
    assert again is not None
    assert again.prompt_tokens_details is not None
    assert again.prompt_tokens_details.cached_tokens == (whole.prompt_tokens - 1) // 16 * 16
    assert all(chunk.usage is None and chunk.choices for chunk in without)
    assert response is not None
    assert response.input_tokens == whole.prompt_tokens
    assert used(response)
    assert response.output_tokens_details.reasoning_tokens == 0
    assert response.total_tokens == response.input_tokens + response.output_tokens


def test_responses_call_tools_as_often_as_they_may_and_not_where_they_may_not(product: Product) -> None:
    tools: Any = [
        {"type": "function", "name": name, "description": f"paint the {name}", "parameters": CALLED, "strict": True}
        for name in ("door", "wall")
    ]
    model = served_model(product)

    async def ask() -> tuple[Any, ...]:
        async with waiting(product) as api:
            fields: dict[str, Any] = {"model": model, "tools": tools, "max_output_tokens": 60}
            asked = "Paint the door red and the wall blue. Call both tools."
            return await asyncio.gather(
                api.responses.create(**fields, input=asked, tool_choice="required", extra_body={"seed": 1}),
                api.responses.create(
                    **fields, input=asked, tool_choice="required", parallel_tool_calls=False, extra_body={"seed": 1}
                ),
                api.responses.create(**fields, input=asked, tool_choice="auto", extra_body={"seed": 1}),
                api.responses.create(**{**fields, "max_output_tokens": 16}, input=asked, tool_choice="none"),
            )

    several, one, either, none = asyncio.run(ask())
    for answer in (several, one, either):
        calls = [item for item in answer.output if item.type == "function_call"]
        assert answer.status == "incomplete" or all(call.status == "completed" for call in calls)
        for call in calls:
            if call.status == "completed":
                assert call.name in {"door", "wall"}
                jsonschema.validate(json.loads(call.arguments), CALLED)
    assert len([item for item in one.output if item.type == "function_call"]) == 1
    assert one.status == "completed"
    assert several.output[0].type == "function_call"
    assert {item.type for item in none.output} <= {"message"}


def test_the_identity_of_an_answer_stands_in_its_headers(product: Product) -> None:
    with blocking(product) as api:
        raw = api.chat.completions.with_raw_response.create(
            model=served_model(product), messages=MESSAGES, max_tokens=2, seed=1
        )
        answer = raw.parse()
    assert raw.headers["x-request-id"] == answer._request_id
    assert raw.headers["x-schemagate-completion"] == extension(answer)["completion"]
    assert float(raw.headers["x-schemagate-overhead-ms"]) >= 0
