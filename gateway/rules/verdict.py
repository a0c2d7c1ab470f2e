"""What the rules say of a finished answer: one result a rule, and the one that decides."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from gateway.rules.rule_set import RuleKind


class RuleSource(StrEnum):
    """Where a rule is evaluated."""

    CEL = "cel"
    WEBHOOK = "webhook"


class RuleFault(StrEnum):
    """Why a rule has no verdict; a closed list. None of them is ever taken for a yes."""

    EVALUATION = "evaluation"
    """The expression failed: a member that is not there, an overflow, types that do not go together."""
    NOT_BOOLEAN = "not_boolean"
    """The expression's value is neither true nor false."""
    UNREPRESENTABLE = "unrepresentable"
    """The answer holds what CEL would change: a whole number beyond 64 bits, a fraction beyond a double, U+0000."""
    TIME = "time"
    """The rules ran over their CPU time and their process was killed."""
    CRASHED = "crashed"
    """The process died (memory, a fault) and was replaced."""
    BUSY = "busy"
    """No process, or no connection, came free in time."""
    UNREADABLE = "unreadable"
    """The rule is not one that this version compiles."""
    NO_SECRET = "no_secret"  # noqa: S105 - a word of a list, no secret
    """The gateway has no secret to sign this webhook's requests with."""
    REFUSED_ADDRESS = "refused_address"
    """The webhook's origin is not listed, or its name leads to an address that is not to be reached."""
    UNREACHABLE = "unreachable"
    """No connection, no such name, or the connection broke."""
    SILENT = "silent"
    """The webhook did not answer within its time."""
    BAD_ANSWER = "bad_answer"
    """Another status than 200 (a redirect too), too long, or not the JSON object that is asked for."""


LASTING_FAULTS: Final = frozenset(
    {
        RuleFault.EVALUATION,
        RuleFault.NOT_BOOLEAN,
        RuleFault.UNREPRESENTABLE,
        RuleFault.UNREADABLE,
        RuleFault.NO_SECRET,
        RuleFault.REFUSED_ADDRESS,
    }
)
"""Another answer would most likely meet them too: stock clients are told not to ask again by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The rule holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The rule does not hold; `message` is for the caller."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """The rule gave no verdict."""

    fault: RuleFault


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedOpen:
    """A webhook gave no verdict, and the operator's policy says by name that this fails no answer."""

    fault: RuleFault


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplicable:
    """The answer has nothing that the rule looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """Another rule has decided already, and asking would have sent the answer elsewhere for nothing."""


RuleVerdict: TypeAlias = Passed | Failed | Undecided | FailedOpen | NotApplicable | Unasked


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """One rule's verdict on the answer."""

    name: str
    kind: RuleKind
    source: RuleSource
    verdict: RuleVerdict

    @property
    def is_open(self) -> bool:
        """Whether the answer may stand as far as this rule goes."""
        return not isinstance(self.verdict, Failed | Undecided)


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesVerdict:
    """All results: semantic rules, semantic webhooks, then authorisation in the same order."""

    results: tuple[RuleResult, ...]

    @property
    def deciding(self) -> RuleResult | None:
        """The result that makes the answer fail; None where every rule that was asked holds.

        The first refusal; where nothing refuses, the first rule without a verdict.
        """
        refused = next((result for result in self.results if isinstance(result.verdict, Failed)), None)
        return refused or next((result for result in self.results if isinstance(result.verdict, Undecided)), None)


NO_RULES = RulesVerdict(results=())
"""The verdict where no rule applies."""
