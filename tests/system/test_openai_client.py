"""The stock `openai` client against the running product."""

import json
from typing import Literal

import jsonschema
import openai
import pytest
from pydantic import BaseModel, Field

from tests.system.product import Product
from tests.system.usage import used

pytestmark = pytest.mark.system

MESSAGES: list[openai.types.chat.ChatCompletionMessageParam] = [
    {"role": "user", "content": "Describe a small ticket about a broken login page."}
]
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


class Ticket(BaseModel):
    """What a user of the client would write."""

    severity: Literal["low", "medium", "high"]
    title: str = Field(max_length=30)
    open: bool


def client(product: Product) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0)


def served_model(api: openai.OpenAI) -> str:
    return api.models.list().data[0].id


def strict_format(schema: dict[str, object]) -> openai.types.shared_params.ResponseFormatJSONSchema:
    return {"type": "json_schema", "json_schema": {"name": "ticket", "strict": True, "schema": schema}}


def test_create_with_a_strict_schema_returns_a_valid_object(product: Product) -> None:
    with client(product) as api:
        answer = api.chat.completions.create(
            model=served_model(api), messages=MESSAGES, response_format=strict_format(SCHEMA), max_tokens=200, seed=1
        )
    choice = answer.choices[0]
    assert choice.finish_reason == "stop"
    jsonschema.validate(json.loads(choice.message.content or ""), SCHEMA)
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer._request_id
    assert answer.model_extra is not None
    assert answer.model_extra["schemagate"]["completion"] == "complete"


def test_parse_returns_the_pydantic_model(product: Product) -> None:
    with client(product) as api:
        answer = api.chat.completions.parse(
            model=served_model(api), messages=MESSAGES, response_format=Ticket, max_tokens=200, seed=1
        )
    assert isinstance(answer.choices[0].message.parsed, Ticket)


def test_a_stream_joins_to_the_unstreamed_answer(product: Product) -> None:
    with client(product) as api:
        whole = api.chat.completions.create(
            model=served_model(api), messages=MESSAGES, response_format=strict_format(SCHEMA), max_tokens=200, seed=5
        )
        chunks = list(
            api.chat.completions.create(
                model=served_model(api),
                messages=MESSAGES,
                response_format=strict_format(SCHEMA),
                max_tokens=200,
                seed=5,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert reasons == ["stop"]
    assert chunks[-1].choices == []
    assert used(chunks[-1].usage) == used(whole.usage)
    extensions = [(chunk.model_extra or {}).get("schemagate") for chunk in chunks]
    terminal = [extension for extension in extensions if extension]
    assert [event["completion"] for event in terminal] == ["complete"]


def test_three_tokens_raise_the_clients_own_length_error(product: Product) -> None:
    with client(product) as api, pytest.raises(openai.LengthFinishReasonError):
        api.chat.completions.parse(
            model=served_model(api), messages=MESSAGES, response_format=Ticket, max_tokens=3, seed=1
        )


def test_an_unsupported_keyword_raises_bad_request_with_code_and_param(product: Product) -> None:
    strings: dict[str, object] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    schema: dict[str, object] = {"type": "object", "properties": {"x": strings}}
    with client(product) as api, pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(
            model=served_model(api), messages=MESSAGES, response_format=strict_format(schema), max_tokens=20
        )
    assert caught.value.code == "unsupported_keyword"
    assert caught.value.param == "response_format.json_schema.schema.properties.x.uniqueItems"
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["pointer"] == "/properties/x/uniqueItems"


def test_a_wrong_key_raises_the_clients_authentication_error(product: Product) -> None:
    api = openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key="sg_nobody_secret", max_retries=0)
    with api, pytest.raises(openai.AuthenticationError) as caught:
        api.models.list()
    assert caught.value.code == "invalid_api_key"


def test_an_unknown_model_is_not_found(product: Product) -> None:
    with client(product) as api, pytest.raises(openai.NotFoundError) as caught:
        api.chat.completions.create(model="nobody", messages=MESSAGES)
    assert caught.value.code == "model_not_found"
