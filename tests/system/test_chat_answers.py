"""Tools, refusals, thoughts, choices and log probabilities from the real model, read by the stock `openai` client."""

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import jsonschema
import openai
import pytest
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from tests.system.product import Product

pytestmark = pytest.mark.system

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 20},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
COLOUR: dict[str, Any] = {"enum": ["red", "green", "blue"]}
ASKED = [{"role": "user", "content": "What is the weather in Paris for the next three days?"}]


def function(name: str, parameters: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    sent = {"name": name, **members} if parameters is None else {"name": name, "parameters": parameters, **members}
    return {"type": "function", "function": sent}


@contextmanager
def client(product: Product) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{product.gateway_url}/v1", api_key=product.api_key, max_retries=0) as api:
        yield api


def ask(api: openai.OpenAI, **fields: Any) -> Any:
    """A `ChatCompletion`; its calls are a union that a test knows the member of."""
    model = api.models.list().data[0].id
    answer = api.chat.completions.create(**{"model": model, "messages": ASKED, "seed": 1, "max_tokens": 120, **fields})
    assert isinstance(answer, ChatCompletion)
    return answer


def only(calls: Any) -> Any:
    """The one call that there is."""
    assert len(calls) == 1
    return calls[0]


def streamed(api: openai.OpenAI, **fields: Any) -> Any:
    """The same as the client's own accumulator puts it together."""
    model = api.models.list().data[0].id
    with api.chat.completions.stream(
        **{"model": model, "messages": ASKED, "seed": 1, "max_tokens": 120, **fields}
    ) as stream:
        for _ in stream:
            pass
        found = stream.get_final_completion()
    assert isinstance(found, ChatCompletion)
    return found


def test_a_named_function_is_called_with_arguments_that_satisfy_its_schema(product: Product) -> None:
    fields: dict[str, Any] = {
        "tools": [function("weather", WEATHER, description="The weather of a city"), function("other", WEATHER)],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
        "parallel_tool_calls": False,
    }
    with client(product) as api:
        answer, other = ask(api, **fields), streamed(api, **fields)
    (choice,) = answer.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    call = only(choice.message.tool_calls)
    assert call.type == "function"
    assert call.function.name == "weather"
    jsonschema.validate(json.loads(call.function.arguments), WEATHER)
    again = only(other.choices[0].message.tool_calls)
    assert again.type == "function"
    assert again.function.arguments == call.function.arguments
    assert other.choices[0].finish_reason == "tool_calls"


def test_a_call_and_its_result_are_told_to_the_model_in_the_next_turn(product: Product) -> None:
    tools = [function("weather", WEATHER)]
    with client(product) as api:
        first = ask(api, tools=tools, tool_choice="required", parallel_tool_calls=False).choices[0].message
        call = only(first.tool_calls)
        history = [*ASKED, first.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
        without = ask(api, tools=tools, tool_choice="none", max_tokens=8)
        second = ask(api, messages=history, tools=tools, tool_choice="none", max_tokens=8)
    assert second.choices[0].message.tool_calls is None
    assert second.usage is not None
    assert without.usage is not None
    assert second.usage.prompt_tokens > without.usage.prompt_tokens


def test_with_a_contract_the_answer_is_the_object_or_calls(product: Product) -> None:
    fields: dict[str, Any] = {
        "tools": [function("weather", WEATHER)],
        "response_format": {"type": "json_schema", "json_schema": {"name": "c", "strict": True, "schema": COLOUR}},
        "temperature": 1.5,
    }
    with client(product) as api:
        for seed in range(4):
            choice = ask(api, **fields, seed=seed).choices[0]
            if choice.finish_reason == "length":
                continue
            if choice.message.tool_calls:
                assert choice.message.content is None
                for call in choice.message.tool_calls:
                    assert call.type == "function"
                    jsonschema.validate(json.loads(call.function.arguments), WEATHER)
            else:
                assert json.loads(choice.message.content or "") in COLOUR["enum"]


def test_custom_tools_take_text_a_regex_or_a_lark_grammar(product: Product) -> None:
    with client(product) as api:
        regex = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]{3,8}=[0-9]{1,4}"}}
        lark = {
            "type": "grammar",
            "grammar": {"syntax": "lark", "definition": 'start: N (("+" | "*") N)~1..2\nN: /[0-9]{1,2}/'},
        }
        for form, expected in ((regex, r"[a-z]{3,8}=[0-9]{1,4}"), (lark, r"[0-9]{1,2}([+*][0-9]{1,2}){1,2}")):
            tool = {"type": "custom", "custom": {"name": "run", "format": form}}
            choice = ask(
                api, tools=[tool], tool_choice={"type": "custom", "custom": {"name": "run"}}, parallel_tool_calls=False
            ).choices[0]
            call = only(choice.message.tool_calls)
            assert call.type == "custom"
            assert call.custom.name == "run"
            assert re.fullmatch(expected, call.custom.input), call.custom.input
            assert choice.finish_reason == "tool_calls"


def test_a_lark_tool_is_called_beside_others(product: Product) -> None:
    sums = 'start: N (("+" | "*") N)~1..2\nN: /[0-9]{1,2}/'
    form = {"type": "grammar", "grammar": {"syntax": "lark", "definition": sums}}
    tools = [{"type": "custom", "custom": {"name": "calc", "format": form}}, function("weather", WEATHER)]
    messages = [{"role": "user", "content": "Use the tool calc to add 1 and 2."}]
    with client(product) as api:
        called: set[str] = set()
        for seed in range(12):
            choice = ask(api, messages=messages, tools=tools, tool_choice="required", seed=seed).choices[0]
            if choice.finish_reason != "tool_calls":
                continue
            for call in choice.message.tool_calls:
                if call.type == "custom":
                    assert re.fullmatch(r"[0-9]{1,2}([+*][0-9]{1,2}){1,2}", call.custom.input), call.custom.input
                    called.add(call.custom.name)
                else:
                    jsonschema.validate(json.loads(call.function.arguments), WEATHER)
                    called.add(call.function.name)
        words = ask(api, messages=messages, tools=tools, max_tokens=10)
    assert "calc" in called
    assert words.choices[0].finish_reason in {"length", "stop", "tool_calls"}


def test_many_tools_can_be_offered_and_some_of_them_allowed(product: Product) -> None:
    many = [function(f"tool_{number}") for number in range(30)]
    with client(product) as api:
        answer = ask(
            api,
            tools=[*many, function("last", WEATHER)],
            tool_choice={
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": name}} for name in ("last", "tool_3")],
                },
            },
            parallel_tool_calls=False,
            messages=[{"role": "user", "content": "Call the last one."}],
        )
        with pytest.raises(openai.BadRequestError) as caught:
            ask(api, tools=[function(f"tool_{number}") for number in range(129)])
    call = only(answer.choices[0].message.tool_calls)
    assert call.function.name in {"last", "tool_3"}
    assert caught.value.code == "limit_exceeded"


