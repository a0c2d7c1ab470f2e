"""`pydantic-ai` agents: output by tool, by the server's own structured output, with tools of the agent's, streamed."""

import asyncio
import contextlib
from typing import Annotated, Any, Literal

from cases import API_KEY, BASE_URL, MODEL, run
from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput, ToolOutput, UsageLimitExceeded, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

SETTINGS: Any = {"temperature": 0, "seed": 1, "max_tokens": 200}


class City(BaseModel):
    """A city."""

    name: Annotated[str, Field(max_length=16)]
    size: Literal["small", "large"]


class Unknown(BaseModel):
    """No city was asked for."""

    why: Annotated[str, Field(max_length=24)]


def model() -> OpenAIChatModel:
    return OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE_URL, api_key=API_KEY))


def output_by_tool_is_the_model() -> None:
    agent = Agent(model(), output_type=ToolOutput(City), model_settings=SETTINGS, retries=0)
    assert isinstance(agent.run_sync("Name a city.").output, City)


def the_servers_own_structured_output_is_the_model() -> None:
    agent = Agent(model(), output_type=NativeOutput(City), model_settings=SETTINGS, retries=0)
    assert isinstance(agent.run_sync("Name a city.").output, City)


def one_of_several_outputs_is_chosen() -> None:
    agent: Agent[None, City | Unknown] = Agent(model(), output_type=[City, Unknown], model_settings=SETTINGS, retries=0)
    assert isinstance(agent.run_sync("Name a city.").output, City | Unknown)


def a_tool_of_the_agents_gets_arguments_that_fit() -> None:
    seen: list[int] = []
    agent = Agent(model(), output_type=NativeOutput(City), model_settings=SETTINGS, retries=0)

    @agent.tool_plain  # type: ignore[untyped-decorator]
    def population(millions: Annotated[int, Field(ge=1, le=30)]) -> str:
        """Cities by their population."""
        seen.append(millions)
        return "Lagos"

    # A small model may ask and ask: that the agent gave up says nothing of what it was given.
    with contextlib.suppress(UsageLimitExceeded):
        agent.run_sync("Name a city.", usage_limits=UsageLimits(request_limit=3))
    assert all(1 <= each <= 30 for each in seen)


def a_stream_ends_in_the_model() -> None:
    async def last() -> Any:
        agent = Agent(model(), output_type=NativeOutput(City), model_settings=SETTINGS, retries=0)
        async with agent.run_stream("Name a city.") as stream:
            return await stream.get_output()

    assert isinstance(asyncio.run(last()), City)


def the_responses_model_answers_too() -> None:
    responses = OpenAIResponsesModel(MODEL, provider=OpenAIProvider(base_url=BASE_URL, api_key=API_KEY))
    settings: Any = {"temperature": 0, "max_tokens": 200}
    agent = Agent(responses, output_type=NativeOutput(City), model_settings=settings, retries=0)
    assert isinstance(agent.run_sync("Name a city.").output, City)


def usage_is_counted() -> None:
    agent = Agent(model(), output_type=NativeOutput(City), model_settings=SETTINGS, retries=0)
    usage = agent.run_sync("Name a city.").usage
    counted = usage() if callable(usage) else usage
    assert counted.input_tokens > 0
    assert counted.output_tokens > 0


run(
    {
        each.__name__: each
        for each in (
            output_by_tool_is_the_model,
            the_servers_own_structured_output_is_the_model,
            one_of_several_outputs_is_chosen,
            a_tool_of_the_agents_gets_arguments_that_fit,
            a_stream_ends_in_the_model,
            the_responses_model_answers_too,
            usage_is_counted,
        )
    }
)
