"""Wire types of the compiler pool: `GET /v1/identity`, `POST /v1/compile`, `POST /v1/uses`, `/metrics`, `/healthz`,
`/readyz`.

`POST /v1/compile` answers 200 with one of four outcomes; only `compiled` and `rejected` are deterministic. A queue
that is full answers 503 with `Retry-After` and a `Busy` body.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from policy.text_bounds import MAX_COUNT, MAX_DEPTH, MAX_DIGITS


class Wire(BaseModel):
    """Closed by default: a member we do not know is an error on either side."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TokenizerIdentity(Wire):
    """A tokenizer this pool can compile for. `digest` is what nodes must match."""

    digest: str
    name: str
    vocabulary_size: int


class PoolIdentity(Wire):
    """What goes into an artifact's address besides contract, policy and tenant."""

    engine: str
    engine_version: str
    lowering_version: str
    tokenizers: list[TokenizerIdentity]


class TextBoundsWire(Wire):
    """`policy.text_bounds.TextBounds` on the wire: how far text may run on where a contract sets no end."""

    max_digits: int | None = Field(default=None, ge=1, le=MAX_DIGITS)
    max_string_length: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    max_items: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    max_depth: int | None = Field(default=None, ge=1, le=MAX_DEPTH)
    max_undeclared: int | None = Field(default=None, ge=0, le=0)


class BoundedPlaceWire(Wire):
    """A place at which a bound narrows what is generated; the pointer is into the canonical form."""

    pointer: str
    limit_name: str
    limit: int


class TextReportWire(Wire):
    """How the text is laid out and where it is held to a bound, at 32 places at most."""

    whitespace: Literal["none"] = "none"
    bounds: TextBoundsWire = TextBoundsWire()
    bounded: list[BoundedPlaceWire] = []


class PolicyWire(Wire):
    """`policy.enforcement.EnforcementPolicy` on the wire."""

    allow_checked_after: bool = False
    unknown_keyword: Literal["annotation", "reject"] = "reject"
    unknown_format: Literal["annotation", "reject"] = "reject"
    bounds: TextBoundsWire = TextBoundsWire()


class CompileRequest(Wire):
    """Compile one canonical contract for one tokenizer.

    `canonical_text` must hash to `contract_digest`; the pool checks, because the digest becomes part of the address.
    `deadline_seconds` is what is left of the caller's patience, queueing included. `urgency` says whether somebody
    waits for an answer; governed contracts then come before tenants', and what nobody waits for comes last.
    """

    kind: str
    canonical_text: str
    contract_digest: str
    tokenizer_digest: str
    policy: PolicyWire
    limits: Literal["tenant", "governed", "none"] = "tenant"
    tenant_partition: str = Field(max_length=128)
    deadline_seconds: float = Field(gt=0, le=120)
    urgency: Literal["answer", "precompile"] = "answer"


class UsesReport(Wire):
    """How often a gateway has used artifacts that it keeps itself, by artifact key: what is worth its place in a tier
    that all share shows there, and not where the pool is asked once."""

    uses: dict[Annotated[str, Field(pattern="^[0-9a-f]{64}$")], Annotated[int, Field(ge=1, le=1_000_000)]] = Field(
        max_length=1_000
    )


class ReportEntryWire(Wire):
    """Pointers are into the canonical form; the gateway turns them into the caller's own."""

    pointer: str
    keyword: str
    status: Literal["enforced", "checked_after", "annotation", "rejected"]


class RejectionWire(Wire):
    """`policy.rejection.Rejection` on the wire, pointer into the canonical form."""

    code: str
    message: str
    pointer: str = ""
    keyword: str | None = None
    limit_name: str | None = None
    limit: float | None = None
    observed: float | None = None
    suggestion: str | None = None
    conflicts: list[str] = []


class CompileCost(Wire):
    """What one compile took. `cpu_ms` is what a tenant is charged; `worst_mask_us` is over the trial's steps."""

    queue_ms: float
    lower_ms: float
    compile_ms: float
    trial_ms: float
    cpu_ms: float
    first_mask_ms: float
    worst_mask_us: float
    num_trial_steps: int


class Compiled(Wire):
    """The artifact, framed and authenticated (`compiler_pool.frame`), base64; nodes take the frame's bytes."""

    outcome: Literal["compiled"] = "compiled"
    artifact_key: str
    frame: str
    report: list[ReportEntryWire]
    text: TextReportWire = TextReportWire()
    cost: CompileCost
    cache: Literal["hit", "miss"]
    """`miss`: compiled for this request, which pays for it. Of those who wait for one compile, one has the miss."""


class Rejected(Wire):
    """Deterministic: the same request is refused again. At least one rejection."""

    outcome: Literal["rejected"] = "rejected"
    rejections: list[RejectionWire] = Field(min_length=1)
    report: list[ReportEntryWire] = []
    cost: CompileCost | None = None


class TimedOut(Wire):
    """The compile ran over its CPU or wall budget and its worker was replaced. Not remembered."""

    outcome: Literal["timed_out"] = "timed_out"
    limit_name: str
    limit_seconds: float


class Crashed(Wire):
    """The worker died (memory, stack, a fault in the engine) and was replaced. Not remembered."""

    outcome: Literal["crashed"] = "crashed"
    reason: str


class Busy(Wire):
    """503: the queue is full, or the deadline leaves no time for a compile or cut it. It says nothing of the contract.

    `spent_seconds` is how long a worker was at it before the deadline cut it: CPU time was at most as much.
    """

    outcome: Literal["busy"] = "busy"
    retry_after_seconds: float
    spent_seconds: float = Field(default=0.0, ge=0)


CompileOutcome = Annotated[Compiled | Rejected | TimedOut | Crashed, Field(discriminator="outcome")]


class CompileAnswer(Wire):
    """The body of a 200."""

    result: CompileOutcome


class PoolFault(Wire):
    """The body of a 4xx: the request itself was wrong (unknown tokenizer, digest mismatch, malformed body)."""

    code: Literal["unknown_tokenizer", "digest_mismatch", "malformed_request", "body_too_large"]
    message: str
