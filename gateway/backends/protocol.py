"""What servers that speak OpenAI's API send, as far as it is read: everything else in their answers is left alone."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

_MAX_COUNT = 10**9

Count = Annotated[int, Field(ge=0, le=_MAX_COUNT)]


class Upstream(BaseModel):
    """Open: a server's own members are its own business. What is read here has the type that it is read as."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Delta(Upstream):
    """More of one choice."""

    content: str | None = None
    refusal: str | None = None
    tool_calls: list[Any] | None = None
    function_call: Any = None


class ChunkChoice(Upstream):
    """`stop_reason` is vLLM's: the stop string that fired, where `finish_reason` only says `stop`."""

    index: int = 0
    delta: Delta | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None


class PromptTokensDetails(Upstream):
    """A part of the prompt's tokens."""

    cached_tokens: Count | None = None


class ChunkUsage(Upstream):
    """The server's own count."""

    prompt_tokens: Count
    completion_tokens: Count
    prompt_tokens_details: PromptTokensDetails | None = None


class Chunk(Upstream):
    """One `data:` object of a stream: more of the answer, the usage, or an error in the middle of it.

    `error` is OpenAI's and vLLM's way to say so, `object: "error"` SGLang's.
    """

    object: str | None = None
    choices: list[ChunkChoice] = []
    usage: ChunkUsage | None = None
    error: Any = None


class FaultBody(Upstream):
    """An error's members, nested (OpenAI: string code, vLLM: the HTTP status as code) or flat (SGLang)."""

    message: str | None = None
    type: str | None = None
    code: int | str | None = None
