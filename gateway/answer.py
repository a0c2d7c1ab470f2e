"""What a model said, in parts: thought, words, a refusal, calls of tools. Every API writes its answers from these."""

from collections.abc import Sequence
from dataclasses import dataclass

from inference_node.protocol import TokenLogprob


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """More of the answer's text."""

    text: str
    logprobs: Sequence[TokenLogprob] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalPart:
    """More of the words in which the model declines."""

    text: str
    logprobs: Sequence[TokenLogprob] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningPart:
    """More of the thought before the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBegan:
    """The model calls a tool. `index` counts the calls of one choice from 0; `call_id` is ours."""

    index: int
    call_id: str
    name: str
    is_custom: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPart:
    """More of the arguments (JSON text) of a function's call, or of the input of a custom tool's."""

    index: int
    text: str


AnswerPart = TextPart | RefusalPart | ReasoningPart | CallBegan | CallPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A whole call. `text` is the arguments or the input."""

    call_id: str
    name: str
    is_custom: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """All that one choice said. `content` is None where there was no text (a call, a refusal)."""

    content: str | None
    refusal: str | None = None
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    logprobs: tuple[TokenLogprob, ...] | None = None
    refusal_logprobs: tuple[TokenLogprob, ...] | None = None
