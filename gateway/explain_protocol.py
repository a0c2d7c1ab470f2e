"""Wire types of `POST /v1/contracts/explain`: a contract, and what would become of it."""

from typing import Annotated, Literal

from pydantic import Field

from gateway.protocol import (
    MAX_MODEL_CHARACTERS,
    Answered,
    ContractMember,
    EnforcementCounts,
    PolicyMember,
    Sent,
)


class ExplainRequest(Sent):
    """`POST /v1/contracts/explain`: a contract, in any field in which a generation would carry one.

    `model` chooses the tokenizer; without one, the only model served.
    """

    strict: bool | None = None
    model: Annotated[str | None, Field(min_length=1, max_length=MAX_MODEL_CHARACTERS)] = None


class ReportEntryMember(Answered):
    """One keyword's fate. `pointer` is into the contract as it was sent."""

    pointer: str
    keyword: str
    status: Literal["enforced", "checked_after", "annotation", "rejected"]


class BoundedPlaceMember(Answered):
    """A place at which a bound narrows what is generated. `pointer` is into the contract as it was sent."""

    pointer: str
    limit_name: str
    limit: int


class TextMember(Answered):
    """How generated text is laid out, and how far it runs on where the contract sets no end (null: to the last token).

    `bounded` lists at most 32 places.
    """

    whitespace: str
    max_digits: int | None
    max_string_length: int | None
    max_items: int | None
    max_depth: int | None
    max_undeclared: int | None
    bounded: list[BoundedPlaceMember]


class LimitMember(Answered):
    """One limit, and the most that the contract uses of it; null where nothing in it is held against the limit."""

    name: str
    limit: int
    observed: int | float | None


class CompileCostMember(Answered):
    """What the compile took when it was made."""

    queue_ms: float
    lower_ms: float
    compile_ms: float
    trial_ms: float
    cpu_ms: float
    first_mask_ms: float
    worst_mask_us: float
    num_trial_steps: int


class ExplainAnswer(Answered):
    """200 of `POST /v1/contracts/explain`."""

    kind: str
    digest: str
    annotation_digest: str
    contract: ContractMember
    model: str
    tokenizer_digest: str
    artifact_key: str
    policy: PolicyMember
    summary: EnforcementCounts
    report: list[ReportEntryMember]
    text: TextMember
    transformations: list[str]
    profile: dict[str, int | bool]
    limit_class: str
    limits: list[LimitMember]
    cache: Literal["l1", "pool", "compiled"]
    cost: CompileCostMember
    compile_cpu_ms: float
    timings: dict[str, float]
