"""What rules change about an answer's class: a valid object fails by them, and nothing becomes complete by them."""

from itertools import product
from typing import get_args

import pytest

from gateway.completion import Classified, CompletionClass, End, GatewayEnd, NotAsked, Reason, classify
from gateway.rules.rule_set import RuleKind
from gateway.rules.verdict import (
    NO_RULES,
    Failed,
    FailedOpen,
    NotApplicable,
    Passed,
    RuleFault,
    RuleResult,
    RuleSource,
    RulesVerdict,
    RuleVerdict,
    Unasked,
    Undecided,
)
from gateway.validation.verdict import Invalid, Unjudged, UnjudgedReason, Valid, Verdict
from inference_node.protocol import StopCause

ENDS: tuple[End, ...] = (*get_args(StopCause), *get_args(GatewayEnd))
PASSED, UNASKED, NOTHING = Passed(), Unasked(), NotApplicable()
FAILED = Failed(message="no")
OPEN = FailedOpen(fault=RuleFault.SILENT)
GIVEN: tuple[RuleVerdict, ...] = (PASSED, FAILED, OPEN, NOTHING, UNASKED)
SEMANTIC, AUTHORISATION = RuleKind.SEMANTIC, RuleKind.AUTHORISATION


def said(*verdicts: tuple[RuleKind, RuleVerdict]) -> RulesVerdict:
    """Rules that say so, in that order."""
    return RulesVerdict(
        results=tuple(
            RuleResult(name=f"r{number}", kind=kind, source=RuleSource.CEL, verdict=verdict)
            for number, (kind, verdict) in enumerate(verdicts)
        )
    )


def undecided(fault: RuleFault = RuleFault.TIME) -> Undecided:
    """No verdict."""
    return Undecided(fault=fault)


RULES: tuple[RulesVerdict | NotAsked, ...] = (
    NotAsked(),
    NO_RULES,
    *(said((kind, verdict)) for kind, verdict in product(RuleKind, GIVEN)),
    *(said((kind, undecided(fault))) for kind, fault in product(RuleKind, RuleFault)),
)
VERDICTS: tuple[Verdict | NotAsked, ...] = (
    Valid(),
    Invalid(pointer="/a", keyword="pattern", message="no"),
    Unjudged(reason=UnjudgedReason.TIME, message="?"),
    NotAsked(),
)


def of(rules: RulesVerdict | NotAsked) -> Classified:
    """The class of a valid object."""
    return classify(is_constrained=True, end="grammar_end", accepting=True, verdict=Valid(), rules=rules)


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_complete_by_rules_that_would_not_be_without_them(end: End) -> None:
    for is_constrained, accepting, verdict, rules, authorise in product(
        (True, False), (True, False, None), VERDICTS, RULES, (True, False)
    ):
        classified = classify(
            is_constrained=is_constrained,
            end=end,
            accepting=accepting,
            verdict=verdict,
            rules=rules,
            must_authorise=authorise,
        )
        without = classify(is_constrained=is_constrained, end=end, accepting=accepting, verdict=verdict, rules=NO_RULES)
        if classified.completion is CompletionClass.COMPLETE:
            assert without == classified
            assert not is_constrained or (isinstance(rules, RulesVerdict) and rules.deciding is None)
        if without.reason is not None:
            assert classified == without


@pytest.mark.parametrize(
    ("rules", "completion", "reason"),
    [
        (NO_RULES, CompletionClass.COMPLETE, None),
        (said((SEMANTIC, PASSED), (AUTHORISATION, PASSED)), CompletionClass.COMPLETE, None),
        (said((SEMANTIC, OPEN), (SEMANTIC, NOTHING)), CompletionClass.COMPLETE, None),
        (said((SEMANTIC, FAILED), (AUTHORISATION, PASSED)), CompletionClass.INVALID, Reason.FAILED_RULE),
        (said((SEMANTIC, PASSED), (AUTHORISATION, FAILED)), CompletionClass.INVALID, Reason.NOT_AUTHORISED),
        (said((SEMANTIC, FAILED), (AUTHORISATION, FAILED)), CompletionClass.INVALID, Reason.FAILED_RULE),
        (said((SEMANTIC, undecided()), (AUTHORISATION, FAILED)), CompletionClass.INVALID, Reason.NOT_AUTHORISED),
        (
            said((SEMANTIC, PASSED), (AUTHORISATION, undecided())),
            CompletionClass.BACKEND_FAILED,
            Reason.RULE_NOT_JUDGED,
        ),
        (said((SEMANTIC, undecided()), (SEMANTIC, UNASKED)), CompletionClass.BACKEND_FAILED, Reason.RULE_NOT_JUDGED),
        (NotAsked(), CompletionClass.BACKEND_FAILED, Reason.RULE_NOT_JUDGED),
        (said((SEMANTIC, undecided(RuleFault.EVALUATION))), CompletionClass.BACKEND_FAILED, Reason.RULE_BROKEN),
        (said((AUTHORISATION, undecided(RuleFault.NO_SECRET))), CompletionClass.BACKEND_FAILED, Reason.RULE_BROKEN),
    ],
)
def test_the_first_refusal_decides_and_silence_is_no_yes(
    rules: RulesVerdict | NotAsked, completion: CompletionClass, reason: Reason | None
) -> None:
    assert of(rules) == Classified(completion=completion, reason=reason)


@pytest.mark.parametrize(
    ("end", "accepting", "completion"),
    [
        ("max_tokens", False, CompletionClass.TRUNCATED),
        ("max_tokens", True, CompletionClass.TRUNCATED),
        ("context_full", True, CompletionClass.TRUNCATED),
        ("stop_string", False, CompletionClass.STOPPED),
    ],
)
def test_what_ends_before_anybody_could_be_asked_is_withheld_where_rules_authorise(
    end: End,
    accepting: bool,  # noqa: FBT001 - a column of the table
    completion: CompletionClass,
) -> None:
    withheld = classify(
        is_constrained=True, end=end, accepting=accepting, verdict=NotAsked(), rules=NotAsked(), must_authorise=True
    )
    assert withheld == Classified(completion=completion, reason=Reason.WITHHELD)
    given = classify(is_constrained=True, end=end, accepting=accepting, verdict=NotAsked(), rules=NotAsked())
    assert given == Classified(completion=completion)


def test_free_words_are_under_no_rule() -> None:
    for authorise in (True, False):
        classified = classify(
            is_constrained=False,
            end="end_of_sequence",
            accepting=None,
            verdict=NotAsked(),
            rules=NotAsked(),
            must_authorise=authorise,
        )
        assert classified == Classified(completion=CompletionClass.COMPLETE)


def test_a_finished_refusal_is_no_object_that_a_rule_could_be_about() -> None:
    classified = classify(
        is_constrained=True,
        end="grammar_end",
        accepting=True,
        verdict=Valid(),
        is_refusal=True,
        rules=NO_RULES,
        must_authorise=True,
    )
    assert classified == Classified(completion=CompletionClass.REFUSED)
