"""The one place that decides what an answer is.

Three statements meet here: why decoding stopped, whether the matcher accepts exactly the text that was sent, and what
the independent validator says. Nothing else in the product makes an answer `complete`, and nothing looks at the text.
Where a serving policy lets the validator stand alone, there are two; the caller of `classify` has to say so.
What they find complete has one more question to pass: the operators' rules, where any apply.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias, assert_never

from gateway.rules.rule_set import RuleKind
from gateway.rules.verdict import LASTING_FAULTS, Failed, RulesVerdict, Undecided
from gateway.validation.verdict import Invalid, Unjudged, Valid, Verdict
from inference_node.protocol import StopCause

GatewayEnd = Literal[
    "node_lost",  # the stream broke off without its finish event
    "deadline_passed",  # the request's own time was over
    "caller_gone",  # nobody reads any more
    "content_filter",  # a backend that is not ours took the rest away
    "model_refused",  # a backend that is not ours says that its model declines
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
    FAILED_RULE = "failed_rule"
    """A rule or webhook of the operator's finds the object wrong."""
    NOT_AUTHORISED = "not_authorised"
    """A rule or webhook of the operator's says that the object is not this caller's to have."""
    RULE_NOT_JUDGED = "rule_not_judged"
    """A rule or webhook gave no verdict: without one, nothing is complete."""
    RULE_BROKEN = "rule_broken"
    """The same, for a reason that asking again would meet again: it is the rule that has to be mended."""
    WITHHELD = "withheld"
    """Not finished, so nobody could say whether this caller may have it; its text is not given out."""
    NOT_JUDGED = "not_judged"
    """The validator gave no verdict: without one, nothing is complete."""
    NODE_LOST = "node_lost"
    NODE_STOPPED = "node_stopped"
    ENGINE_FAILED = "engine_failed"
    GRAMMAR_FAILED = "grammar_failed"
    CONTRADICTION = "contradiction"
    """Two statements of the node exclude each other; neither is believed."""
    CLAIM_BROKEN = "claim_broken"
    """A backend that says it enforces contracts ended of itself with a text that breaks this one, or with none."""
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


_NO_WORD = NotAsked()
_REFUSED = Classified(completion=CompletionClass.REFUSED)
_TRUNCATED = Classified(completion=CompletionClass.TRUNCATED)
_STOPPED = Classified(completion=CompletionClass.STOPPED)
_IMPOSSIBLE = Classified(completion=CompletionClass.IMPOSSIBLE, reason=Reason.NO_CONTINUATION)


def needs_verdict(*, is_constrained: bool, end: End, accepting: bool | None, stands_alone: bool = False) -> bool:
    """Whether the validator has to be asked: exactly where its verdict decides (see `classify`)."""
    if stands_alone:
        return is_constrained and accepting is None and end in ("end_of_sequence", "stop_string")
    return is_constrained and accepting is True and end in ("end_of_sequence", "grammar_end", "stop_string")


def classify(
    *,
    is_constrained: bool,
    end: End,
    accepting: bool | None,
    verdict: Verdict | NotAsked,
    is_refusal: bool = False,
    stands_alone: bool = False,
    is_claimed: bool = False,
    rules: RulesVerdict | NotAsked = _NO_WORD,
    must_authorise: bool = False,
    is_closed: bool = True,
    is_thinking: bool = False,
) -> Classified:
    """The class of an answer. Total: every combination has one, and what makes no sense is `backend_failed`.

    `is_refusal` says which branch of the grammar the answer is in; a branch that is not finished has no say.
    `stands_alone` says that there was no grammar and that the serving policy lets the validator decide by itself, and
    `is_claimed` that the backend says it enforces contracts. A matcher that speaks all the same is a contradiction.
    `rules` is what the rules say of an object that is valid, and `must_authorise` that some of them decide who may have
    it: then what did not get so far as to be asked about is nobody's. `is_closed` says whether text without a contract
    ended where it can: a thought before it that never ends is cut, whoever ended it. (Of others, the verdict says so.)
    `is_thinking` says that the thought before the grammar's first byte never ended: there is no answer to be complete.
    """
    decoded = _decoded(
        is_constrained=is_constrained,
        end=end,
        accepting=accepting,
        verdict=verdict,
        stands_alone=stands_alone,
        is_claimed=is_claimed,
    )
    if is_thinking and decoded.reason in {None, Reason.CONTRADICTION}:
        decoded = _cut_in_thought(end=end, accepting=accepting)
    if decoded.reason is not None:
        return decoded
    if not is_constrained:
        return decoded if is_closed or decoded.completion is not CompletionClass.COMPLETE else _TRUNCATED
    if decoded.completion is CompletionClass.COMPLETE:
        return _REFUSED if is_refusal else _ruled(rules)
    return Classified(completion=decoded.completion, reason=Reason.WITHHELD) if must_authorise else decoded


