"""Wire types of `POST /v1/chat/completions`."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, FailFast, Field
from pydantic_core import PydanticCustomError

from gateway.protocol import (
    MAX_MODEL_CHARACTERS,
    Number,
    Sent,
)

MAX_STOP_STRINGS = 4
MAX_STOP_CHARACTERS = 256
MAX_SEED = 2**63 - 1


def _text_parts(value: Any) -> Any:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if isinstance(value, list):
        return value
    raise PydanticCustomError("content_type", "must be a string or a list of text parts")


def _stop_strings(value: Any) -> Any:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


class TextPart(Sent):
    """The one kind of content part that is served."""

    type: Literal["text"]
    text: str


class Message(Sent):
    """One turn. The members that only tools, audio and refusals use are known, and may only be empty."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[list[TextPart], FailFast(), BeforeValidator(_text_parts)]
    name: str | None = None
    refusal: None = None
    audio: None = None
    function_call: None = None
    tool_calls: Annotated[list[Any] | None, Field(max_length=0)] = None
    annotations: Annotated[list[Any] | None, Field(max_length=0)] = None


class StreamOptions(Sent):
    """`stream_options`; obfuscation is off whatever is asked, as nothing here depends on packet sizes."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class ChatRequest(Sent):
    """The used fields of `POST /v1/chat/completions`, without those that carry a contract (`gateway.dialects`)."""

    model: Annotated[str, Field(min_length=1, max_length=MAX_MODEL_CHARACTERS)]
    messages: Annotated[list[Message], FailFast(), Field(min_length=1)]
    temperature: Annotated[Number | None, Field(ge=0, le=2)] = None
    top_p: Annotated[Number | None, Field(gt=0, le=1)] = None
    seed: Annotated[int | None, Field(ge=0, le=MAX_SEED)] = None
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_STOP_CHARACTERS)]],
        Field(max_length=MAX_STOP_STRINGS),
        BeforeValidator(_stop_strings),
    ] = Field(default_factory=list)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int | None, Field(ge=1, le=2**31)] = None
    max_completion_tokens: Annotated[int | None, Field(ge=1, le=2**31)] = None
