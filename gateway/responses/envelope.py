"""From the parts of an answer and its outcome to the Response object, and to the events that lead to it."""

import json
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from gateway.answer import AnswerPart
from gateway.completion import CompletionClass
from gateway.decoding import cached_prompt_tokens
from gateway.envelope import member_of, output_error
from gateway.outcome import Outcome
from gateway.problem import Problem
from gateway.problems import problem_of
from gateway.record import RequestRecord
from gateway.responses.answer_protocol import (
    FailedMember,
    IncompleteDetails,
    InputTokensDetails,
    OutputTokensDetails,
    ReasoningMember,
    ResponseError,
    ResponseObject,
    ResponseStatus,
    ResponseUsage,
    TextMember,
)
from gateway.responses.items import Event
from gateway.responses.output import Output, parts_of
from gateway.responses.request import Echo
from registry.contract import JsonValue
from registry.text import canonical_json

STATUSES: dict[CompletionClass, ResponseStatus] = {
    CompletionClass.COMPLETE: "completed",
    CompletionClass.REFUSED: "completed",
    CompletionClass.TRUNCATED: "incomplete",
    CompletionClass.STOPPED: "incomplete",
}
"""The classes that are answers, in OpenAI's words. The others are errors."""


def status_of(outcome: Outcome) -> ResponseStatus:
    """The status of an outcome that is an answer."""
    return "incomplete" if _is_filtered(outcome) else STATUSES[outcome.classified.completion]


def _is_filtered(outcome: Outcome) -> bool:
    """Whether a backend took the rest of the answer away."""
    return outcome.finish_reason == "content_filter"


def _why_incomplete(outcome: Outcome) -> IncompleteDetails | None:
    if _is_filtered(outcome):
        return IncompleteDetails(reason="content_filter")
    is_truncated = outcome.classified.completion is CompletionClass.TRUNCATED
    return IncompleteDetails(reason="max_output_tokens") if is_truncated else None


_EXACT = frozenset({"text", "tool_choice", "tools"})
"""Members that repeat JSON of the caller's, whose numbers may be more than a double holds."""

_PADDED_BYTES = 64
"""With obfuscation, the size of every delta is a multiple of this, so that packets tell less of the text."""


