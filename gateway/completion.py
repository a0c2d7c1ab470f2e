"""The one place that decides what an answer is.

Three statements meet here: why decoding stopped, whether the matcher accepts exactly the text that was sent, and what
the independent validator says. Nothing else in the product makes an answer `complete`, and nothing looks at the text.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias, assert_never

from gateway.validation.verdict import Invalid, Unjudged, Valid, Verdict
from inference_node.protocol import StopCause

GatewayEnd = Literal[
    "node_lost",  # the stream broke off without its finish event
    "deadline_passed",  # the request's own time was over
    "caller_gone",  # nobody reads any more
]
End: TypeAlias = "StopCause | GatewayEnd"


class CompletionClass(StrEnum):
    """One class per answer."""

    COMPLETE = "complete"
    REFUSED = "refused"
    """The model took the branch in which it declines; an answer, and final."""
    TRUNCATED = "truncated"
    STOPPED = "stopped"
    IMPOSSIBLE = "impossible"
    INVALID = "invalid"
    BACKEND_FAILED = "backend_failed"
    CANCELLED = "cancelled"


class Reason(StrEnum):
    """Why a class that is no success was reached; finer than the class, for callers and operators."""

    NO_CONTINUATION = "no_continuation"
    FAILED_VALIDATION = "failed_validation"
    NOT_JUDGED = "not_judged"
    """The validator gave no verdict: without one, nothing is complete."""
    NODE_LOST = "node_lost"
    NODE_STOPPED = "node_stopped"
    ENGINE_FAILED = "engine_failed"
    GRAMMAR_FAILED = "grammar_failed"
    CONTRADICTION = "contradiction"
    """Two statements of the node exclude each other; neither is believed."""
    DEADLINE_PASSED = "deadline_passed"
    CALLER_GONE = "caller_gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAsked:
    """The validator was not asked, because nothing was accepted or there is no contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """`reason` is None for `complete`, `refused`, `truncated` and `stopped`, which are answers; the rest are errors."""

    completion: CompletionClass
    reason: Reason | None = None


_TRUNCATED = Classified(completion=CompletionClass.TRUNCATED)
_STOPPED = Classified(completion=CompletionClass.STOPPED)
_IMPOSSIBLE = Classified(completion=CompletionClass.IMPOSSIBLE, reason=Reason.NO_CONTINUATION)


def needs_verdict(*, is_constrained: bool, end: End, accepting: bool | None) -> bool:
    """Whether the validator has to be asked: exactly where its verdict decides (see `classify`)."""
    return is_constrained and accepting is True and end in ("end_of_sequence", "grammar_end", "stop_string")


def classify(
    *, is_constrained: bool, end: End, accepting: bool | None, verdict: Verdict | NotAsked, is_refusal: bool = False
) -> Classified:
    """The class of an answer. Total: every combination has one, and what makes no sense is `backend_failed`.

    `is_refusal` says which branch of the grammar the answer is in; a branch that is not finished has no say.
    """
    match end:
        case "caller_gone":
            return Classified(completion=CompletionClass.CANCELLED, reason=Reason.CALLER_GONE)
        case "node_lost":
            return _failed(Reason.NODE_LOST)
        case "deadline_passed":
            return _failed(Reason.DEADLINE_PASSED)
        case "engine_failed":
            return _failed(Reason.ENGINE_FAILED)
        case "grammar_failed":
            return _failed(Reason.GRAMMAR_FAILED)
        case "cancelled":  # the caller is still here, so the node stopped on its own account
            return _failed(Reason.NODE_STOPPED)
        case _:
            pass
    if is_constrained:
        classified = _constrained(end=end, accepting=accepting, verdict=verdict)
        if is_refusal and classified.completion is CompletionClass.COMPLETE:
            return Classified(completion=CompletionClass.REFUSED)
        return classified
    return _unconstrained(end=end, accepting=accepting)


def _constrained(
    *,
    end: Literal["end_of_sequence", "grammar_end", "max_tokens", "context_full", "stop_string", "dead_end"],
    accepting: bool | None,
    verdict: Verdict | NotAsked,
) -> Classified:
    if accepting is None:  # a contract was sent and the node decoded without one
        return _failed(Reason.CONTRADICTION)
    match end:
        case "dead_end":
            return _IMPOSSIBLE
        case "end_of_sequence" | "grammar_end":
            # The grammar allows an end only where it accepts.
            return _judged(verdict) if accepting else _failed(Reason.CONTRADICTION)
        case "max_tokens" | "context_full":
            # Never complete, even where the matcher accepts: it could have gone on, as `12` could have become `123`.
            # Where budget and grammar end on the same token, the node says `grammar_end`.
            return _TRUNCATED
        case "stop_string":
            return _judged(verdict) if accepting else _STOPPED
        case _:
            assert_never(end)


def _judged(verdict: Verdict | NotAsked) -> Classified:
    """The matcher accepts; the validator decides."""
    match verdict:
        case Valid():
            return Classified(completion=CompletionClass.COMPLETE)
        case Invalid():
            return Classified(completion=CompletionClass.INVALID, reason=Reason.FAILED_VALIDATION)
        case Unjudged() | NotAsked():
            return _failed(Reason.NOT_JUDGED)
        case _:
            assert_never(verdict)


def _unconstrained(
    *,
    end: Literal["end_of_sequence", "grammar_end", "max_tokens", "context_full", "stop_string", "dead_end"],
    accepting: bool | None,
) -> Classified:
    """Text without a contract: nothing to accept, so the stop cause alone decides."""
    if accepting is not None:  # no contract was sent and the node decoded under one
        return _failed(Reason.CONTRADICTION)
    match end:
        case "end_of_sequence":
            return Classified(completion=CompletionClass.COMPLETE)
        case "max_tokens" | "context_full":
            return _TRUNCATED
        case "stop_string":
            return _STOPPED
        case "grammar_end" | "dead_end":
            return _failed(Reason.CONTRADICTION)
        case _:
            assert_never(end)


def _failed(reason: Reason) -> Classified:
    return Classified(completion=CompletionClass.BACKEND_FAILED, reason=reason)
