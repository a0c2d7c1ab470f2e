"""Wire types of the contract API: what callers get from `/v1/contracts` and its neighbours."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from gateway.protocol import Answered, PolicyMember, SignatureMember


class ContractAnswer(Answered):
    """A name and what holds for all its revisions. `version` is its ETag."""

    owner: str
    name: str
    kind: str
    team: str | None
    visibility: Literal["private", "shared"]
    contract_class: Annotated[Literal["tenant", "governed"], Field(serialization_alias="class")]
    compatibility: str | None
    description: str
    created_at: datetime
    created_by: str
    version: int
    latest: int
    retired_at: datetime | None


class DependencyMember(Answered):
    """A registered contract that the text refers to, pinned."""

    uri: str
    digest: str
    revision_id: str


class RevisionMember(Answered):
    """One revision: what never changes, and where it stands now. `signature` is null where it was not looked at."""

    id: str
    number: int
    schema_id: int
    kind: str
    digest: str
    annotation_digest: str
    source_digest: str
    dialect: str | None
    state: Literal["draft", "active", "deprecated", "sunset"]
    state_changed_at: datetime
    state_changed_by: str
    state_reason: str
    author: str
    message: str
    created_at: datetime
    transformations: list[str]
    profile: dict[str, int | float | bool]
    policy: PolicyMember
    dependencies: list[DependencyMember]
    signature: SignatureMember | None = None
    retired_at: datetime | None


class AliasMember(Answered):
    """A movable name. `version` is its ETag."""

    alias: str
    revision: int
    revision_id: str
    version: int
    moved_at: datetime
    moved_by: str
    previous: int | None


class VerdictMember(Answered):
    """One question's answer: proved, shown by a document that the validator has judged, or neither."""

    verdict: Literal["safe", "unsafe", "unknown"]
    message: str | None = None
    proof: list[str] | None = None
    witness: str | None = None
    """JSON text of a document that the one contract allows and the other refuses."""
    old_pointer: str | None = None
    new_pointer: str | None = None
    reason: str | None = None


class ComparisonMember(Answered):
    """Both questions about an earlier revision and this one."""

    against: int
    consumer_safe: VerdictMember
    producer_safe: VerdictMember


class CompatibilityMember(Answered):
    """What was compared, at which level, and whether the level refuses."""

    level: str | None
    enforced: bool
    """Whether the level binds this contract; without a level comparisons are only told."""
    accepted: bool | None
    """Whether the level is kept; null where there is no level. Undecided is not a yes."""
    comparisons: list[ComparisonMember]


class RegisterAnswer(Answered):
    """201 of a new revision, 200 of one that was there or of a dry run (`revision` is null, nothing was kept)."""

    contract: ContractAnswer | None
    revision: RevisionMember | None
    is_new: bool
    dry_run: bool
    digest: str
    annotation_digest: str
    transformations: list[str]
    compatibility: CompatibilityMember


class CheckAnswer(Answered):
    """Would it be taken?"""

    digest: str
    annotation_digest: str
    transformations: list[str]
    compatibility: CompatibilityMember


class ExampleMember(Answered):
    """JSON text of a whole document that a change alone allows or forbids."""

    document: str
    is_allowed: bool


class ChangeMember(Answered):
    """One line of a review: what changed at a place, and what follows. Pointers lead into the canonical forms."""

    kind: str
    effect: str
    message: str
    old_pointer: str
    new_pointer: str
    example: ExampleMember | None


class DiffAnswer(Answered):
    """Two contracts compared. `changes_left_out` counts the changes beyond those that are listed."""

    consumer_safe: VerdictMember
    producer_safe: VerdictMember
    changes: list[ChangeMember]
    changes_left_out: int


class ContractPage(Answered):
    """A part of a list; `next_cursor` is null at its end."""

    data: list[ContractAnswer]
    next_cursor: str | None


class RevisionPage(Answered):
    """A part of a contract's revisions."""

    data: list[RevisionMember]
    next_cursor: str | None


class ContractDetail(Answered):
    """A contract, where its aliases point, and its newest revision."""

    contract: ContractAnswer
    aliases: list[AliasMember]
    latest: RevisionMember | None


class RevisionDetail(Answered):
    """The end of a reference. The answer's `source` holds the registered text itself."""

    contract: ContractAnswer
    revision: RevisionMember
    alias: str | None


class AliasList(Answered):
    """All aliases of a contract."""

    data: list[AliasMember]


class AliasAnswer(Answered):
    """An alias of a contract."""

    owner: str
    name: str
    alias: AliasMember


class PromotionMember(Answered):
    """A proposal to move an alias, and what became of it."""

    id: str
    name: str
    alias: str
    revision: int
    state: Literal["proposed", "applied", "rejected", "withdrawn"]
    proposed_by: str
    proposed_at: datetime
    reason: str
    decided_by: str | None
    decided_at: datetime | None


class PromotionPage(Answered):
    """A part of the promotions."""

    data: list[PromotionMember]
    next_cursor: str | None


class DayMember(Answered):
    """Requests of one day (UTC)."""

    day: date
    requests: int


class RevisionUsageMember(Answered):
    """How a revision has been used."""

    revision: int
    revision_id: str
    requests: int
    last_used_at: datetime | None
    days: list[DayMember]


class DependentMember(Answered):
    """A revision whose text refers to this contract."""

    name: str
    revision: int
    revision_id: str


class UsageAnswer(Answered):
    """Who uses a contract, and whether it could be retired."""

    revisions: list[RevisionUsageMember]
    aliases: list[AliasMember]
    num_dependents: int
    """Of all tenants, counted up to a hundred."""
    dependents: list[DependentMember]
    """One's own."""
    safe_to_retire: bool
    reasons: list[str]


class PayloadAnswer(Answered):
    """The bytes to sign, twice: `base64` is exact, `text` is for reading."""

    base64: str
    text: str


class SignatureAnswer(Answered):
    """One signature, and whether it counts now."""

    key_id: str
    signature: str
    signed_by: str
    signed_at: datetime
    counts: bool


class SignatureList(Answered):
    """The signatures of a revision and what they amount to."""

    status: Literal["signed", "unsigned", "revoked"]
    data: list[SignatureAnswer]


class SigningKeyMember(Answered):
    """A public key that the tenant trusts, or trusted."""

    id: str
    public_key: str
    label: str
    principal: str
    added_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    revocation_reason: str


class SigningKeyList(Answered):
    """All keys of the tenant."""

    data: list[SigningKeyMember]


class RegistryPolicyAnswer(Answered):
    """The tenant's policy. `version` is its ETag; 0 is the default."""

    require_signature: bool
    two_person_promotion: bool
    promotion_safety: str
    compatibility: str | None
    allow_governed: bool
    protected_aliases: list[str]
    version: int
    changed_at: datetime | None
    changed_by: str | None
