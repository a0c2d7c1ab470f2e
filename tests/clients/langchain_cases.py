"""LangChain's chat model: structured output by both methods, tools, streams, errors."""

import asyncio
from enum import StrEnum
from typing import Annotated, Any

import openai
from cases import API_KEY, BASE_URL, MODEL, run
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field


class Mood(StrEnum):
    GOOD = "good"
    BAD = "bad"


class Person(BaseModel):
    """A person."""

    name: Annotated[str, Field(max_length=12)]
    age: Annotated[int, Field(ge=0, le=120)]
    mood: Mood
    nick: Annotated[str, Field(max_length=8)] | None


PERSON_SCHEMA: dict[str, Any] = {
    "title": "person",
    "description": "A person.",
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


@tool  # type: ignore[untyped-decorator]
def weather(place: Annotated[str, Field(max_length=16)]) -> str:
    """The weather of a place."""
    return f"sunny in {place}"


def chat(**options: Any) -> ChatOpenAI:
    settings: dict[str, Any] = {"temperature": 0, "seed": 1, "max_tokens": 150, "max_retries": 0}
    return ChatOpenAI(model=MODEL, base_url=BASE_URL, api_key=API_KEY, **(settings | options))


def json_schema_method_returns_the_model() -> None:
    person = chat().with_structured_output(Person, method="json_schema").invoke("Invent a person.")
    assert isinstance(person, Person)


def function_calling_method_returns_the_model() -> None:
    person = chat().with_structured_output(Person, method="function_calling").invoke("Invent a person.")
    assert isinstance(person, Person)


def a_plain_schema_returns_a_dict() -> None:
    for method in ("json_schema", "function_calling"):
        person = chat().with_structured_output(PERSON_SCHEMA, method=method).invoke("Invent a person.")
        assert set(person) == {"name", "age"}
        assert 0 <= person["age"] <= 120


def strict_is_taken() -> None:
    person = chat().with_structured_output(Person, method="json_schema", strict=True).invoke("Invent a person.")
    assert isinstance(person, Person)


def raw_answers_come_along() -> None:
    both = chat().with_structured_output(Person, method="json_schema", include_raw=True).invoke("Invent a person.")
    assert isinstance(both["parsed"], Person)
    assert both["parsing_error"] is None
    assert both["raw"].usage_metadata["total_tokens"] > 0


def a_forced_tool_is_called_with_arguments_that_fit() -> None:
    answer = chat().bind_tools([weather], tool_choice="weather").invoke("How is it in Bern?")
    (call,) = answer.tool_calls
    assert call["name"] == "weather"
    assert isinstance(call["args"]["place"], str)
    assert answer.invalid_tool_calls == []


def a_tool_round_trip_goes_on() -> None:
    model = chat(max_tokens=60)
    asked: list[Any] = [("user", "How is it in Bern?")]
    called = model.bind_tools([weather], tool_choice="any").invoke(asked)
    answered = [weather.invoke(call) for call in called.tool_calls]
    final = model.bind_tools([weather], tool_choice="none").invoke([*asked, called, *answered])
    assert final.content
    assert final.tool_calls == []


def a_stream_of_a_structured_answer_ends_in_the_model() -> None:
    parts = list(chat().with_structured_output(Person, method="json_schema").stream("Invent a person."))
    assert isinstance(parts[-1], Person)


def a_streamed_tool_call_adds_up() -> None:
    total = None
    for part in chat().bind_tools([weather], tool_choice="weather").stream("How is it in Bern?"):
        total = part if total is None else total + part
    assert total is not None
    assert [call["name"] for call in total.tool_calls] == ["weather"]
    assert total.invalid_tool_calls == []


def asynchronous_calls_run_side_by_side() -> None:
    async def both() -> list[Any]:
        model = chat().with_structured_output(Person, method="json_schema")
        return [*await asyncio.gather(model.ainvoke("Invent a person."), model.ainvoke("Invent another."))]

    assert all(isinstance(person, Person) for person in asyncio.run(both()))


def a_contract_that_cannot_be_enforced_is_a_bad_request() -> None:
    schema = {"title": "t", "type": "object", "properties": {"a": {"type": "string", "pattern": "(?<=x)y"}}}
    try:
        chat().with_structured_output(schema, method="json_schema").invoke("Go.")
    except openai.BadRequestError as error:
        assert error.code == "unsupported_regex", error.code
        assert str(error.param).startswith("response_format.json_schema.schema"), error.param
    else:
        raise AssertionError("it was taken")


def the_responses_api_answers_too() -> None:
    model = chat(use_responses_api=True, seed=None)
    person = model.with_structured_output(Person, method="json_schema").invoke("Invent a person.")
    assert isinstance(person, Person)


run(
    {
        each.__name__: each
        for each in (
            json_schema_method_returns_the_model,
            function_calling_method_returns_the_model,
            a_plain_schema_returns_a_dict,
            strict_is_taken,
            raw_answers_come_along,
            a_forced_tool_is_called_with_arguments_that_fit,
            a_tool_round_trip_goes_on,
            a_stream_of_a_structured_answer_ends_in_the_model,
            a_streamed_tool_call_adds_up,
            asynchronous_calls_run_side_by_side,
            a_contract_that_cannot_be_enforced_is_a_bad_request,
            the_responses_api_answers_too,
        )
    }
)
