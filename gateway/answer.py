"""What a model said, in parts: thought, words, a refusal, calls of tools. Every API writes its answers from these."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

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


class AnswerInParts:
    """Puts an answer together from its parts, so that a stream and a whole answer cannot differ."""

    def __init__(self, *, is_plain: bool) -> None:
        self._is_plain = is_plain
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[tuple[CallBegan, list[str]]] = []
        self._logprobs: list[TokenLogprob] | None = None
        self._refusal_logprobs: list[TokenLogprob] | None = None

    def add(self, part: AnswerPart) -> None:
        """The next part."""
        match part:
            case TextPart(text=text, logprobs=logprobs):
                self._texts.append(text)
                if logprobs is not None:
                    self._logprobs = self._logprobs or []
                    self._logprobs.extend(logprobs)
            case RefusalPart(text=text, logprobs=logprobs):
                self._refusals.append(text)
                if logprobs is not None:
                    self._refusal_logprobs = self._refusal_logprobs or []
                    self._refusal_logprobs.extend(logprobs)
            case ReasoningPart(text=text):
                self._thoughts.append(text)
            case CallBegan():
                self._calls.append((part, []))
            case CallPart(index=index, text=text):
                self._calls[index][1].append(text)
            case _:
                assert_never(part)

    def answer(self) -> Answer:
        """What was said so far."""
        calls = (
            Call(call_id=began.call_id, name=began.name, is_custom=began.is_custom, text="".join(texts))
            for began, texts in self._calls
        )
        return Answer(
            content="".join(self._texts) if self._texts or self._is_plain else None,
            refusal="".join(self._refusals) if self._refusals else None,
            reasoning="".join(self._thoughts) if self._thoughts else None,
            calls=tuple(calls),
            logprobs=None if self._logprobs is None else tuple(self._logprobs),
            refusal_logprobs=None if self._refusal_logprobs is None else tuple(self._refusal_logprobs),
        )
