"""Wire types of a chat completion's answer."""

from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.protocol import Answered, FinishReason, SchemagateMember


def _is_none(value: Any) -> bool:
    return value is None


_IF_THERE = Field(exclude_if=_is_none)
"""Left out where there is none, as OpenAI does with members that stock clients test for presence."""


class PromptTokensDetails(Answered):
    """Of the prompt's tokens."""

    cached_tokens: int = 0
    """That an earlier request of the same tenant had computed."""
    audio_tokens: int = 0


class CompletionTokensDetails(Answered):
    """Of the answer's tokens."""

    reasoning_tokens: int = 0
    audio_tokens: int = 0
    accepted_prediction_tokens: int = 0
    """Drafted by the node, and what the model would have written: a part of the answer's tokens."""
    rejected_prediction_tokens: int = 0
    """Drafted and not written: no part of the answer's tokens, and not charged."""


class Usage(Answered):
    """OpenAI's usage: the prompt once, the answers of all choices."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails = PromptTokensDetails()
    completion_tokens_details: CompletionTokensDetails = CompletionTokensDetails()


class TopLogprobMember(Answered):
    """A token that could have been picked; `bytes` because a token need not be whole characters."""

    token: str
    bytes: list[int]
    logprob: float


class LogprobMember(TopLogprobMember):
    """A token of the answer."""

    top_logprobs: list[TopLogprobMember]


class Logprobs(Answered):
    """`logprobs` of a choice, or of a chunk of one."""

    content: list[LogprobMember] | None = None
    refusal: list[LogprobMember] | None = None


class FunctionCalled(Answered):
    """Which function, with which arguments: JSON text that satisfies the tool's parameters."""

    name: str
    arguments: str


class CustomCalled(Answered):
    """Which custom tool, with which input."""

    name: str
    input: str


class FunctionToolCall(Answered):
    """A call of a function."""

    id: str
    type: Literal["function"] = "function"
    function: FunctionCalled


class CustomToolCall(Answered):
    """A call of a custom tool."""

    id: str
    type: Literal["custom"] = "custom"
    custom: CustomCalled


class AnsweredMessage(Answered):
    """The assistant's turn. Of servers with a span of thought, some say `reasoning` and some `reasoning_content`."""

    role: Literal["assistant"] = "assistant"
    content: str | None
    refusal: str | None = None
    annotations: list[Any] = Field(default_factory=list)
    tool_calls: Annotated[list[FunctionToolCall | CustomToolCall] | None, _IF_THERE] = None
    reasoning: Annotated[str | None, _IF_THERE] = None
    reasoning_content: Annotated[str | None, _IF_THERE] = None


class Choice(Answered):
    """One choice."""

    index: int
    message: AnsweredMessage
    finish_reason: FinishReason
    logprobs: Logprobs | None = None


class ChatCompletion(Answered):
    """200 of an unstreamed request."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    service_tier: Literal["default"] = "default"
    system_fingerprint: str
    schemagate: SchemagateMember
