"""The whole cross product of what can be said of an answer, and the one thing that matters most about it."""

from functools import partial
from itertools import product
from typing import get_args

import pytest

from gateway import completion
from gateway.completion import CompletionClass, End, GatewayEnd, NotAsked, Reason, needs_verdict
from gateway.outcome import FINISH_REASONS
from gateway.problem_rows import REASONS
from gateway.rules.verdict import NO_RULES
from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict
from inference_node.protocol import StopCause

classify = partial(completion.classify, rules=NO_RULES)
"""Where no operator has attached a rule (`tests/gateway/rules/test_completion.py` for the others)."""
ENDS: tuple[End, ...] = (*get_args(StopCause), *get_args(GatewayEnd))
ACCEPTING: tuple[bool | None, ...] = (True, False, None)
VERDICTS: tuple[Verdict | NotAsked, ...] = (
    Valid(),
    Invalid(pointer="/a", keyword="pattern", message="no"),
    *(Unjudged(reason=reason, message="?") for reason in UnjudgedReason),
    NotAsked(),
)


@pytest.mark.parametrize("end", ENDS)
def test_every_combination_has_exactly_one_class_with_an_answer_or_a_reason(end: End) -> None:
    for is_constrained, accepting, verdict in product((True, False), ACCEPTING, VERDICTS):
        classified = classify(is_constrained=is_constrained, end=end, accepting=accepting, verdict=verdict)
        assert (classified.completion in FINISH_REASONS) == (classified.reason is None), (is_constrained, accepting)


@pytest.mark.parametrize("end", ENDS)
def test_a_contract_is_complete_only_if_matcher_and_validator_agree_at_a_clean_end(end: End) -> None:
    for accepting, verdict in product(ACCEPTING, VERDICTS):
        classified = classify(is_constrained=True, end=end, accepting=accepting, verdict=verdict)
        if classified.completion is CompletionClass.COMPLETE:
            assert accepting is True
            assert verdict == Valid()
            assert end in {"end_of_sequence", "grammar_end", "stop_string"}


@pytest.mark.parametrize("end", ENDS)
def test_the_validator_is_asked_exactly_where_its_verdict_decides(end: End) -> None:
    for is_constrained, accepting in product((True, False), ACCEPTING):
        classes = {
            classify(is_constrained=is_constrained, end=end, accepting=accepting, verdict=verdict)
            for verdict in VERDICTS
        }
        assert needs_verdict(is_constrained=is_constrained, end=end, accepting=accepting) == (len(classes) > 1)


CONSTRAINED = {
    # end: (class when accepting and valid, class when not accepting)
    "end_of_sequence": ("complete", "backend_failed"),
    "grammar_end": ("complete", "backend_failed"),
    "max_tokens": ("truncated", "truncated"),  # a cut number parses: 12 of 123
    "context_full": ("truncated", "truncated"),
    "stop_string": ("complete", "stopped"),
    "dead_end": ("impossible", "impossible"),
    "grammar_failed": ("backend_failed", "backend_failed"),
    "engine_failed": ("backend_failed", "backend_failed"),
    "cancelled": ("backend_failed", "backend_failed"),
    "saved": ("backend_failed", "backend_failed"),
    "node_lost": ("backend_failed", "backend_failed"),
    "deadline_passed": ("backend_failed", "backend_failed"),
    "caller_gone": ("cancelled", "cancelled"),
    "content_filter": ("backend_failed", "backend_failed"),  # no matcher speaks there
    "model_refused": ("backend_failed", "backend_failed"),
}
UNCONSTRAINED = {
    "end_of_sequence": "complete",
    "max_tokens": "truncated",
    "context_full": "truncated",
    "stop_string": "stopped",
    "grammar_end": "backend_failed",
    "dead_end": "backend_failed",
    "grammar_failed": "backend_failed",
    "engine_failed": "backend_failed",
    "cancelled": "backend_failed",
    "saved": "backend_failed",
    "node_lost": "backend_failed",
    "deadline_passed": "backend_failed",
    "caller_gone": "cancelled",
    "content_filter": "refused",
    "model_refused": "refused",
}
ALONE = {
    # end: (class when valid, class when invalid, class when nobody was asked)
    "end_of_sequence": ("complete", "invalid", "backend_failed"),
    "stop_string": ("complete", "stopped", "backend_failed"),
    "max_tokens": ("truncated", "truncated", "truncated"),
    "context_full": ("truncated", "truncated", "truncated"),
    "content_filter": ("refused", "refused", "refused"),
    "model_refused": ("refused", "refused", "refused"),
    "caller_gone": ("cancelled", "cancelled", "cancelled"),
}
"""Where the validator stands alone; every other end is `backend_failed`."""


@pytest.mark.parametrize("end", ENDS)
def test_under_a_contract_the_table_of_the_design_holds(end: End) -> None:
    accepted, unaccepted = CONSTRAINED[end]
    assert classify(is_constrained=True, end=end, accepting=True, verdict=Valid()).completion == accepted
    assert classify(is_constrained=True, end=end, accepting=False, verdict=NotAsked()).completion == unaccepted


@pytest.mark.parametrize("end", ENDS)
def test_without_a_contract_the_stop_cause_decides(end: End) -> None:
    classified = classify(is_constrained=False, end=end, accepting=None, verdict=NotAsked())
    assert classified.completion == UNCONSTRAINED[end]


