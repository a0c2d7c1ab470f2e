"""Wire types of the items in `input` of `POST /v1/responses`.

A member that only another kind of item, or another server, uses is known and may only be empty.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.protocol import Sent

ItemStatus = Literal["in_progress", "completed", "incomplete"]
MAX_CALL_ID_CHARACTERS = 64
CallId = Annotated[str, Field(min_length=1, max_length=MAX_CALL_ID_CHARACTERS)]


class DirectCaller(Sent):
    """`caller` of a call that the model made itself."""

    type: Literal["direct"]


class InputText(Sent):
    """A content part of what a user, or a tool, says."""

    type: Literal["input_text"]
    text: str
    prompt_cache_breakpoint: Any = None


class OutputText(Sent):
    """A content part of what the assistant said in an earlier turn."""

    type: Literal["output_text"]
    text: str
    annotations: list[Any] | None = None
    logprobs: list[Any] | None = None
    parsed: Any = None
    """The stock client's own member, in answers that it has parsed."""


class OutputRefusal(Sent):
    """A content part in which the assistant declined."""

    type: Literal["refusal"]
    refusal: str


class MessageItem(Sent):
    """A turn. Items without a `type` are messages."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: Any
    id: str | None = None
    status: ItemStatus | None = None
    phase: Literal["commentary", "final_answer"] | None = None


class FunctionCallItem(Sent):
    """A call of a function in an earlier turn."""

    type: Literal["function_call"]
    call_id: CallId
    name: Annotated[str, Field(min_length=1, max_length=64)]
    arguments: str
    id: str | None = None
    status: ItemStatus | None = None
    namespace: None = None
    caller: DirectCaller | None = None
    async_: Annotated[Literal[False] | None, Field(alias="async")] = None
    parsed_arguments: Any = None
    """The stock client's own member, in answers that it has parsed."""


class FunctionCallOutputItem(Sent):
    """What a called function gave."""

    type: Literal["function_call_output"]
    call_id: CallId
    output: Any
    id: str | None = None
    status: ItemStatus | None = None
    name: str | None = None
    namespace: None = None
    caller: DirectCaller | None = None


class CustomToolCallItem(Sent):
    """A call of a custom tool in an earlier turn."""

    type: Literal["custom_tool_call"]
    call_id: CallId
    name: Annotated[str, Field(min_length=1, max_length=64)]
    input: str
    id: str | None = None
    status: ItemStatus | None = None
    namespace: None = None
    caller: DirectCaller | None = None
    async_: Annotated[Literal[False] | None, Field(alias="async")] = None


class CustomToolCallOutputItem(Sent):
    """What a called custom tool gave."""

    type: Literal["custom_tool_call_output"]
    call_id: CallId
    output: Any
    id: str | None = None
    status: ItemStatus | None = None
    name: str | None = None
    namespace: None = None
    caller: DirectCaller | None = None


class ReasoningItem(Sent):
    """A thought of an earlier turn."""

    type: Literal["reasoning"]
    id: str | None = None
    summary: list[Any] | None = None
    content: list[Any] | None = None
    encrypted_content: str | None = None
    status: ItemStatus | None = None


InputItem = (
    MessageItem
    | FunctionCallItem
    | FunctionCallOutputItem
    | CustomToolCallItem
    | CustomToolCallOutputItem
    | ReasoningItem
)
