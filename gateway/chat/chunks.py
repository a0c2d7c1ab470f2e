"""From the parts of an answer to OpenAI's chunks of a chat completion."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never

from gateway.answer import AnswerPart, CallBegan, CallPart, ReasoningPart, RefusalPart, TextPart
from gateway.answering import Answering
from gateway.chat.answer_protocol import Logprobs
from gateway.chat.envelope import completion_id, logprobs_of, now, system_fingerprint, usage_of
from gateway.envelope import member_of, sse_data
from gateway.intent import GenerationIntent
from gateway.outcome import Outcome, deciding
from gateway.record import RequestRecord

_PADDED_BYTES: Final = 64
"""With obfuscation, the size of every chunk is a multiple of this, so that packets tell less of the text."""


class ChunkWriter:
    """The `data:` lines of one stream. Every chunk has the same id and time.

    The chunks with the finish reasons come together at the end, because one choice that fails is the whole request's
    failure; the last of them carries our extension member.
    """

    def __init__(self, record: RequestRecord, answering: Answering, intent: GenerationIntent) -> None:
        self._record = record
        self._num_choices = answering.num_choices
        self._is_plain = answering.terms.composition.shape.is_plain
        self._include_usage = intent.include_usage
        self._is_obfuscated = intent.is_obfuscated
        self._customs: set[tuple[int, int]] = set()
        self._head: dict[str, Any] = {
            "id": completion_id(record),
            "object": "chat.completion.chunk",
            "created": now(),
            "model": answering.model,
            "service_tier": "default",
            "system_fingerprint": system_fingerprint(answering.terms.offer),
        }

    def roles(self) -> bytes:
        """The first chunk of each choice."""
        delta = {"role": "assistant", "content": "" if self._is_plain else None, "refusal": None}
        return b"".join(self._chunk(index, delta) for index in range(self._num_choices))

    def part(self, index: int, part: AnswerPart) -> bytes:
        """More of a choice."""
        match part:
            case TextPart(text=text, logprobs=logprobs):
                return self._chunk(index, {"content": text}, logprobs=logprobs_of(logprobs))
            case RefusalPart(text=text, logprobs=logprobs):
                return self._chunk(index, {"refusal": text}, logprobs=logprobs_of(None, logprobs))
            case ReasoningPart(text=text):
                return self._chunk(index, {"reasoning": text, "reasoning_content": text})
            case CallBegan(index=number, call_id=call_id, name=name, is_custom=is_custom):
                if is_custom:
                    self._customs.add((index, number))
                kind = "custom" if is_custom else "function"
                called = {"name": name, "input" if is_custom else "arguments": ""}
                return self._call(index, {"index": number, "id": call_id, "type": kind, kind: called})
            case CallPart(index=number, text=text):
                if (index, number) in self._customs:
                    return self._call(index, {"index": number, "custom": {"input": text}})
                return self._call(index, {"index": number, "function": {"arguments": text}})
            case _:
                assert_never(part)

    def finish(self, outcomes: Sequence[Outcome]) -> bytes:
        """The chunks with the finish reasons, the last of them with the class; then the usage, if it was asked for."""
        *others, last = outcomes
        member = member_of(deciding(outcomes), self._record).model_dump(by_alias=True)
        chunks = [self._chunk(outcome.index, {}, finish_reason=outcome.finish_reason) for outcome in others]
        chunks.append(self._chunk(last.index, {}, finish_reason=last.finish_reason, schemagate=member))
        if self._include_usage:
            chunks.append(sse_data({**self._head, "choices": [], "usage": usage_of(outcomes).model_dump()}))
        return b"".join(chunks)

    def _call(self, index: int, call: Mapping[str, Any]) -> bytes:
        return self._chunk(index, {"tool_calls": [call]})

    def _chunk(
        self,
        index: int,
        delta: Mapping[str, Any],
        *,
        logprobs: Logprobs | None = None,
        finish_reason: str | None = None,
        **extension: Any,
    ) -> bytes:
        choice = {
            "index": index,
            "delta": delta,
            "logprobs": None if logprobs is None else logprobs.model_dump(),
            "finish_reason": finish_reason,
        }
        usage = {"usage": None} if self._include_usage else {}
        chunk = {**self._head, "choices": [choice], **usage, **extension}
        if not self._is_obfuscated:
            return sse_data(chunk)
        size = len(sse_data({**chunk, "obfuscation": ""}))
        return sse_data({**chunk, "obfuscation": "-" * (-size % _PADDED_BYTES)})
