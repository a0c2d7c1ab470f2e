"""From what a backend says of its failure, in whichever shape, to one of our own faults. Its words go no further.

Known shapes: OpenAI's nested one with a string as code, vLLM's nested one with the status as code, SGLang's flat one,
a bare string, and no JSON at all (a proxy's page, nothing).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from gateway.backends.errors import UpstreamFault, UpstreamRefusedError
from gateway.backends.protocol import FaultBody

MAX_FAULT_BYTES: Final = 64 * 1024
"""Of an error's body; what is longer is read no further, and is no JSON then."""
MAX_RETRY_SECONDS: Final = 3600.0
_MAX_LOGGED: Final = 64

_ANYTHING: Final[TypeAdapter[Any]] = TypeAdapter(Any)

_CODES: Final[Mapping[str, UpstreamFault]] = {
    "context_length_exceeded": UpstreamFault.CONTEXT_LENGTH,
    "exceed_context_size_error": UpstreamFault.CONTEXT_LENGTH,
    "string_above_max_length": UpstreamFault.CONTEXT_LENGTH,
    "content_filter": UpstreamFault.PROMPT_FILTERED,
    "content_policy_violation": UpstreamFault.PROMPT_FILTERED,
    "insufficient_quota": UpstreamFault.CREDENTIALS,
    "billing_hard_limit_reached": UpstreamFault.CREDENTIALS,
    "invalid_api_key": UpstreamFault.CREDENTIALS,
    "model_not_found": UpstreamFault.MODEL,
    "rate_limit_exceeded": UpstreamFault.OVERLOADED,
}
"""Codes, and types where they are as telling, that say more than a status."""
_CONTEXT_WORDS: Final = (
    "context length",
    "context window",
    "context size",
    "max_model_len",
    "maximum number of tokens",
    "too many tokens",
    "input is too long",
    "prompt is too long",
    "`max_new_tokens` must be",
)
"""How servers without a code for it say that a prompt is too long."""
_STATUSES: Final[Mapping[int, UpstreamFault]] = {
    401: UpstreamFault.CREDENTIALS,
    402: UpstreamFault.CREDENTIALS,
    403: UpstreamFault.CREDENTIALS,
    404: UpstreamFault.MODEL,
    408: UpstreamFault.OVERLOADED,
    413: UpstreamFault.CONTEXT_LENGTH,
    429: UpstreamFault.OVERLOADED,
    503: UpstreamFault.OVERLOADED,
    529: UpstreamFault.OVERLOADED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidFault:
    """What a backend said: for the log as far as it is code and type, for callers not at all."""

    code: str | None = None
    type: str | None = None
    message: str = ""
    status: int | None = None
    """A code that is a number is a status."""


def refusal(status: int, body: bytes, headers: Mapping[str, str]) -> tuple[UpstreamRefusedError, SaidFault]:
    """The error that an answer is which is no stream, and what it said."""
    said = read_fault(body) or SaidFault()
    fault = fault_of(status, said)
    after = retry_after(headers) if fault is UpstreamFault.OVERLOADED else None
    return UpstreamRefusedError(fault, retry_after_seconds=after), said


def fault_of(status: int, said: SaidFault) -> UpstreamFault:
    """The fault that a status and what was said with it come to. Codes say most, then words, then the status."""
    for name in (said.code, said.type):
        if name is not None and name in _CODES:
            return _CODES[name]
    if 200 <= status < 300:
        # An error in the body of a 200 has its status there, or none.
        return fault_of(said.status, said) if said.status is not None and said.status >= 400 else _of_body(said)
    if status in {400, 413, 422} and any(words in said.message for words in _CONTEXT_WORDS):
        return UpstreamFault.CONTEXT_LENGTH
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= 500:
        return UpstreamFault.FAILED
    return UpstreamFault.REQUEST if status >= 400 else UpstreamFault.UNREADABLE


def _of_body(said: SaidFault) -> UpstreamFault:
    return UpstreamFault.FAILED if said.message or said.code or said.type else UpstreamFault.UNREADABLE


def read_fault(body: bytes) -> SaidFault | None:
    """What an error's body says; None where it says nothing that is known."""
    if not body or len(body) > MAX_FAULT_BYTES:
        return None
    try:
        return fault_in(_ANYTHING.validate_json(body))
    except (ValidationError, RecursionError):
        return None


def fault_in(value: Any) -> SaidFault | None:
    """The same of a parsed body, or of the member `error` of an event."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict) and value.get("error") is not None:
        nested = value["error"]
        value = nested if isinstance(nested, dict) else {"message": nested, "type": value.get("error_type")}
    if isinstance(value, str):
        value = {"message": value}
    if not isinstance(value, dict):
        return None
    try:
        body = FaultBody.model_validate(value)
    except ValidationError:
        return None
    return SaidFault(
        code=body.code[:_MAX_LOGGED] if isinstance(body.code, str) else None,
        type=None if body.type is None else body.type[:_MAX_LOGGED],
        message="" if body.message is None else body.message.lower(),
        status=body.code if isinstance(body.code, int) else None,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """In how many seconds a backend says that asking again makes sense; None where it does not say."""
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, MAX_RETRY_SECONDS)
    sent = headers.get("retry-after")
    seconds = _seconds(sent)
    if seconds is None and sent is not None:
        seconds = _until(sent)
    return None if seconds is None else min(seconds, MAX_RETRY_SECONDS)


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
