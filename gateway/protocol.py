"""Wire types that the public APIs share: what callers send and what they get.

Requests are read strictly (no coercion) from values that `registry.parsing` produced, after `gateway.fields` has
disposed of every field that is not used. Unions are avoided on the way in, so that a fault's path is the caller's.
"""

import math
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MAX_MODEL_CHARACTERS = 256


class Sent(BaseModel):
    """What a caller sends: closed, strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Answered(BaseModel):
    """What a caller gets."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _number(value: Any) -> Any:
    # The parser's numbers are exact; a float is enough for a sampling parameter. Booleans stay, to be refused.
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:  # beyond any float, and so beyond any bound of ours
        return math.inf if value > 0 else -math.inf


Number = Annotated[float, BeforeValidator(_number)]


class EnforcementCounts(Answered):
    """How many keywords met which fate."""

    enforced: int
    checked_after: int
    annotation: int


class SignatureMember(Answered):
    """What a revision's signatures amounted to when it was resolved."""

    status: Literal["signed", "unsigned", "revoked"]
    key_id: str | None


class ContractMember(Answered):
    """Which contract was enforced, and how. What only a registered contract has is null for one that was sent."""

    kind: str
    digest: str
    annotation_digest: str
    enforcement: EnforcementCounts
    sent_as: str | None = None
    """Whose words a sent contract was in, and which, such as `vllm.guided_grammar`: `kind` says how they were read."""
    owner: str | None = None
    name: str | None = None
    team: str | None = None
    contract_class: Annotated[str | None, Field(serialization_alias="class")] = None
    visibility: str | None = None
    alias: str | None = None
    revision: int | None = None
    revision_id: str | None = None
    state: str | None = None
    signature: SignatureMember | None = None
    deprecated: str | None = None
    """Why, or an empty text, where the revision is deprecated."""


class NodeMember(Answered):
    """Where decoding took place."""

    model: str
    engine: str
    engine_version: str


class RuleMember(Answered):
    """One operator's rule. `message` is the rule's or the webhook's, or why there is no verdict, in a word."""

    name: str
    kind: Literal["semantic", "authorisation"]
    source: Literal["cel", "webhook"]
    verdict: Literal["passed", "failed", "unjudged", "failed_open", "not_applicable", "not_asked"]
    message: str | None = None


class ValidationMember(Answered):
    """What the independent validator said; `not_applicable` where there is no contract or nothing finished."""

    verdict: Literal["valid", "invalid", "unjudged", "not_applicable"]
    pointer: str | None = None
    keyword: str | None = None
    message: str | None = None
    rules: list[RuleMember] = Field(default_factory=list)
    """What operators' rules said of an object that is valid; empty where none applies, or none was asked."""


class CompositionMember(Answered):
    """What stood in the grammar beside the caller's own contract, and the identity of the whole.

    `digest` is null where there was no grammar at all: free text after a span of thought.
    """

    digest: str | None
    num_tools: int
    may_refuse: bool
    may_think: bool


class ThoughtMember(Answered):
    """How the thought before the answer went. `dialect` is null where it was a part of the answer's grammar."""

    dialect: str | None
    state: Literal["closed", "budget", "unfinished", "missing"]
    """Closed by the model; ended at its budget; never ended, so there is no answer; or there was none."""
    tokens: int
    budget_tokens: int | None
    num_repeated_markers: int


class ChoiceMember(Answered):
    """What one of several choices is."""

    index: int
    completion: str
    stop_cause: str
    seed: int
    validation: ValidationMember


class CostMember(Answered):
    """What the request came to, in exact decimals; what attempts after the first cost is in `retry` alone."""

    currency: str
    prefill: str
    decode: str
    compile: str
    retry: str
    total: str


class SpreadMember(Answered):
    """Of a quantity that was measured at each pick: median, 95th percentile, largest."""

    p50: float
    p95: float
    max: float


class DecodingMember(Answered):
    """What decoding was like. A spread is null where nothing was measured."""

    picks: int
    """Tokens that the model chose, drafts that it confirmed among them; forced ones take no pick."""
    forced_tokens: int
    cached_prompt_tokens: int
    """Of the prompt, those that an earlier request of the same tenant had computed."""
    drafted_tokens: int
    accepted_draft_tokens: int
    preemptions: int
    mask_ms: SpreadMember | None
    """From when a mask was asked for until it was there."""
    allowed_tokens: SpreadMember | None
    """Of the vocabulary, by the contract."""
    pressure: SpreadMember | None
    """The probability that the mask took away from the model's own distribution: near 1, the model wanted to write
    something else than the contract allows."""
    pressure_by_field: dict[str, float]
    """The largest, by the JSON Pointer of the member that was being written, `*` for an index; largest first."""


class SchemagateMember(Answered):
    """The extension member `schemagate`: what this product says beyond OpenAI's own fields."""

    completion: str
    contract: ContractMember | None
    """The caller's own; of a request with tools and no contract of its own, what was enforced."""
    composition: CompositionMember | None = None
    """Null where the caller's contract was enforced as it stands."""
    branch: Literal["answer", "text", "calls", "refusal", "none"] = "text"
    """What was said: words under the caller's contract, free words, calls, a refusal, or nothing but thought."""
    reasoning: ThoughtMember | None = None
    """Null where no thought was asked for."""
    choices: list[ChoiceMember] = Field(default_factory=list)
    """Every choice, where there are several; the other members speak of the least finished one."""
    ignored: dict[str, str] = Field(default_factory=dict)
    """What was sent and has no effect, with the reason."""
    downgrade: Literal["validated_after", "repaired"] | None = None
    """What stood in for a grammar where the model's backend has none and the serving policy allows it; else null."""
    repairs: int = 0
    """How often the model was told of a fault before this answer; each is charged."""
    artifact_key: str | None
    tokenizer_digest: str | None
    """Null where the model's backend decodes under no grammar of ours."""
    cache: Literal["l1", "pool", "compiled"] | None
    validation: ValidationMember
    node: NodeMember | None
    seed: int
    stop_cause: str
    forced_tokens: int
    decoding: DecodingMember | None = None
    """Null where it is not known: another backend, or a stream that broke off."""
    compile_cpu_ms: float | None
    cost: CostMember | None = None
    """Null where the operator has set no price for what was used."""
    timings: dict[str, float]


FinishReason = Literal["stop", "length", "tool_calls", "content_filter"]


class PolicyMember(Answered):
    """The policy under which a contract is read."""

    allow_checked_after: bool
    unknown_keyword: Literal["annotation", "reject"]
    unknown_format: Literal["annotation", "reject"]
