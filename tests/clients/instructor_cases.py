"""`instructor` over the stock client: every mode that an OpenAI-compatible server is asked in."""

import asyncio
from collections.abc import Iterable
from datetime import date
from typing import Annotated, Any, Literal
from uuid import UUID

import instructor
import openai
from cases import API_KEY, BASE_URL, MODEL, run
from pydantic import BaseModel, Field

ASK: list[Any] = [{"role": "user", "content": "Invent an order of one or two cheap things."}]


class Line(BaseModel):
    what: Annotated[str, Field(max_length=12)]
    cents: Annotated[int, Field(ge=0, le=9900)]


class Order(BaseModel):
    """An order."""

    order_id: UUID
    day: date
    state: Literal["open", "paid"]
    lines: Annotated[list[Line], Field(min_length=1, max_length=2)]


class Card(BaseModel):
    kind: Literal["card"]
    digits: Annotated[str, Field(pattern=r"^[0-9]{4}$")]


class Cash(BaseModel):
    kind: Literal["cash"]
    note: Literal[10, 20, 50]


class Payment(BaseModel):
    """How it is paid."""

    means: Annotated[Card | Cash, Field(discriminator="kind")]


def asked(mode: instructor.Mode, model: type[BaseModel], **options: Any) -> Any:
    client = instructor.from_openai(openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0), mode=mode)
    return client.chat.completions.create(
        model=MODEL, messages=ASK, response_model=model, max_retries=0, temperature=0, seed=1, max_tokens=300, **options
    )


def tools_mode_returns_the_model() -> None:
    assert isinstance(asked(instructor.Mode.TOOLS, Order), Order)


def strict_tools_mode_returns_the_model() -> None:
    assert isinstance(asked(instructor.Mode.TOOLS_STRICT, Payment), Payment)


def json_schema_mode_returns_the_model() -> None:
    assert isinstance(asked(instructor.Mode.JSON_SCHEMA, Order), Order)


def a_discriminated_union_is_one_of_its_members() -> None:
    for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA):
        assert isinstance(asked(mode, Payment).means, Card | Cash)


def several_tools_are_told_apart() -> None:
    client = instructor.from_openai(
        openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0), mode=instructor.Mode.PARALLEL_TOOLS
    )
    found = client.chat.completions.create(
        model=MODEL,
        messages=ASK,
        response_model=Iterable[Card | Cash],
        # This mode asks with `auto` whatever it is told, and a small model would go on in words.
        extra_body={"tool_choice": "required"},
        parallel_tool_calls=False,  # a small model calls and calls
        max_retries=0,
        temperature=0,
        seed=1,
        max_tokens=200,
    )
    assert [type(each) in (Card, Cash) for each in found] == [True]


def a_partial_stream_ends_in_the_model() -> None:
    client = instructor.from_openai(
        openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0), mode=instructor.Mode.JSON_SCHEMA
    )
    parts = list(
        client.chat.completions.create_partial(
            model=MODEL, messages=ASK, response_model=Card, max_retries=0, temperature=0, seed=1, max_tokens=200
        )
    )
    assert len(parts[-1].digits) == 4


def the_asynchronous_client_returns_the_model() -> None:
    async def one() -> Any:
        client = instructor.from_openai(
            openai.AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0), mode=instructor.Mode.TOOLS
        )
        return await client.chat.completions.create(
            model=MODEL, messages=ASK, response_model=Payment, max_retries=0, temperature=0, seed=1, max_tokens=200
        )

    assert isinstance(asyncio.run(one()), Payment)


def an_answer_that_was_cut_is_no_model() -> None:
    try:
        client = instructor.from_openai(
            openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0), mode=instructor.Mode.JSON_SCHEMA
        )
        client.chat.completions.create(
            model=MODEL, messages=ASK, response_model=Order, max_retries=0, temperature=0, seed=1, max_tokens=3
        )
    except Exception as error:
        assert "length" in str(error).lower() or "incomplete" in type(error).__name__.lower(), repr(error)
    else:
        raise AssertionError("a cut answer was taken for a model")


run(
    {
        each.__name__: each
        for each in (
            tools_mode_returns_the_model,
            strict_tools_mode_returns_the_model,
            json_schema_mode_returns_the_model,
            a_discriminated_union_is_one_of_its_members,
            several_tools_are_told_apart,
            a_partial_stream_ends_in_the_model,
            the_asynchronous_client_returns_the_model,
            an_answer_that_was_cut_is_no_model,
        )
    }
)