@pytest.mark.parametrize("end", [end for end in ENDS if CONSTRAINED[end][0] == "complete"])
def test_an_accepted_object_that_breaks_the_contract_is_invalid(end: End) -> None:
    verdict = Invalid(pointer="/a", keyword="uniqueItems", message="no")
    classified = classify(is_constrained=True, end=end, accepting=True, verdict=verdict)
    assert (classified.completion, classified.reason) == (CompletionClass.INVALID, Reason.FAILED_VALIDATION)


@pytest.mark.parametrize("verdict", [each for each in VERDICTS if isinstance(each, Unjudged | NotAsked)])
def test_an_accepted_object_without_a_verdict_is_never_complete(verdict: Unjudged | NotAsked) -> None:
    classified = classify(is_constrained=True, end="grammar_end", accepting=True, verdict=verdict)
    assert (classified.completion, classified.reason) == (CompletionClass.BACKEND_FAILED, Reason.NOT_JUDGED)


@pytest.mark.parametrize("accepting", [True, False])
def test_a_node_that_says_text_was_under_a_grammar_is_not_believed(*, accepting: bool) -> None:
    classified = classify(is_constrained=False, end="end_of_sequence", accepting=accepting, verdict=NotAsked())
    assert classified.reason is Reason.CONTRADICTION


def test_a_node_that_decoded_a_contract_without_a_grammar_is_not_believed() -> None:
    classified = classify(is_constrained=True, end="end_of_sequence", accepting=None, verdict=Valid())
    assert classified.reason is Reason.CONTRADICTION


@pytest.mark.parametrize("end", ENDS)
def test_a_validator_alone_decides_where_the_backend_ended_of_itself(end: End) -> None:
    invalid = Invalid(pointer="", keyword="type", message="no")
    failed = ("backend_failed",) * 3
    classes = [
        classify(is_constrained=True, end=end, accepting=None, verdict=verdict, stands_alone=True).completion
        for verdict in (Valid(), invalid, NotAsked())
    ]
    assert tuple(classes) == ALONE.get(end, failed)


@pytest.mark.parametrize("end", ENDS)
def test_a_validator_alone_is_asked_exactly_where_its_verdict_decides(end: End) -> None:
    for is_constrained, accepting, is_claimed in product((True, False), ACCEPTING, (True, False)):
        classes = {
            classify(
                is_constrained=is_constrained,
                end=end,
                accepting=accepting,
                verdict=verdict,
                stands_alone=True,
                is_claimed=is_claimed,
            )
            for verdict in VERDICTS
        }
        asked = needs_verdict(is_constrained=is_constrained, end=end, accepting=accepting, stands_alone=True)
        assert asked == (len(classes) > 1)


@pytest.mark.parametrize("end", ENDS)
def test_a_validator_alone_makes_nothing_complete_but_a_valid_text_without_a_matcher(end: End) -> None:
    for accepting, verdict, is_claimed in product(ACCEPTING, VERDICTS, (True, False)):
        classified = classify(
            is_constrained=True,
            end=end,
            accepting=accepting,
            verdict=verdict,
            stands_alone=True,
            is_claimed=is_claimed,
        )
        if classified.completion is CompletionClass.COMPLETE:
            assert accepting is None
            assert verdict == Valid()
            assert end in {"end_of_sequence", "stop_string"}


def test_a_backend_that_claims_to_enforce_and_does_not_has_failed() -> None:
    verdict = Invalid(pointer="", keyword="invalid_json", message="no")
    classified = classify(
        is_constrained=True,
        end="end_of_sequence",
        accepting=None,
        verdict=verdict,
        stands_alone=True,
        is_claimed=True,
    )
    assert (classified.completion, classified.reason) == (CompletionClass.BACKEND_FAILED, Reason.CLAIM_BROKEN)


def test_every_reason_has_a_row() -> None:
    assert set(REASONS) == set(Reason)


def test_a_thought_that_never_ends_is_cut_though_the_model_ended_it() -> None:
    for is_closed, expected in ((True, CompletionClass.COMPLETE), (False, CompletionClass.TRUNCATED)):
        classified = classify(
            is_constrained=False, end="end_of_sequence", accepting=None, verdict=NotAsked(), is_closed=is_closed
        )
        assert classified.completion is expected


@pytest.mark.parametrize("is_constrained", [True, False])
@pytest.mark.parametrize("end", ENDS)
def test_within_its_thought_no_answer_is_complete_whoever_ended_it(end: End, *, is_constrained: bool) -> None:
    accepting = False if is_constrained else None
    found = classify(is_constrained=is_constrained, end=end, accepting=accepting, verdict=NotAsked(), is_thinking=True)
    is_cut = end in {"end_of_sequence", "max_tokens", "context_full"}
    assert (found.completion is CompletionClass.TRUNCATED) is is_cut
    assert found.completion not in {CompletionClass.COMPLETE, CompletionClass.STOPPED}


def test_a_grammar_that_accepts_before_it_began_is_not_believed() -> None:
    found = classify(is_constrained=True, end="end_of_sequence", accepting=True, verdict=NotAsked(), is_thinking=True)
    assert found.completion is CompletionClass.BACKEND_FAILED
