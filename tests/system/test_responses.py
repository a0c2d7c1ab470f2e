"""The stock `openai` client's Responses API against the running product."""

import asyncio
import json
from typing import Any, Literal

import jsonschema
import openai
import pytest
from openai.types.responses import FunctionToolParam, Response
from pydantic import BaseModel, Field

from tests.system.product import Product
from tests.system.usage import used

pytestmark = pytest.mark.system

ASKED = "Describe a small ticket about a broken login page."
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "severity": {"enum": ["low", "medium", "high"]},
        "title": {"type": "string", "maxLength": 30},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 8}, "maxItems": 2},
    },
    "required": ["severity", "title", "tags"],
    "additionalProperties": False,
}
ARGUMENTS: dict[str, object] = {
    "type": "object",
    "properties": {"city": {"enum": ["Rom", "Ulm", "Bonn"]}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
WEATHER: FunctionToolParam = {
    "type": "function",
    "name": "weather",
    "description": "the weather in a city",
    "parameters": ARGUMENTS,
    "strict": True,
}


class Ticket(BaseModel):
    """What a user of the client would write."""

    severity: Literal["low", "medium", "high"]
    title: str = Field(max_length=30)
    open: bool


def client(product: Product) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0)


def served_model(api: openai.OpenAI) -> str:
    return api.models.list().data[0].id


def seeded(seed: int) -> dict[str, int]:
    return {"seed": seed}


def completion(response: Response) -> str:
    assert response.model_extra is not None
    return str(response.model_extra["schemagate"]["completion"])


def test_words_are_answered_with_usage(product: Product) -> None:
    with client(product) as api:
        answer = api.responses.create(
            model=served_model(api), input="Say hello.", instructions="Be brief.", max_output_tokens=60, temperature=0
        )
    assert answer.output_text
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens
    assert answer.status in {"completed", "incomplete"}
    assert answer._request_id


def test_a_strict_schema_holds_and_a_stream_joins_to_the_unstreamed_answer(product: Product) -> None:
    form: Any = {"format": {"type": "json_schema", "name": "ticket", "strict": True, "schema": SCHEMA}}
    with client(product) as api:
        fields: dict[str, Any] = {
            "model": served_model(api),
            "input": ASKED,
            "text": form,
            "max_output_tokens": 200,
            "extra_body": seeded(5),
        }
        whole = api.responses.create(**fields)
        events = list(api.responses.create(**fields, stream=True))
    jsonschema.validate(json.loads(whole.output_text), SCHEMA)
    assert (whole.status, completion(whole)) == ("completed", "complete")
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type for event in events]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert set(kinds[4:-4]) == {"response.output_text.delta"}
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == whole.output_text
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == whole.output_text
    assert used(last.response.usage) == used(whole.usage)


def test_parse_returns_the_pydantic_model_whole_and_streamed(product: Product) -> None:
    with client(product) as api:
        model = served_model(api)
        # Strings have no bound here, so that one draw in a few is cut: this one is not.
        fields: dict[str, Any] = {"model": model, "input": ASKED, "max_output_tokens": 200, "extra_body": seeded(1)}
        parsed = api.responses.parse(**fields, text_format=Ticket)
        with api.responses.stream(**fields, text_format=Ticket) as stream:
            final = stream.get_final_response()
    assert isinstance(parsed.output_parsed, Ticket)
    assert isinstance(final.output_parsed, Ticket)


def test_the_client_that_does_not_block_is_answered_at_once_by_several(product: Product) -> None:
    async def ask() -> list[Ticket | None]:
        async with openai.AsyncOpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key) as api:
            model = (await api.models.list()).data[0].id
            answers = await asyncio.gather(
                *(
                    api.responses.parse(
                        model=model, input=ASKED, text_format=Ticket, max_output_tokens=200, extra_body=seeded(seed)
                    )
                    for seed in range(3)
                )
            )
        return [answer.output_parsed for answer in answers]

    assert all(isinstance(ticket, Ticket) for ticket in asyncio.run(ask()))


