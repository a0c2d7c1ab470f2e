"""LangChain, `pydantic-ai` and `instructor` through the Responses API: structured output, tools, histories, streams."""

import asyncio
import contextlib
from typing import Annotated, Any, Literal

import instructor
import openai
from cases import API_KEY, BASE_URL, MODEL, run
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput, ToolOutput, UsageLimits
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

SETTINGS: Any = {"temperature": 0, "max_tokens": 200}


class City(BaseModel):
    """A city."""

    name: Annotated[str, Field(max_length=16)]
    size: Literal["small", "large"]


@tool  # type: ignore[untyped-decorator]
def weather(place: Annotated[str, Field(max_length=16)]) -> str:
    """The weather of a place."""
    return f"sunny in {place}"


def chat(**options: Any) -> ChatOpenAI:
    settings: dict[str, Any] = {"temperature": 0, "max_tokens": 150, "max_retries": 0, "use_responses_api": True}
    return ChatOpenAI(model=MODEL, base_url=BASE_URL, api_key=API_KEY, **(settings | options))


def agent(output: Any, **options: Any) -> Agent[None, Any]:
    model = OpenAIResponsesModel(MODEL, provider=OpenAIProvider(base_url=BASE_URL, api_key=API_KEY))
    return Agent(model, output_type=output, model_settings=SETTINGS | options, retries=0)


def langchain_structured_output_by_both_methods() -> None:
    for method in ("json_schema", "function_calling"):
        city = chat().with_structured_output(City, method=method).invoke("Name a city.")
        assert isinstance(city, City)


def langchain_a_tool_round_trip_goes_on() -> None:
    model = chat(max_tokens=60)
    asked: list[Any] = [("system", "Be brief."), ("user", "How is it in Bern?")]
    called = model.bind_tools([weather], tool_choice="weather").invoke(asked)
    assert [call["name"] for call in called.tool_calls] == ["weather"]
    answered = [weather.invoke(call) for call in called.tool_calls]
    final = model.bind_tools([weather], tool_choice="none").invoke([*asked, called, *answered])
    assert final.text
    again = model.invoke([*asked, called, *answered, final, ("user", "And tomorrow?")])
    assert again.text


def langchain_a_stream_adds_up() -> None:
    total = None
    for part in chat().stream("Say hello."):
        total = part if total is None else total + part
    assert total is not None
    assert total.text
    assert total.usage_metadata["output_tokens"] > 0


def langchain_a_streamed_call_adds_up() -> None:
    total = None
    for part in chat().bind_tools([weather], tool_choice="weather").stream("How is it in Bern?"):
        total = part if total is None else total + part
    assert total is not None
    assert [call["name"] for call in total.tool_calls] == ["weather"]
    assert total.invalid_tool_calls == []


def langchain_reasoning_is_taken() -> None:
    answer = chat(reasoning={"effort": "low", "summary": "auto"}, max_tokens=300).invoke("Is 7 prime?")
    assert answer.response_metadata["status"] in {"completed", "incomplete"}


def pydantic_ai_output_by_tool_and_by_the_server() -> None:
    for output in (ToolOutput(City), NativeOutput(City)):
        assert isinstance(agent(output).run_sync("Name a city.").output, City)


def pydantic_ai_goes_on_with_its_history() -> None:
    first = agent(NativeOutput(City)).run_sync("Name a city.")
    second = agent(NativeOutput(City)).run_sync("Name another.", message_history=first.all_messages())
    assert isinstance(second.output, City)


def pydantic_ai_a_tool_gets_arguments_that_fit() -> None:
    seen: list[int] = []
    asking = agent(NativeOutput(City))

    @asking.tool_plain  # type: ignore[untyped-decorator]
    def population(millions: Annotated[int, Field(ge=1, le=30)]) -> str:
        """Cities by their population."""
        seen.append(millions)
        return "Lagos"

    # A small model may ask for ever; what counts is that it asks rightly.
    with contextlib.suppress(UsageLimitExceeded):
        asking.run_sync("Name a city.", usage_limits=UsageLimits(request_limit=2))
    assert all(1 <= each <= 30 for each in seen)


def pydantic_ai_a_stream_ends_in_the_model() -> None:
    async def last() -> Any:
        async with agent(NativeOutput(City)).run_stream("Name a city.") as stream:
            return await stream.get_output()

    assert isinstance(asyncio.run(last()), City)


def instructor_returns_the_model() -> None:
    stock = openai.OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0)
    client = instructor.from_openai(stock, mode=instructor.Mode.RESPONSES_TOOLS)
    city = client.responses.create(
        model=MODEL, input="Name a city.", response_model=City, max_retries=0, max_output_tokens=200
    )
    assert isinstance(city, City)


run(
    {
        each.__name__: each
        for each in (
            langchain_structured_output_by_both_methods,
            langchain_a_tool_round_trip_goes_on,
            langchain_a_stream_adds_up,
            langchain_a_streamed_call_adds_up,
            langchain_reasoning_is_taken,
            pydantic_ai_output_by_tool_and_by_the_server,
            pydantic_ai_goes_on_with_its_history,
            pydantic_ai_a_tool_gets_arguments_that_fit,
            pydantic_ai_a_stream_ends_in_the_model,
            instructor_returns_the_model,
        )
    }
)