def _decoded(
    *,
    is_constrained: bool,
    end: End,
    accepting: bool | None,
    verdict: Verdict | NotAsked,
    stands_alone: bool,
    is_claimed: bool,
) -> Classified:
    """What decoding and the validator have made of it."""
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
        case "cancelled" | "saved":  # the caller is still here, so the node stopped on its own account
            return _failed(Reason.NODE_STOPPED)
        case "content_filter" | "model_refused":
            # Final, and no object: whatever text came before is given out under this class.
            return _REFUSED if accepting is None else _failed(Reason.CONTRADICTION)
        case _:
            pass
    if is_constrained and stands_alone:
        return _judged_alone(end=end, accepting=accepting, verdict=verdict, is_claimed=is_claimed)
    if is_constrained:
        return _constrained(end=end, accepting=accepting, verdict=verdict)
    return _unconstrained(end=end, accepting=accepting)


def _cut_in_thought(*, end: End, accepting: bool | None) -> Classified:
    """Whoever ended it, a model that gives up in its thought included. A grammar that has not begun accepts nothing."""
    is_cut = end in {"end_of_sequence", "max_tokens", "context_full"} and not accepting
    return _TRUNCATED if is_cut else _failed(Reason.CONTRADICTION)


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


def _judged_alone(
    *,
    end: Literal["end_of_sequence", "grammar_end", "max_tokens", "context_full", "stop_string", "dead_end"],
    accepting: bool | None,
    verdict: Verdict | NotAsked,
    is_claimed: bool,
) -> Classified:
    """No matcher: the text is what the validator says, where the backend ended it of itself."""
    if accepting is not None:  # somebody decoded under a grammar that nobody sent
        return _failed(Reason.CONTRADICTION)
    match end:
        case "end_of_sequence":
            if is_claimed and isinstance(verdict, Invalid):
                return _failed(Reason.CLAIM_BROKEN)
            return _judged(verdict)
        case "stop_string":
            return _STOPPED if isinstance(verdict, Invalid) else _judged(verdict)
        case "max_tokens" | "context_full":
            return _TRUNCATED
        case "grammar_end" | "dead_end":
            return _failed(Reason.CONTRADICTION)
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


def _ruled(rules: RulesVerdict | NotAsked) -> Classified:
    """The object is valid; the rules have the last word."""
    if isinstance(rules, NotAsked):
        return _failed(Reason.RULE_NOT_JUDGED)
    deciding = rules.deciding
    if deciding is None:
        return Classified(completion=CompletionClass.COMPLETE)
    if not isinstance(deciding.verdict, Failed):
        is_broken = isinstance(deciding.verdict, Undecided) and deciding.verdict.fault in LASTING_FAULTS
        return _failed(Reason.RULE_BROKEN if is_broken else Reason.RULE_NOT_JUDGED)
    is_forbidden = deciding.kind is RuleKind.AUTHORISATION
    reason = Reason.NOT_AUTHORISED if is_forbidden else Reason.FAILED_RULE
    return Classified(completion=CompletionClass.INVALID, reason=reason)


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
