"""What became of one choice, in one frozen value: everything answers, headers, metrics and spans speak of."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from compiler_pool.artifact import ArtifactKey
from compiler_pool.protocol import CompileCost
from gateway.answer import Answer
from gateway.completion import Classified, CompletionClass, End, NotAsked
from gateway.identifiers import TenantPartition
from gateway.nodes import ModelOffer, Server, SignedArtifact
from gateway.protocol import FinishReason
from gateway.rules.verdict import RulesVerdict
from gateway.validation.verdict import Verdict
from inference_node.protocol import DecodingReport, ReasoningReport, Usage
from policy.enforcement import EnforcementPolicy, KeywordStatus, ReportEntry
from policy.limits import LimitClass
from policy.text_bounds import TextReport
from registry.contract import CanonicalContract
from registry.revision import ResolvedRevision


class CacheTier(StrEnum):
    """Where an artifact came from."""

    L1 = "l1"
    """This process."""
    POOL = "pool"
    """The compiler pool's own cache."""
    COMPILED = "compiled"
    """Nowhere: it was compiled for this request, or for another one that was waiting for the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenContract:
    """A contract that was read, measured and found enforceable as far as can be said without compiling it."""

    contract: CanonicalContract
    policy: EnforcementPolicy
    param: str
    """Where the contract, or its name, stands in the request."""
    limits: LimitClass
    partition: TenantPartition
    """Whose artifacts it may share."""
    resolved: ResolvedRevision | None = None
    """What its name led to when the request came in; None for a contract that was sent."""
    sent_as: str | None = None
    """Whose words it was sent in, where they are not this API's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundContract:
    """A contract compiled for one tokenizer. `compiled_…` is the pool's, with pointers into the canonical form."""

    taken: TakenContract
    signed: SignedArtifact
    compiled_report: tuple[ReportEntry, ...]
    compiled_text: TextReport
    cost: CompileCost
    tier: CacheTier

    @property
    def contract(self) -> CanonicalContract:
        """The contract itself."""
        return self.taken.contract

    @property
    def report(self) -> tuple[ReportEntry, ...]:
        """The whole enforcement report, with the caller's pointers. Made on demand: an answer carries only counts."""
        translate = self.contract.source_pointer
        compiled = (replace(entry, pointer=translate(entry.pointer)) for entry in self.compiled_report)
        return (*self.contract.annotations, *compiled)

    @property
    def text(self) -> TextReport:
        """How the text is laid out and bounded, with the caller's pointers."""
        translate = self.contract.source_pointer
        places = (replace(place, pointer=translate(place.pointer)) for place in self.compiled_text.bounded)
        return replace(self.compiled_text, bounded=tuple(places))

    @property
    def key(self) -> ArtifactKey:
        """The artifact's key."""
        return self.signed.key

    @property
    def counts(self) -> Mapping[KeywordStatus, int]:
        """How many keywords met which fate."""
        return Counter(entry.status for entry in (*self.contract.annotations, *self.compiled_report))

    @property
    def compile_cpu_ms(self) -> float:
        """What this request's wait for the artifact cost in CPU time; nothing, if it was there."""
        return self.cost.cpu_ms if self.tier is CacheTier.COMPILED else 0.0


FINISH_REASONS: Mapping[CompletionClass, FinishReason] = {
    CompletionClass.COMPLETE: "stop",
    CompletionClass.STOPPED: "stop",
    CompletionClass.TRUNCATED: "length",
    CompletionClass.REFUSED: "stop",
}
"""The classes that are answers, in OpenAI's words. The others are errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """What stood in the grammar beside the caller's own contract."""

    num_tools: int
    may_refuse: bool
    may_think: bool


class Downgraded(StrEnum):
    """What stood in for a grammar. Every answer under a contract that none enforced carries this label."""

    VALIDATED_AFTER = "validated_after"
    """The finished text was validated."""
    REPAIRED = "repaired"
    """The same, after a text that failed had been sent back to the model with its fault."""


class Branch(StrEnum):
    """What an answer is, by the form that it took. Whether it is complete is the class's to say."""

    ANSWER = "answer"
    """Words under the caller's contract."""
    TEXT = "text"
    """Words under none."""
    CALLS = "calls"
    REFUSAL = "refusal"
    NONE = "none"
    """The thought before it never ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of one choice."""

    classified: Classified
    end: End
    text: str
    """As the model wrote it, markup included; what it says is in `answer`."""
    answer: Answer
    usage: Usage
    offer: ModelOffer
    node: Server
    bound: BoundContract | None
    """What the node enforced."""
    verdict: Verdict | NotAsked
    rules: RulesVerdict | NotAsked
    seed: int
    index: int = 0
    contract: TakenContract | None = None
    """The caller's own contract: what was enforced, or a part of it; None where none was sent."""
    composed: Composed | None = None
    """None where the caller's contract was enforced as it stands."""
    reasoning_tokens: int = 0
    """A part of the usage's completion tokens."""
    thought: ReasoningReport | None = None
    """How the thought before the answer went; None where none was asked for."""
    thought_budget_tokens: int | None = None
    decoding: DecodingReport | None = None
    """What decoding was like; None where it is not known: another backend, or a stream that broke off."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    """What was sent and has no effect, with the reason."""
    downgrade: Downgraded | None = None
    """What stood in for the grammar, where a contract was served without one."""
    num_repairs: int = 0

    @property
    def is_accepted_object(self) -> bool:
        """Whether it satisfies a contract: what cost is measured against."""
        is_constrained = self.bound is not None or self.contract is not None
        return is_constrained and self.classified.completion is CompletionClass.COMPLETE

    @property
    def branch(self) -> Branch:
        """Which of the things that an answer may be was begun."""
        if self.answer.refusal is not None:
            return Branch.REFUSAL
        if self.answer.calls:
            return Branch.CALLS
        if self.thought is not None and self.thought.state == "unfinished":
            return Branch.NONE
        return Branch.TEXT if self.contract is None else Branch.ANSWER

    @property
    def finish_reason(self) -> FinishReason | None:
        """None where the class is an error."""
        if self.end == "content_filter" and self.classified.reason is None:
            return "content_filter"
        if self.classified.completion is CompletionClass.COMPLETE and self.answer.calls:
            return "tool_calls"
        return FINISH_REASONS.get(self.classified.completion)


def deciding(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome that a whole request is known by: its first error, or else the least finished of its answers."""
    if len(outcomes) == 1:
        return outcomes[0]
    errors = [outcome for outcome in outcomes if outcome.classified.reason is not None]
    return (errors or sorted(outcomes, key=lambda outcome: _LEAST_FINISHED.index(outcome.classified.completion)))[0]


_LEAST_FINISHED = (
    CompletionClass.TRUNCATED,
    CompletionClass.STOPPED,
    CompletionClass.REFUSED,
    CompletionClass.COMPLETE,
    *(each for each in CompletionClass if each not in FINISH_REASONS),
)
