"""Wire types of `POST /v1/responses`: the request. Items of the input are in `gateway.responses.input_protocol`,
the answer in `gateway.responses.answer_protocol`.

Lists whose members have a `type` are read member by member, so that a fault's path is the caller's.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from gateway.protocol import MAX_MODEL_CHARACTERS, Number, Sent
from gateway.reasoning import Effort
from inference_node.protocol import MAX_TOP_LOGPROBS

MAX_STOP_STRINGS = 4
MAX_STOP_CHARACTERS = 256
MAX_SEED = 2**63 - 1
MAX_METADATA_PAIRS = 16
MAX_METADATA_KEY_CHARACTERS = 64
MAX_METADATA_VALUE_CHARACTERS = 512
MAX_IDENTIFIER_CHARACTERS = 512
"""Of `user` and its like, which are only echoed."""


def _metadata(value: dict[str, str]) -> dict[str, str]:
    if len(value) > MAX_METADATA_PAIRS:
        raise PydanticCustomError(
            "too_many_pairs", "it has {observed} pairs; at most 16 are taken", {"observed": len(value)}
        )
    for key, text in value.items():
        if len(key) > MAX_METADATA_KEY_CHARACTERS or len(text) > MAX_METADATA_VALUE_CHARACTERS:
            raise PydanticCustomError("too_long_pair", "keys have at most 64 characters, values at most 512")
    return value


def _stop_strings(value: Any) -> Any:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


Identifier = Annotated[str, Field(max_length=MAX_IDENTIFIER_CHARACTERS)]
Summary = Literal["auto", "concise", "detailed"]
Verbosity = Literal["low", "medium", "high"]


class TextConfig(Sent):
    """`text`. What `format` says is read by `gateway.dialects`; the answer repeats it."""

    format: Any = None
    verbosity: Verbosity | None = None


class ReasoningConfig(Sent):
    """`reasoning`. The last three have no effect here."""

    effort: Effort | None = None
    summary: Summary | None = None
    generate_summary: Summary | None = None
    context: Literal["auto", "current_turn", "all_turns"] | None = None
    mode: Literal["standard"] | None = None


class StreamOptions(Sent):
    """`stream_options`. With obfuscation, which is off unless it is asked for, deltas are padded to even sizes."""

    include_obfuscation: bool | None = None


class ResponsesRequest(Sent):
    """The used fields of `POST /v1/responses`."""

    model: Annotated[str, Field(min_length=1, max_length=MAX_MODEL_CHARACTERS)]
    input: Any
    instructions: str | None = None
    text: TextConfig | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: Annotated[int | None, Field(ge=1, le=2**31)] = None
    max_output_tokens: Annotated[int | None, Field(ge=1, le=2**31)] = None
    temperature: Annotated[Number | None, Field(ge=0, le=2)] = None
    top_p: Annotated[Number | None, Field(gt=0, le=1)] = None
    top_logprobs: Annotated[int | None, Field(ge=0, le=MAX_TOP_LOGPROBS)] = None
    include: list[str] | None = None
    reasoning: ReasoningConfig | None = None
    metadata: Annotated[dict[str, str], AfterValidator(_metadata)] | None = None
    store: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: Identifier | None = None
    safety_identifier: Identifier | None = None
    prompt_cache_key: Identifier | None = None
    service_tier: str | None = None
    seed: Annotated[int | None, Field(ge=0, le=MAX_SEED)] = None
    """Ours, as in Chat Completions."""
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_STOP_CHARACTERS)]],
        Field(default_factory=list, max_length=MAX_STOP_STRINGS),
        BeforeValidator(_stop_strings, json_schema_input_type=str | list[str] | None),
    ]
    """Ours, as in Chat Completions."""


class FunctionToolSent(Sent):
    """A function in `tools`. What would leave the call to another than the model, or defer it, may only be absent."""

    type: Literal["function"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    output_schema: Any = None
    allowed_callers: list[Literal["direct"]] | None = None
    defer_loading: Literal[False] | None = None
    async_: Annotated[Literal[False] | None, Field(alias="async")] = None


class CustomFormatSent(Sent):
    """`format` of a custom tool."""

    type: Literal["text", "grammar"]
    syntax: Literal["lark", "regex"] | None = None
    definition: str | None = None


class CustomToolSent(Sent):
    """A tool that takes text."""

    type: Literal["custom"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str | None = None
    format: CustomFormatSent | None = None
    allowed_callers: list[Literal["direct"]] | None = None
    defer_loading: Literal[False] | None = None
    async_: Annotated[Literal[False] | None, Field(alias="async")] = None


class NamedToolChoice(Sent):
    """`tool_choice` with one tool."""

    type: Literal["function", "custom"]
    name: str


class AllowedTools(Sent):
    """`tool_choice` with several."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[list[Any], Field(min_length=1)]
