"""Calls, refusals and cut or filtered answers as the stock `openai` client reads them, the one that blocks and the one
that does not, whole and put together from a stream."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import openai
import pytest
from pydantic import BaseModel

from inference_node.tool_dialects.hermes import HERMES
from tests.gateway.backends.world import UPSTREAM
from tests.gateway.openai_stub import OpenAIStub
from tests.gateway.openai_stub import says as upstream_says
from tests.gateway.serving import served, served_gateway
from tests.gateway.twins import MODEL, NodeTwin, says

T = TypeVar("T")
MESSAGES: Any = [{"role": "user", "content": "hi"}]
LOOKUPS = [HERMES.call_text("Lookup", f'{{"id":{number}}}', is_custom=False) for number in (1, 2)]
SHELL = HERMES.call_text("shell", "ls 'ä' | wc", is_custom=True)
DECLINED = "I can't help with that."


class Lookup(BaseModel):
    """Looks something up."""

    id: int


class Titled(BaseModel):
    title: str


def node_says(text: str, **end: Any) -> NodeTwin:
    """A node that says `text` in pieces that cut every marker."""
    pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
    return NodeTwin(script=lambda _: says(*pieces, **end))


async def both(
    directory: Path,
    node: NodeTwin,
    blocking: Callable[[openai.OpenAI], T],
    waiting: Callable[[openai.AsyncOpenAI], Any],
    **settings: Any,
) -> list[T]:
    """What either client makes of it."""
    async with served_gateway(directory, node=node, **settings) as (url, key):

        def block() -> T:
            with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as api:
                return blocking(api)

        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as api:
            return [await asyncio.to_thread(block), await waiting(api)]


async def test_parallel_calls_are_parsed_from_the_whole_and_from_the_stream(tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "model": MODEL,
        "messages": MESSAGES,
        "tools": [openai.pydantic_function_tool(Lookup)],
        "tool_choice": "required",
    }

    def parsed(completion: Any) -> list[Any]:
        (choice,) = completion.choices
        assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
        return [call.function.parsed_arguments for call in choice.message.tool_calls]

    def blocking(api: openai.OpenAI) -> list[Any]:
        with api.chat.completions.stream(**fields) as stream:
            kinds = [event.type for event in stream]
            assert kinds.count("tool_calls.function.arguments.done") == 2
            streamed = parsed(stream.get_final_completion())
        return [parsed(api.chat.completions.parse(**fields)), streamed]

    async def waiting(api: openai.AsyncOpenAI) -> list[Any]:
        async with api.chat.completions.stream(**fields) as stream:
            streamed = parsed(await stream.get_final_completion())
        return [parsed(await api.chat.completions.parse(**fields)), streamed]

    found = await both(tmp_path, node_says("\n".join(LOOKUPS)), blocking, waiting)
    assert found == [[[Lookup(id=1), Lookup(id=2)]] * 2] * 2


async def test_responses_parse_parallel_calls_from_the_whole_and_from_the_stream(tmp_path: Path) -> None:
    tool = openai.pydantic_function_tool(Lookup)["function"]
    fields: dict[str, Any] = {
        "model": MODEL, "input": "hi", "tools": [{"type": "function", **tool}], "tool_choice": "required",
    }  # fmt: skip

    def arguments(response: Any) -> list[str]:
        assert response.status == "completed"
        return [item.arguments for item in response.output if item.type == "function_call"]

    def blocking(api: openai.OpenAI) -> list[list[str]]:
        with api.responses.stream(**fields) as stream:
            streamed = arguments(stream.get_final_response())
        return [arguments(api.responses.parse(**fields)), streamed]

    async def waiting(api: openai.AsyncOpenAI) -> list[list[str]]:
        async with api.responses.stream(**fields) as stream:
            streamed = arguments(await stream.get_final_response())
        return [arguments(await api.responses.parse(**fields)), streamed]

    found = await both(tmp_path, node_says("\n".join(LOOKUPS)), blocking, waiting)
    assert found == [[['{"id":1}', '{"id":2}']] * 2] * 2


async def test_a_custom_tools_input_comes_whole_and_streamed(tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "model": MODEL, "messages": MESSAGES, "tools": [{"type": "custom", "custom": {"name": "shell"}}],
    }  # fmt: skip

    def blocking(api: openai.OpenAI) -> list[str]:
        whole: Any = api.chat.completions.create(**fields)
        (call,) = whole.choices[0].message.tool_calls
        deltas = [
            call.model_dump()["custom"].get("input") or ""
            for chunk in api.chat.completions.create(**fields, stream=True)
            for call in chunk.choices[0].delta.tool_calls or ()
        ]
        return [call.custom.input, "".join(deltas)]

    async def waiting(api: openai.AsyncOpenAI) -> list[str]:
        whole: Any = await api.chat.completions.create(**fields)
        response: Any = await api.responses.create(model=MODEL, input="hi", tools=[{"type": "custom", "name": "shell"}])
        return [whole.choices[0].message.tool_calls[0].custom.input, response.output[0].input]

    node = node_says(SHELL, end="end_of_sequence")
    assert await both(tmp_path, node, blocking, waiting) == [["ls 'ä' | wc"] * 2] * 2


async def test_a_refusal_is_no_object_for_anybody(tmp_path: Path) -> None:
    chat: dict[str, Any] = {"model": MODEL, "messages": MESSAGES, "response_format": Titled}
    asked: dict[str, Any] = {"model": MODEL, "input": "hi", "text_format": Titled}

    def of_chat(completion: Any) -> Any:
        message = completion.choices[0].message
        assert (message.parsed, message.content, completion.choices[0].finish_reason) == (None, None, "stop")
        return message.refusal

    def of_response(response: Any) -> Any:
        assert (response.output_parsed, response.output_text, response.status) == (None, "", "completed")
        (part,) = response.output[0].content
        return part.refusal

    def blocking(api: openai.OpenAI) -> list[Any]:
        with api.chat.completions.stream(**chat) as stream:
            kinds = {event.type for event in stream}
            streamed = stream.get_final_completion()
        assert {"refusal.delta", "refusal.done"} <= kinds
        assert not {"content.delta", "content.done"} & kinds
        with api.responses.stream(**asked) as events:
            response = events.get_final_response()
        return [of_chat(api.chat.completions.parse(**chat)), of_chat(streamed), of_response(response)]

    async def waiting(api: openai.AsyncOpenAI) -> list[Any]:
        async with api.chat.completions.stream(**chat) as stream:
            streamed = await stream.get_final_completion()
        response = await api.responses.parse(**asked)
        return [of_chat(await api.chat.completions.parse(**chat)), of_chat(streamed), of_response(response)]

    node = node_says(f"<refusal>{DECLINED}</refusal>")
    found = await both(tmp_path, node, blocking, waiting, serving_policy={"allow_refusal": True})
    assert found == [[DECLINED] * 3] * 2


async def test_a_cut_call_is_an_error_where_it_is_parsed_and_never_arguments(tmp_path: Path) -> None:
    text = LOOKUPS[0].partition("}")[0]
    chat: dict[str, Any] = {
        "model": MODEL, "messages": MESSAGES, "tools": [openai.pydantic_function_tool(Lookup)], "max_tokens": 9,
    }  # fmt: skip
    tool = openai.pydantic_function_tool(Lookup)["function"]
    asked: dict[str, Any] = {
        "model": MODEL, "input": "hi", "tools": [{"type": "function", **tool}], "max_output_tokens": 16,
    }  # fmt: skip

    def blocking(api: openai.OpenAI) -> str:
        with pytest.raises(openai.LengthFinishReasonError):
            api.chat.completions.parse(**chat)
        with pytest.raises(openai.LengthFinishReasonError), api.chat.completions.stream(**chat) as stream:
            stream.until_done()
        with api.responses.stream(**asked) as events:
            kinds = [event.type for event in events]
        assert "response.function_call_arguments.done" not in kinds
        return kinds[-1]

    async def waiting(api: openai.AsyncOpenAI) -> str:
        with pytest.raises(openai.LengthFinishReasonError):
            await api.chat.completions.parse(**chat)
        response: Any = await api.responses.create(**asked)
        assert response.incomplete_details.reason == "max_output_tokens"
        assert (response.output[0].status, response.output[0].arguments) == ("incomplete", '{"id":1')
        return f"response.{response.status}"

    node = node_says(text, end="max_tokens", accepting=False)
    assert await both(tmp_path, node, blocking, waiting) == ["response.incomplete"] * 2


async def test_what_a_backend_filters_is_the_clients_own_error_or_an_incomplete_response(tmp_path: Path) -> None:
    stub = OpenAIStub(script=lambda _: upstream_says('{"title":"So', finish="content_filter"))
    chat: dict[str, Any] = {"model": UPSTREAM, "messages": MESSAGES, "response_format": Titled}

    def blocking(api: openai.OpenAI) -> str:
        with pytest.raises(openai.ContentFilterFinishReasonError):
            api.chat.completions.parse(**chat)
        with pytest.raises(openai.ContentFilterFinishReasonError), api.chat.completions.stream(**chat) as stream:
            stream.until_done()
        with api.responses.stream(model=UPSTREAM, input="hi") as events:
            return [event.type for event in events][-1]

    async def waiting(api: openai.AsyncOpenAI) -> str:
        with pytest.raises(openai.ContentFilterFinishReasonError):
            await api.chat.completions.parse(**chat)
        async with api.chat.completions.stream(**chat) as stream:
            with pytest.raises(openai.ContentFilterFinishReasonError):
                await stream.until_done()
        response: Any = await api.responses.create(model=UPSTREAM, input="hi")
        assert response.incomplete_details.reason == "content_filter"
        return f"response.{response.status}"

    async with served(stub.app) as upstream:
        backend = {"name": "cloud", "base_url": f"{upstream}/v1", "models": {UPSTREAM: "up"}, "max_attempts": 1}
        settings: dict[str, Any] = {"openai_backends": [backend], "serving_policy": {"downgrade": "validate"}}
        found = await both(tmp_path, NodeTwin(), blocking, waiting, **settings)
    assert found == ["response.incomplete"] * 2
