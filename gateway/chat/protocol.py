"""Wire types of the request of `POST /v1/chat/completions`; the answer's are in `gateway.chat.answer_protocol`."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, FailFast, Field
from pydantic_core import PydanticCustomError

from gateway.intent import MAX_CHOICES
from gateway.protocol import MAX_MODEL_CHARACTERS, Number, Sent
from gateway.reasoning import Effort
from inference_node.protocol import MAX_TOP_LOGPROBS

MAX_STOP_STRINGS = 4
MAX_STOP_CHARACTERS = 256
MAX_SEED = 2**63 - 1
MAX_CALL_ID_CHARACTERS = 256


def _content_parts(value: Any) -> Any:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if value is None or isinstance(value, list):  # whose turn may be silent is not a matter of its type
        return value
    raise PydanticCustomError("content_type", "must be a string or a list of text parts")


def _stop_strings(value: Any) -> Any:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


StopSent = Annotated[str, Field(min_length=1, max_length=MAX_STOP_CHARACTERS)] | list[str] | None
"""As it may be written; a string is a list of one."""
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
CallId = Annotated[str, Field(min_length=1, max_length=MAX_CALL_ID_CHARACTERS)]


class ContentPart(Sent):
    """A part of a turn: text, or the words in which an assistant declined."""

    type: Literal["text", "refusal"]
    text: str | None = None
    refusal: str | None = None


class FunctionCallSent(Sent):
    """Which function an earlier turn called. `arguments` is the text of a JSON object."""

    name: ToolName
    arguments: str


class CustomCallSent(Sent):
    """Which custom tool an earlier turn called."""

    name: ToolName
    input: str


class ToolCallSent(Sent):
    """A call of an earlier turn."""

    id: CallId
    type: Literal["function", "custom"] = "function"
    function: FunctionCallSent | None = None
    custom: CustomCallSent | None = None
    index: int | None = None


class Message(Sent):
    """One turn. A turn that was answered here can be sent back as it came; what thought it held is left out."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Annotated[
        list[ContentPart] | None,
        Field(fail_fast=True),
        BeforeValidator(_content_parts, json_schema_input_type=str | list[ContentPart] | None),
    ] = None
    name: str | None = None
    refusal: str | None = None
    audio: None = None
    function_call: None = None
    tool_calls: Annotated[list[ToolCallSent] | None, Field(fail_fast=True)] = None
    tool_call_id: CallId | None = None
    annotations: list[Any] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class FunctionSent(Sent):
    """A function that may be called."""

    name: ToolName
    description: str | None = None
    parameters: Any = None
    strict: bool | None = None


class GrammarSent(Sent):
    """A grammar of a custom tool's input."""

    syntax: Literal["lark", "regex"]
    definition: str


class CustomFormatSent(Sent):
    """The input of a custom tool: any text, or one under a grammar, in the layout of Chat or the flat one of
    Responses."""

    type: Literal["text", "grammar"]
    grammar: GrammarSent | None = None
    syntax: Literal["lark", "regex"] | None = None
    definition: str | None = None


class CustomSent(Sent):
    """A custom tool, which takes text."""

    name: ToolName
    description: str | None = None
    format: CustomFormatSent | None = None


class ToolSent(Sent):
    """A tool."""

    type: Literal["function", "custom"]
    function: FunctionSent | None = None
    custom: CustomSent | None = None


class ToolNamed(Sent):
    """Names one tool."""

    name: str


class ToolPicked(Sent):
    """One tool, in `tool_choice` or among the allowed ones."""

    type: Literal["function", "custom"]
    function: ToolNamed | None = None
    custom: ToolNamed | None = None


class AllowedToolsSent(Sent):
    """The tools that may be called, and whether one must."""

    mode: Literal["auto", "required"]
    tools: Annotated[list[ToolPicked], Field(min_length=1)]


class ToolChoiceSent(Sent):
    """`tool_choice` as an object."""

    type: Literal["function", "custom", "allowed_tools"]
    function: ToolNamed | None = None
    custom: ToolNamed | None = None
    allowed_tools: AllowedToolsSent | None = None


class StreamOptions(Sent):
    """`stream_options`. With obfuscation, which is off unless it is asked for, chunks are padded to even sizes."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class TemplateOptions(Sent):
    """`chat_template_kwargs`: the one option that has a meaning here, whatever the model's template is."""

    enable_thinking: bool | None = None


class ChatRequest(Sent):
    """The used fields of `POST /v1/chat/completions`, without those that carry a contract (`gateway.dialects`)."""

    model: Annotated[str, Field(min_length=1, max_length=MAX_MODEL_CHARACTERS)]
    messages: Annotated[list[Message], FailFast(), Field(min_length=1)]
    tools: Annotated[list[ToolSent] | None, Field(fail_fast=True)] = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    n: Annotated[int | None, Field(ge=1, le=MAX_CHOICES)] = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int | None, Field(ge=0, le=MAX_TOP_LOGPROBS)] = None
    reasoning_effort: Effort | None = None
    thinking_token_budget: Annotated[int | None, Field(ge=0, le=10**9)] = None
    """vLLM's: the most tokens of a thought."""
    chat_template_kwargs: TemplateOptions | None = None
    temperature: Annotated[Number | None, Field(ge=0, le=2)] = None
    top_p: Annotated[Number | None, Field(gt=0, le=1)] = None
    seed: Annotated[int | None, Field(ge=0, le=MAX_SEED)] = None
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_STOP_CHARACTERS)]],
        Field(max_length=MAX_STOP_STRINGS),
        BeforeValidator(_stop_strings, json_schema_input_type=StopSent),
    ] = Field(default_factory=list)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int | None, Field(ge=1, le=2**31)] = None
    max_completion_tokens: Annotated[int | None, Field(ge=1, le=2**31)] = None
