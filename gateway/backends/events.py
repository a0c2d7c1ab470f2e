"""What comes from a backend that is not ours, as the pipeline takes it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from inference_node.protocol import ChatMessage, Sampling, TokenEvent, Usage
from registry.contract import JsonValue

UpstreamEnd = Literal[
    "end_of_sequence",  # `stop`
    "max_tokens",  # `length`
    "stop_string",  # `stop`, and the server says which string it was
    "content_filter",  # the server took the rest away
    "model_refused",  # the answer stands in `refusal`
    "engine_failed",  # an error in the stream, or an end that is none of the API's
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalText:
    """More of the words in which the model declines; the server tells them apart from an answer's."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamFinish:
    """The last event, exactly one. `usage` is the server's count, or ours where it gave none."""

    end: UpstreamEnd
    usage: Usage
    num_repairs: int = 0
    """How often the model was told of a fault before this answer; the usage is of all of them."""
    is_hinted: bool = False
    """Whether the server was told of the contract, and took it."""
    message: str | None = None
    """For the log."""


UpstreamEvent = TokenEvent | RefusalText | UpstreamFinish
"""A token event here is some text: the server says neither tokens nor states of a grammar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamRequest:
    """One answer to be asked for. A contract is in it as a hint at most: what comes is validated as if it were not."""

    messages: tuple[ChatMessage, ...]
    sampling: Sampling
    max_tokens: int | None
    stop: tuple[str, ...]
    response_format: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAnswer:
    """An answer that has begun."""

    events: AsyncIterator[UpstreamEvent]
