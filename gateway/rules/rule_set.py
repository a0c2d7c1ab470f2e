"""What an operator attaches to the answers of a tenant: expressions and webhooks, each with a name and a kind."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_RULES: Final = 64
"""Of one document. All that apply to an answer share one job's CPU time."""
MAX_WEBHOOKS: Final = 8
"""Of one document; those of one kind are asked at once."""
MAX_CEL_CHARACTERS: Final = 4_000
MAX_MESSAGE_CHARACTERS: Final = 500
MAX_RULE_NAME_CHARACTERS: Final = 64
MAX_URL_CHARACTERS: Final = 2_000
MIN_TIMEOUT_SECONDS: Final = 0.05
MAX_TIMEOUT_SECONDS: Final = 10.0
DEFAULT_TIMEOUT_SECONDS: Final = 2.0


class RuleKind(StrEnum):
    """What a rule decides. The second is a step of its own: an answer can be right and not this caller's to have."""

    SEMANTIC = "semantic"
    AUTHORISATION = "authorisation"


class Target(StrEnum):
    """What of an answer a rule looks at."""

    OBJECT = "object"
    """The finished answer under a contract: its JSON value, or its text where the contract is no JSON."""
    CALL = "call"
    """Each call of a tool, by its name and its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A CEL expression that must be true. `message` is what a caller reads where it is false."""

    name: str
    kind: RuleKind
    target: Target
    cel: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A service that is asked. `fail_open` counts only where the tenant's serving policy names this webhook too."""

    name: str
    kind: RuleKind
    target: Target
    url: str
    timeout_seconds: float
    fail_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of one document, or of all documents that apply to one answer, in the order in which they decide."""

    rules: tuple[Rule, ...] = ()
    webhooks: tuple[Webhook, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked."""
        return not self.rules and not self.webhooks

    @property
    def authorises(self) -> bool:
        """Whether an answer may turn out not to be its caller's to have: then no text goes out before that is known."""
        kinds = [rule.kind for rule in self.rules] + [webhook.kind for webhook in self.webhooks]
        return RuleKind.AUTHORISATION in kinds

    def with_more(self, other: "RuleSet") -> "RuleSet":
        """Both, `self` first. Nothing is replaced: a narrower document adds rules and never takes one away."""
        return RuleSet(rules=self.rules + other.rules, webhooks=self.webhooks + other.webhooks)