class ResponseWriter:
    """Writes one answer, whole; or as events: `begun`, `take` each part, then `finish`, or `broken` instead."""

    def __init__(self, record: RequestRecord, echo: Echo, *, is_obfuscated: bool = False) -> None:
        self._record = record
        self._echo = echo
        self._is_obfuscated = is_obfuscated
        self._model = ""
        self._suffix = record.request_id.removeprefix("req_")
        self._created_at = _now()
        self._output = Output(self._suffix)
        self._num_events = 0
        # Once: three events repeat it, and it may be as long as the request.
        exact: dict[str, JsonValue] = {
            "text": {"format": echo.text_format, "verbosity": echo.verbosity},
            "tool_choice": echo.tool_choice,
            "tools": [dict(tool) for tool in echo.tools],
        }
        self._exact = _exact_json(exact)[1:]

    def begun(self, model: str) -> bytes:
        """A node has begun the answer."""
        self._model = model
        snapshot = self._response("in_progress")
        return self._lifecycle("response.created", snapshot) + self._lifecycle("response.in_progress", snapshot)

    def take(self, part: AnswerPart) -> bytes:
        """The next part."""
        return self._lines(self._output.take(part))

    def finish(self, outcome: Outcome) -> bytes:
        """The answer has its class: what is still open is done, and the terminal event says what the answer is."""
        error = output_error(outcome, self._record)
        if error is not None:
            return self._fail(problem_of(error), outcome)
        lines = self._lines(self._close(outcome))
        status = status_of(outcome)
        return lines + self._lifecycle(f"response.{status}", self._finished(outcome, status))

    def whole(self, outcome: Outcome) -> bytes:
        """The body of a 200."""
        self._model = outcome.offer.model
        for part in parts_of(outcome.answer):
            deque(self._output.take(part), maxlen=0)
        deque(self._close(outcome), maxlen=0)
        return self._finished(outcome, status_of(outcome)).encode()

    def broken(self, problem: Problem) -> bytes:
        """The terminal event where there is no outcome."""
        event = {"type": "error", "code": problem.code, "message": problem.message, "param": problem.param}
        return self._line(event)

    def _close(self, outcome: Outcome) -> Iterator[Event]:
        return self._output.finish(
            is_whole=status_of(outcome) == "completed",
            has_content=outcome.answer.content is not None,
        )

    def _fail(self, problem: Problem, outcome: Outcome) -> bytes:
        self._output.fail()
        self._record.error_code = problem.code
        said = problem.body(self._record.request_id)["error"]
        member = FailedMember(error=said, **dict(member_of(outcome, self._record)))
        error = ResponseError(message=problem.message, type=problem.type, param=problem.param)
        response = self._response("failed", error=error, usage=usage_of(outcome), schemagate=member)
        return self._lifecycle("response.failed", response)

    def _finished(self, outcome: Outcome, status: ResponseStatus) -> str:
        return self._response(
            status,
            completed_at=_now() if status == "completed" else None,
            incomplete_details=_why_incomplete(outcome),
            usage=usage_of(outcome),
            schemagate=member_of(outcome, self._record),
        )

    def _response(self, status: ResponseStatus, **members: Any) -> str:
        echo = self._echo
        response = ResponseObject(
            id=f"resp_{self._suffix}",
            created_at=self._created_at,
            status=status,
            model=self._model,
            output=self._output.told(),
            instructions=echo.instructions,
            max_output_tokens=echo.max_output_tokens,
            max_tool_calls=echo.max_tool_calls,
            metadata=dict(echo.metadata),
            parallel_tool_calls=echo.parallel_tool_calls,
            prompt_cache_key=echo.prompt_cache_key,
            reasoning=ReasoningMember(effort=echo.effort, summary=echo.summary),
            safety_identifier=echo.safety_identifier,
            temperature=echo.temperature,
            text=TextMember(format=echo.text_format, verbosity=echo.verbosity),
            tool_choice=echo.tool_choice,
            tools=list(echo.tools),
            top_logprobs=echo.top_logprobs,
            top_p=echo.top_p,
            user=echo.user,
            **members,
        )
        return f"{response.model_dump_json(by_alias=True, exclude=set(_EXACT))[:-1]},{self._exact}"

    def _lifecycle(self, kind: str, response: str) -> bytes:
        return self._sent(kind, f'{{"type":"{kind}","response":{response},"sequence_number":{self._num_events}}}')

    def _lines(self, events: Iterator[Event]) -> bytes:
        return b"".join(map(self._line, events))

    def _line(self, event: Event) -> bytes:
        numbered = {**event, "sequence_number": self._num_events}
        if self._is_obfuscated and "delta" in event:
            size = len(_compact({**numbered, "obfuscation": ""}).encode())
            numbered["obfuscation"] = "-" * (-size % _PADDED_BYTES)
        return self._sent(event["type"], _compact(numbered))

    def _sent(self, kind: str, data: str) -> bytes:
        self._num_events += 1
        return f"event: {kind}\ndata: {data}\n\n".encode()


def _exact_json(value: JsonValue) -> str:
    """JSON with the caller's own numbers. Without a fraction among them it is written in C, in a tenth of the time."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except TypeError:  # a Decimal
        return canonical_json(value)


def _compact(event: Event) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def usage_of(outcome: Outcome) -> ResponseUsage:
    """OpenAI's counts."""
    prompt, completion = outcome.usage.prompt_tokens, outcome.usage.completion_tokens
    return ResponseUsage(
        input_tokens=prompt,
        input_tokens_details=InputTokensDetails(cached_tokens=cached_prompt_tokens([outcome])),
        output_tokens=completion,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=outcome.reasoning_tokens),
        total_tokens=prompt + completion,
    )


def _now() -> int:
    return int(datetime.now(UTC).timestamp())