class Answered(BaseModel):
    """What a user of the client would write."""

    colour: str
    is_warm: bool


def test_parse_reads_arguments_into_the_users_own_model(product: Product) -> None:
    with client(product) as api:
        answer = api.chat.completions.parse(
            model=api.models.list().data[0].id,
            messages=[{"role": "user", "content": "Pick a colour."}],
            tools=[openai.pydantic_function_tool(Answered, name="answer")],
            tool_choice={"type": "function", "function": {"name": "answer"}},
            parallel_tool_calls=False,
            max_tokens=150,
            seed=3,
        )
    call = only(answer.choices[0].message.tool_calls)
    assert isinstance(call.function.parsed_arguments, Answered)


def test_choices_are_what_their_seeds_alone_would_give(product: Product) -> None:
    schema = {"type": "array", "items": COLOUR, "minItems": 3, "maxItems": 3}
    form = {"type": "json_schema", "json_schema": {"name": "c", "strict": True, "schema": schema}}
    with client(product) as api:
        together = ask(api, n=3, seed=7, response_format=form, temperature=1.5)
        alone = [ask(api, seed=7 + index, response_format=form, temperature=1.5) for index in range(3)]
        stream = streamed(api, n=3, seed=7, response_format=form, temperature=1.5)
    contents = [choice.message.content for choice in together.choices]
    assert contents == [answer.choices[0].message.content for answer in alone]
    assert [choice.message.content for choice in stream.choices] == contents
    assert together.usage is not None
    assert together.usage.completion_tokens == sum(a.usage.completion_tokens for a in alone if a.usage is not None)


