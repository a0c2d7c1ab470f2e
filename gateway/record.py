"""One request as metrics, spans and the audit line will tell it: filled in on the way, written once at the end."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from compiler_pool.artifact import ArtifactKey
from gateway.auth.authenticator import Caller
from gateway.budgets.meter import Meter
from gateway.completion import NotAsked, classify
from gateway.identifiers import RequestId
from gateway.outcome import CacheTier, Downgraded, Outcome, TakenContract, deciding
from gateway.problem import Problem
from gateway.stages import StageClock
from policy.prices import Cost, Quote
from registry.contract import ContractDigest
from registry.revision import ResolvedRevision


def new_request_id() -> RequestId:
    """Ours, never the caller's: it stands in logs and may be asked about."""
    return RequestId(f"req_{secrets.token_hex(16)}")


@dataclass(slots=True, kw_only=True)
class RequestRecord:
    """Holds digests, ids and classes; never a prompt, an output, a key or a contract's text."""

    request_id: RequestId = field(default_factory=new_request_id)
    clock: StageClock = field(default_factory=StageClock)
    route: str = "unknown"
    prompt_param: str = "messages"
    """Where the API has its conversation: backends, which know of messages alone, may refuse it."""
    caller: Caller | None = None
    model: str | None = None
    contract_digest: ContractDigest | None = None
    resolved: ResolvedRevision | None = None
    artifact_key: ArtifactKey | None = None
    cache: CacheTier | None = None
    limit_headers: Mapping[str, str] = field(default_factory=dict)
    first_token_seconds: float | None = None
    outcomes: tuple[Outcome, ...] = ()
    downgrade: Downgraded | None = None
    """What stands in for a grammar; known before the answer, and told of a repair after it."""
    completion: str = "none"
    error_code: str | None = None
    meter: Meter = field(default_factory=Meter)
    quote: Quote | None = None
    """The prices that hold for it; None where nothing was reserved."""
    at_end: Callable[[], Awaitable[None]] | None = None
    """What has to be done when the last byte of the answer is sent, or cannot be."""

    def take(self, taken: TakenContract) -> None:
        """The request runs under this contract."""
        self.contract_digest, self.resolved = taken.contract.digest, taken.resolved

    @property
    def outcome(self) -> Outcome | None:
        """The one that the request is known by."""
        return deciding(self.outcomes) if self.outcomes else None

    def conclude(self, outcomes: tuple[Outcome, ...], first_token_seconds: float | None) -> None:
        """Every choice is over and has a class."""
        self.outcomes, self.completion = outcomes, str(deciding(outcomes).classified.completion)
        self.first_token_seconds = first_token_seconds
        if any(outcome.downgrade is Downgraded.REPAIRED for outcome in outcomes):
            self.downgrade = Downgraded.REPAIRED

    @property
    def cost(self) -> Cost | None:
        """What it has come to so far; None where that has no price."""
        return None if self.quote is None else self.quote.cost(self.meter.consumption())

    def abandon(self) -> None:
        """The caller went away before there was an answer."""
        classified = classify(is_constrained=False, end="caller_gone", accepting=None, verdict=NotAsked())
        self.completion, self.error_code = str(classified.completion), str(classified.reason)

    def fail(self, problem: Problem) -> None:
        """The request is answered with an error; its class, if decoding had one, is the error's."""
        self.error_code = problem.code
        self.completion = problem.headers.get("x-schemagate-completion", "none")
