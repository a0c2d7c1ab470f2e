"""What a tenant lets its callers do with its models, per family of contracts; pure values and one function.

A caller cannot ask for less than the floor. What weakens a contract (a validator in the grammar's place, a repair, a
model without a grammar) is off until it is allowed here, and is labelled wherever it is used.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Floor(StrEnum):
    """The least that a contract is enforced with, weakest last."""

    STRICT = "strict"
    """Every keyword is in the grammar, or the contract is refused, whatever `strict` a caller sends."""
    CHECKED = "checked"
    """What cannot be in the grammar may be left to the validator, where the caller does not ask for `strict`."""


class Downgrade(StrEnum):
    """What may stand in for a grammar where a backend has none, weakest last."""

    NONE = "none"
    """Nothing: the request is refused with `capability_unavailable`, before a token is spent."""
    VALIDATE = "validate"
    """The finished text is validated, and is `invalid` where it fails."""
    REPAIR = "repair"
    """The same, and a text that fails is sent back to the model with the fault, a bounded number of times."""


class StreamMode(StrEnum):
    """How a stream treats text that may yet be reclassified."""

    PROVISIONAL = "provisional"
    """Text is sent as it comes; the terminal event says what it was."""
    HOLD_BACK = "hold_back"
    """Text under a contract is sent when its verdict is there: what is delivered has been judged."""


class HostedTools(StrEnum):
    """What becomes of a tool that another API runs itself (web search, code interpreter …)."""

    REFUSE = "refuse"
    IGNORE = "ignore"
    """Left out, and reported in the answer."""


class RunningTwin(StrEnum):
    """What becomes of a request whose `Idempotency-Key` belongs to one that is still running."""

    CONFLICT = "conflict"
    JOIN = "join"
    """It waits for the first one's answer and gets the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingPolicy:
    """The rules for one tenant, or for one family of its contracts. The default is the strictest that serves."""

    floor: Floor = Floor.CHECKED
    models: frozenset[str] | None = None
    """Models that may be asked for; None: all that are there."""
    allow_tools: bool = True
    allow_streaming: bool = True
    allow_reasoning: bool = True
    max_thinking_tokens: int | None = None
    """Of the thought before one answer, whatever was asked for; None: as many as the answer may have."""
    allow_refusal: bool = False
    """Whether the model may decline in words instead of fulfilling the contract (completion class `refused`)."""
    allow_inline: bool = True
    """Whether contracts may be sent with the request; otherwise only registered ones are taken."""
    downgrade: Downgrade = Downgrade.NONE
    max_repairs: int = 1
    """Of one request, with `Downgrade.REPAIR`; each is charged."""
    stream_mode: StreamMode = StreamMode.PROVISIONAL
    hosted_tools: HostedTools = HostedTools.REFUSE
    running_twin: RunningTwin = RunningTwin.CONFLICT
    fail_open_webhooks: frozenset[str] = field(default_factory=frozenset)
    """Names of webhooks whose silence does not fail an answer. None is by default."""