def test_a_forced_function_is_called_with_arguments_that_satisfy_its_schema(product: Product) -> None:
    with client(product) as api:
        fields: dict[str, Any] = {
            "model": served_model(api),
            "input": "What will the weather be in Ulm?",
            "tools": [WEATHER],
            "tool_choice": {"type": "function", "name": "weather"},
            "parallel_tool_calls": False,
            "max_output_tokens": 200,
            "extra_body": seeded(1),
        }
        whole = api.responses.create(**fields)
        with api.responses.stream(**fields) as stream:
            events = list(stream)
            final = stream.get_final_response()
        (call,) = whole.output
        assert call.type == "function_call"
        jsonschema.validate(json.loads(call.arguments), ARGUMENTS)
        assert (call.name, call.status, whole.status) == ("weather", "completed", "completed")
        (streamed,) = final.output
        assert streamed.type == "function_call"
        assert streamed.arguments == call.arguments
        assert [event.arguments for event in events if event.type == "response.function_call_arguments.done"] == [
            call.arguments
        ]
        told: Any = [
            {"role": "user", "content": "What will the weather be in Ulm?"},
            *whole.output,
            {"type": "function_call_output", "call_id": call.call_id, "output": '{"sky": "clear"}'},
        ]
        second = api.responses.create(
            model=served_model(api), input=told, tools=[WEATHER], tool_choice="none", max_output_tokens=40
        )
    assert second.output_text
    assert second.usage is not None
    assert whole.usage is not None
    assert second.usage.input_tokens > 20


def test_a_custom_tool_gets_input_that_its_regex_and_its_grammar_match(product: Product) -> None:
    forms: list[Any] = [
        {"type": "grammar", "syntax": "regex", "definition": "(on|off) [0-9]{2}"},
        {"type": "grammar", "syntax": "lark", "definition": 'start: ("on" | "off") " " /[0-9]{2}/'},
    ]
    with client(product) as api:
        for form in forms:
            answer = api.responses.create(
                model=served_model(api),
                input="Switch lamp 12 on.",
                tools=[{"type": "custom", "name": "lamp", "format": form}],
                tool_choice={"type": "custom", "name": "lamp"},
                parallel_tool_calls=False,
                max_output_tokens=60,
            )
            (call,) = answer.output
            assert call.type == "custom_tool_call"
            state, number = call.input.split(" ")
            assert state in {"on", "off"}
            assert number.isdecimal()


def test_three_tokens_are_incomplete_whole_and_streamed(product: Product) -> None:
    with client(product) as api:
        fields: dict[str, Any] = {
            "model": served_model(api),
            "input": ASKED,
            # Three tokens are too few for the shortest object, whatever is drawn.
            "text": {"format": {"type": "json_schema", "name": "ticket", "schema": SCHEMA, "strict": True}},
            "max_output_tokens": 3,
        }
        whole = api.responses.create(**fields)
        last = list(api.responses.create(**fields, stream=True))[-1]
    assert last.type == "response.incomplete"
    for response in (whole, last.response):
        assert response.status == "incomplete"
        assert response.incomplete_details is not None
        assert response.incomplete_details.reason == "max_output_tokens"
        assert completion(response) == "truncated"
        assert response.output[0].type == "message"
        assert response.output[0].status == "incomplete"


def test_log_probabilities_add_up_to_the_text(product: Product) -> None:
    with client(product) as api:
        answer = api.responses.create(
            model=served_model(api),
            input="Say hello.",
            max_output_tokens=12,
            temperature=0,
            include=["message.output_text.logprobs"],
            top_logprobs=3,
        )
    message = answer.output[0]
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    assert part.logprobs
    assert b"".join(bytes(token.bytes) for token in part.logprobs).decode(errors="replace").startswith(part.text[:5])
    assert all(token.logprob <= 0 and len(token.top_logprobs) == 3 for token in part.logprobs)


def test_an_unsupported_keyword_raises_bad_request_with_its_place(product: Product) -> None:
    strings: dict[str, object] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    schema: dict[str, object] = {"type": "object", "properties": {"x": strings}}
    form: Any = {"format": {"type": "json_schema", "name": "x", "strict": True, "schema": schema}}
    with client(product) as api:
        for is_streamed in (False, True):
            with pytest.raises(openai.BadRequestError) as caught:
                api.responses.create(model=served_model(api), input=ASKED, text=form, stream=is_streamed)
            assert caught.value.code == "unsupported_keyword"
            assert caught.value.param == "text.format.schema.properties.x.uniqueItems"
