"""The stock `openai` client's Responses API against a gateway on a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import FunctionToolParam, ResponseInputParam, ToolParam
from pydantic import BaseModel

from inference_node.protocol import GenerateRequest
from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.serving import served_gateway
from tests.gateway.twins import MODEL, Broken, Event, NodeTwin, says, until

WEATHER: FunctionToolParam = {
    "type": "function",
    "name": "weather",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
SHELL: ToolParam = {"type": "custom", "name": "run", "format": {"type": "text"}}


class Answer(BaseModel):
    """What the client is asked to parse into."""

    a: int


@asynccontextmanager
async def client(directory: Path, node: NodeTwin) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        served_gateway(directory, node=node) as (url, key),
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as api,
    ):
        yield api


def objects(request: GenerateRequest) -> list[Event]:
    if request.max_tokens == 1:
        return says('{"a"', end="max_tokens", accepting=False)
    return says('{"a"', ":1", "}")


def calls(request: GenerateRequest) -> list[Event]:
    """Asks for the weather, and answers in words when it has been told."""
    if request.messages[-1].role == "tool":
        return says("It is ", request.messages[-1].content, end="end_of_sequence")
    return says(HERMES.call_text("weather", '{"city":"Oslo"}', is_custom=False), end="end_of_sequence")


def words(*texts: str) -> NodeTwin:
    return NodeTwin(script=lambda _: says(*texts, end="end_of_sequence", accepting=None))


async def test_words_are_created(tmp_path: Path) -> None:
    async with client(tmp_path, words("Hello", " you")) as api:
        answer = await api.responses.create(model=MODEL, input="hi")
    assert (answer.output_text, answer.status, answer.error) == ("Hello you", "completed", None)
    assert answer.usage is not None
    assert answer.usage.total_tokens == 7
    assert answer._request_id
    assert answer.model_extra is not None
    assert answer.model_extra["schemagate"]["completion"] == "complete"


async def test_an_object_is_parsed(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin(script=objects)) as api:
        answer = await api.responses.parse(model=MODEL, input="hi", text_format=Answer)
    assert answer.output_parsed == Answer(a=1)
    assert answer.text is not None
    assert answer.text.format is not None
    assert answer.text.format.type == "json_schema"


async def test_the_client_that_blocks_reads_the_same(tmp_path: Path) -> None:
    async with served_gateway(tmp_path, node=NodeTwin(script=objects)) as (url, key):

        def ask() -> tuple[Answer | None, str]:
            with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as api:
                parsed = api.responses.parse(model=MODEL, input="hi", text_format=Answer).output_parsed
                with api.responses.stream(model=MODEL, input="hi", text_format=Answer) as stream:
                    return parsed, stream.get_final_response().output_text

        assert await asyncio.to_thread(ask) == (Answer(a=1), '{"a":1}')


async def test_the_streaming_parser_of_the_client_gets_the_object(tmp_path: Path) -> None:
    async with (
        client(tmp_path, NodeTwin(script=objects)) as api,
        api.responses.stream(model=MODEL, input="hi", text_format=Answer) as stream,
    ):
        events = [event async for event in stream]
        final = await stream.get_final_response()
    assert final.output_parsed == Answer(a=1)
    snapshots = [event.snapshot for event in events if event.type == "response.output_text.delta"]
    assert snapshots == ['{"a"', '{"a":1', '{"a":1}']
    (done,) = [event for event in events if event.type == "response.output_text.done"]
    assert done.parsed == Answer(a=1)


async def test_a_raw_stream_is_numbered_and_ends_once(tmp_path: Path) -> None:
    async with client(tmp_path, words("Hello", " you")) as api:
        stream = await api.responses.create(model=MODEL, input="hi", stream=True)
        events = [event async for event in stream]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [event.type for event in events][-1] == "response.completed"
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Hello you"


async def test_a_truncated_answer_is_incomplete_whole_and_streamed(tmp_path: Path) -> None:
    form: Any = {"format": {"type": "json_object"}}
    async with client(tmp_path, NodeTwin(script=objects)) as api:
        answer = await api.responses.create(model=MODEL, input="hi", text=form, max_output_tokens=1)
        stream = await api.responses.create(model=MODEL, input="hi", text=form, max_output_tokens=1, stream=True)
        last = [event async for event in stream][-1]
    assert last.type == "response.incomplete"
    for response in (answer, last.response):
        assert response.status == "incomplete"
        assert response.incomplete_details is not None
        assert response.incomplete_details.reason == "max_output_tokens"
        assert response.output[0].type == "message"
        assert response.output[0].status == "incomplete"


async def test_a_function_is_called_and_its_output_sent_back_with_the_items_as_they_came(tmp_path: Path) -> None:
    node = NodeTwin(script=calls)
    async with client(tmp_path, node) as api:
        asked: ResponseInputParam = [{"role": "user", "content": "weather in Oslo?"}]
        first = await api.responses.create(model=MODEL, input=asked, tools=[WEATHER])
        (call,) = first.output
        assert call.type == "function_call"
        assert json.loads(call.arguments) == {"city": "Oslo"}
        asked += first.output  # type: ignore[arg-type] # as the client's own guide does it
        asked.append({"type": "function_call_output", "call_id": call.call_id, "output": "raining"})
        second = await api.responses.create(model=MODEL, input=asked, tools=[WEATHER])
    assert second.output_text == "It is raining"
    told = node.requests[1].messages
    assert [message.role for message in told] == ["user", "assistant", "tool"]
    assert told[1].tool_calls[0].text == '{"city":"Oslo"}'
    assert told[2].tool_call_id == told[1].tool_calls[0].call_id


async def test_a_streamed_call_is_put_together_by_the_client(tmp_path: Path) -> None:
    async with (
        client(tmp_path, NodeTwin(script=calls)) as api,
        api.responses.stream(model=MODEL, input="weather?", tools=[WEATHER]) as stream,
    ):
        events = [event async for event in stream]
        final = await stream.get_final_response()
    snapshots = [event.snapshot for event in events if event.type == "response.function_call_arguments.delta"]
    assert snapshots[-1] == '{"city":"Oslo"}'
    (call,) = final.output
    assert call.type == "function_call"
    assert call.parsed_arguments is None or call.parsed_arguments == {"city": "Oslo"}


async def test_a_custom_tool_is_called(tmp_path: Path) -> None:
    text = HERMES.call_text("run", "ls -l", is_custom=True)
    async with client(tmp_path, NodeTwin(script=lambda _: says(text))) as api:
        answer = await api.responses.create(
            model=MODEL, input="list", tools=[SHELL], tool_choice={"type": "custom", "name": "run"}
        )
    (call,) = answer.output
    assert call.type == "custom_tool_call"
    assert (call.name, call.input) == ("run", "ls -l")


async def test_a_conversation_goes_on_with_the_output_of_the_last_answer(tmp_path: Path) -> None:
    node = words("Hello")
    async with client(tmp_path, node) as api:
        first = await api.responses.parse(model=MODEL, input="hi")
        told: Any = [{"role": "user", "content": "hi"}, *first.output, {"role": "user", "content": "again"}]
        await api.responses.create(model=MODEL, input=told)
    assert [(message.role, message.content) for message in node.requests[1].messages] == [
        ("user", "hi"),
        ("assistant", "Hello"),
        ("user", "again"),
    ]


async def test_refusals_before_a_token_raise_the_clients_own_errors(tmp_path: Path) -> None:
    async with client(tmp_path, NodeTwin()) as api:
        for fields in ({"background": True}, {"previous_response_id": "resp_1"}, {"truncation": "auto"}):
            with pytest.raises(openai.BadRequestError) as caught:
                await api.responses.create(model=MODEL, input="hi", **fields)
            assert (caught.value.code, caught.value.param) == ("unsupported_parameter", next(iter(fields)))
        with pytest.raises(openai.NotFoundError) as missing:
            await api.responses.create(model="nobody", input="hi", stream=True)
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.NotFoundError) as gone:
            await api.responses.retrieve("resp_1")
        assert gone.value.code == "response_not_found"


async def test_an_answer_that_fails_validation_raises_unprocessable_or_is_a_failed_event(tmp_path: Path) -> None:
    form: Any = {"format": {"type": "json_object"}}
    async with client(tmp_path, NodeTwin(script=lambda _: says("[]"))) as api:
        with pytest.raises(openai.UnprocessableEntityError) as caught:
            await api.responses.create(model=MODEL, input="hi", text=form)
        stream = await api.responses.create(model=MODEL, input="hi", text=form, stream=True)
        last = [event async for event in stream][-1]
    assert caught.value.code == "output_failed_validation"
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.code == "server_error"


async def test_a_node_that_dies_in_a_stream_is_a_failed_event_and_no_final_response(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: [*says('{"a":')[:2], Broken])
    async with (
        client(tmp_path, node) as api,
        api.responses.stream(model=MODEL, input="hi", text_format=Answer) as stream,
    ):
        events = [event async for event in stream]
        with pytest.raises(RuntimeError, match=r"response\.completed"):
            await stream.get_final_response()
    assert events[-1].type == "response.failed"


async def test_who_leaves_a_stream_or_gives_up_waiting_frees_the_node(tmp_path: Path) -> None:
    start, token, *_ = says("hello", end="end_of_sequence", accepting=None)
    node = NodeTwin(script=lambda _: [start, token, asyncio.Event()])
    async with client(tmp_path, node) as api:
        stream = await api.responses.create(model=MODEL, input="hi", stream=True)
        async for event in stream:
            if event.type == "response.output_text.delta":
                break
        assert node.num_open == 1
        await stream.close()
        await until(lambda: node.num_open == 0)
        waiting = asyncio.ensure_future(api.responses.create(model=MODEL, input="hi"))
        await until(lambda: node.num_open == 1)
        waiting.cancel()
        await until(lambda: node.num_open == 0)