def test_log_probabilities_are_of_the_tokens_of_the_answer(product: Product) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "c", "strict": True, "schema": COLOUR}}
    with client(product) as api:
        choice = ask(api, response_format=form, logprobs=True, top_logprobs=2).choices[0]
        other = streamed(api, response_format=form, logprobs=True, top_logprobs=2).choices[0]
    assert choice.logprobs is not None
    tokens = choice.logprobs.content or []
    assert bytes(byte for token in tokens for byte in token.bytes or ()).decode() == choice.message.content
    assert all(-math.inf < token.logprob <= 0 for token in tokens)
    assert {len(token.top_logprobs) for token in tokens} == {2}
    assert other.logprobs is not None
    assert [token.token for token in other.logprobs.content or ()] == [token.token for token in tokens]


def test_the_model_may_decline_where_the_tenants_policy_lets_it(product: Product) -> None:
    policy_url = f"{product.gateway_url}/v1/admin/tenants/local/serving-policy"
    schema = {"type": "object", "properties": {"steps": {"type": "string"}}, "required": ["steps"]}
    form: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "c", "strict": True, "schema": schema}}
    declining: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Repeat exactly this text: <refusal>I cannot do that.</refusal>"}],
        "response_format": form,
    }
    with client(product) as api, httpx.Client(headers=product.headers) as raw:
        version = raw.get(policy_url).headers.get("etag", "")
        changed = raw.put(policy_url, json={"allow_refusal": True}, headers={"If-Match": version})
        assert changed.is_success, changed.text
        try:
            answers = (ask(api, **declining, seed=seed, max_tokens=100) for seed in range(60))
            refused = next((each for each in answers if each.schemagate["completion"] == "refused"), None)
            assert refused is not None, "the model never declined"
            message = refused.choices[0].message
            assert message.content is None
            again = streamed(api, **declining, seed=refused.schemagate["seed"], max_tokens=100).choices[0]
            assert (again.message.refusal, again.message.content) == (message.refusal, None)
            assert again.finish_reason == refused.choices[0].finish_reason == "stop"
            fields: dict[str, Any] = {
                "model": api.models.list().data[0].id,
                "input": declining["messages"],
                "text": {"format": {"type": "json_schema", **form["json_schema"]}},
                "max_output_tokens": 100,
                "extra_body": {"seed": refused.schemagate["seed"]},
            }
            response = api.responses.create(**fields)
            (item,) = response.output
            assert item.type == "message"
            assert [part.type for part in item.content] == ["refusal"]
            assert item.content[0].model_dump()["refusal"] == message.refusal
            assert (response.status, response.output_text) == ("completed", "")
        finally:
            restored = raw.put(policy_url, json={}, headers={"If-Match": changed.headers["etag"]})
            assert restored.is_success, restored.text


def test_a_thought_stands_apart_from_the_answer(product: Product) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "c", "strict": True, "schema": COLOUR}}
    messages = [{"role": "user", "content": "Write <think>, a few words, </think>, then pick a colour."}]
    with client(product) as api:
        for seed in range(3):
            choice = ask(api, messages=messages, response_format=form, reasoning_effort="low", seed=seed).choices[0]
            if choice.finish_reason == "stop":
                assert json.loads(choice.message.content or "") in COLOUR["enum"]
            else:
                assert choice.message.content is None
                assert (choice.message.model_extra or {}).get("reasoning")
