"""Wire types of what `POST /v1/responses` answers. Events carry these, and deltas between them."""

from typing import Any, Literal

from pydantic import Field

from gateway.protocol import Answered, SchemagateMember

ItemStatus = Literal["in_progress", "completed", "incomplete"]
ResponseStatus = Literal["in_progress", "completed", "incomplete", "failed"]


class TopLogprob(Answered):
    """A token that could have been picked."""

    token: str
    bytes: list[int]
    logprob: float


class Logprob(Answered):
    """A token of the text."""

    token: str
    bytes: list[int]
    logprob: float
    top_logprobs: list[TopLogprob]


class OutputTextPart(Answered):
    """Words. There are no citations here."""

    type: Literal["output_text"] = "output_text"
    text: str
    annotations: list[Any] = Field(default_factory=list)
    logprobs: list[Logprob] = Field(default_factory=list)


class OutputRefusalPart(Answered):
    """Words in which the model declines."""

    type: Literal["refusal"] = "refusal"
    refusal: str


class MessageOutput(Answered):
    """What the model said."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    status: ItemStatus
    content: list[OutputTextPart | OutputRefusalPart]


class FunctionCallOutput(Answered):
    """A function that the model calls."""

    id: str
    type: Literal["function_call"] = "function_call"
    call_id: str
    name: str
    arguments: str
    status: ItemStatus


class CustomToolCallOutput(Answered):
    """A custom tool that the model calls."""

    id: str
    type: Literal["custom_tool_call"] = "custom_tool_call"
    call_id: str
    name: str
    input: str
    status: ItemStatus


class ReasoningTextPart(Answered):
    """A thought."""

    type: Literal["reasoning_text"] = "reasoning_text"
    text: str


class ReasoningOutput(Answered):
    """What the model thought before it answered; whole, so there is no summary."""

    id: str
    type: Literal["reasoning"] = "reasoning"
    summary: list[Any] = Field(default_factory=list)
    content: list[ReasoningTextPart]
    encrypted_content: None = None
    status: ItemStatus


OutputItem = MessageOutput | FunctionCallOutput | CustomToolCallOutput | ReasoningOutput


class IncompleteDetails(Answered):
    """Why the answer is not whole."""

    reason: Literal["max_output_tokens", "content_filter"]


class ResponseError(Answered):
    """Why a stream failed, in OpenAI's closed list of codes; our own code is in `schemagate.error`."""

    code: Literal["server_error"] = "server_error"
    message: str
    type: str
    param: str | None


class InputTokensDetails(Answered):
    """Of the input's tokens."""

    cached_tokens: int = 0
    """That an earlier request of the same tenant had computed."""
    cache_write_tokens: int = 0


class OutputTokensDetails(Answered):
    """What of the output was thought."""

    reasoning_tokens: int


class ResponseUsage(Answered):
    """OpenAI's counts."""

    input_tokens: int
    input_tokens_details: InputTokensDetails = InputTokensDetails()
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int


class TextMember(Answered):
    """The format that was asked for."""

    format: Any
    verbosity: str


class ReasoningMember(Answered):
    """What was asked of reasoning."""

    effort: str | None
    summary: str | None


class FailedMember(SchemagateMember):
    """The extension member of a stream that failed: `error` is what an unstreamed request is answered with."""

    error: dict[str, Any]


class ResponseObject(Answered):
    """200 of an unstreamed request, and `response` in events. Nothing is stored, so there is no conversation."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None = None
    status: ResponseStatus
    background: Literal[False] = False
    error: ResponseError | None = None
    incomplete_details: IncompleteDetails | None = None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: dict[str, str]
    model: str
    output: list[OutputItem] = Field(default_factory=list)
    parallel_tool_calls: bool
    previous_response_id: None = None
    prompt_cache_key: str | None
    reasoning: ReasoningMember
    safety_identifier: str | None
    service_tier: Literal["default"] = "default"
    store: Literal[False] = False
    temperature: float
    text: TextMember
    tool_choice: Any
    tools: list[Any]
    top_logprobs: int
    top_p: float
    truncation: Literal["disabled"] = "disabled"
    usage: ResponseUsage | None = None
    user: str | None
    schemagate: FailedMember | SchemagateMember | None = None
