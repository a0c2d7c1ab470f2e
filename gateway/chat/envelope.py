"""From an outcome to OpenAI's shapes of a chat completion: the whole answer, and stream chunks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from gateway.chat.protocol import AnsweredMessage, ChatCompletion, Choice, Usage
from gateway.envelope import member_of, sse_data
from gateway.outcome import Outcome
from gateway.record import RequestRecord


def chat_completion(outcome: Outcome, record: RequestRecord) -> ChatCompletion:
    """The body of a 200."""
    assert outcome.finish_reason is not None
    return ChatCompletion(
        id=completion_id(record),
        created=_now(),
        model=outcome.offer.model,
        choices=[Choice(message=AnsweredMessage(content=outcome.text), finish_reason=outcome.finish_reason)],
        usage=usage_of(outcome),
        schemagate=member_of(outcome, record),
    )


class ChunkWriter:
    """The `data:` lines of one stream. Every chunk has the same id and time."""

    def __init__(self, record: RequestRecord, *, model: str, include_usage: bool) -> None:
        self._include_usage = include_usage
        self._head: dict[str, Any] = {
            "id": completion_id(record),
            "object": "chat.completion.chunk",
            "created": _now(),
            "model": model,
        }

    def role(self) -> bytes:
        """The first chunk."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None}, None)

    def text(self, text: str) -> bytes:
        """New text."""
        return self._chunk({"content": text}, None)

    def finish(self, outcome: Outcome, record: RequestRecord) -> bytes:
        """The chunk with the finish reason, which also carries the class; then the usage, if it was asked for."""
        last = self._chunk({}, outcome.finish_reason, schemagate=member_of(outcome, record).model_dump(by_alias=True))
        if not self._include_usage:
            return last
        return last + sse_data({**self._head, "choices": [], "usage": usage_of(outcome).model_dump()})

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None, **extension: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self._include_usage else {}
        return sse_data({**self._head, "choices": [choice], **usage, **extension})


def completion_id(record: RequestRecord) -> str:
    """OpenAI's prefix on the request's own id."""
    return f"chatcmpl-{record.request_id.removeprefix('req_')}"


def usage_of(outcome: Outcome) -> Usage:
    """OpenAI's three counts."""
    prompt, completion = outcome.usage.prompt_tokens, outcome.usage.completion_tokens
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


def _now() -> int:
    return int(datetime.now(UTC).timestamp())
