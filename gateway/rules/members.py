"""Rules' results in the words of the API."""

from typing import Literal, assert_never

from gateway.completion import NotAsked
from gateway.protocol import RuleMember
from gateway.rules.verdict import (
    Failed,
    FailedOpen,
    NotApplicable,
    Passed,
    RuleResult,
    RulesVerdict,
    RuleVerdict,
    Unasked,
    Undecided,
)

VerdictWord = Literal["passed", "failed", "unjudged", "failed_open", "not_applicable", "not_asked"]


def rule_members(rules: RulesVerdict | NotAsked) -> list[RuleMember]:
    """One member a rule, in the order in which they decide."""
    return [] if isinstance(rules, NotAsked) else [_member(result) for result in rules.results]


def verdict_word(verdict: RuleVerdict) -> VerdictWord:
    """A verdict in one word, for answers and metrics."""
    match verdict:
        case Passed():
            return "passed"
        case Failed():
            return "failed"
        case Undecided():
            return "unjudged"
        case FailedOpen():
            return "failed_open"
        case NotApplicable():
            return "not_applicable"
        case Unasked():
            return "not_asked"
        case _:
            assert_never(verdict)


def _member(result: RuleResult) -> RuleMember:
    return RuleMember(
        name=result.name,
        kind=result.kind.value,
        source=result.source.value,
        verdict=verdict_word(result.verdict),
        message=_message(result.verdict),
    )


def _message(verdict: RuleVerdict) -> str | None:
    match verdict:
        case Failed(message=message):
            return message
        case Undecided(fault=fault) | FailedOpen(fault=fault):
            return fault.value
        case Passed() | NotApplicable() | Unasked():
            return None
        case _:
            assert_never(verdict)
