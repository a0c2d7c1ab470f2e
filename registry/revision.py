"""What the registry keeps: contracts by name, their immutable revisions, and the names that move between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from policy.enforcement import EnforcementPolicy
from policy.roles import Role
from registry.compatibility.modes import CompatibilityMode
from registry.contract import AnnotationDigest, ContractDigest, ContractKind
from registry.identifiers import (
    AliasName,
    ContractName,
    PrincipalId,
    PromotionId,
    RevisionId,
    RevisionNumber,
    SchemaId,
    SigningKeyId,
    TeamName,
    TenantId,
)


class Visibility(StrEnum):
    """Who may read a contract."""

    PRIVATE = "private"
    """Its tenant."""
    SHARED = "shared"
    """Every tenant of this installation; only its own may change it."""


class ContractClass(StrEnum):
    """Under whose responsibility a contract runs; chosen when its name is first registered, never changed."""

    TENANT = "tenant"
    """Tenant limits, the tenant's own cache partition."""
    GOVERNED = "governed"
    """The larger limits; promotion always takes a signature and a second person."""


class RevisionState(StrEnum):
    """Only forwards, one or more steps at a time."""

    DRAFT = "draft"
    """Kept, comparable, explainable; not served."""
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    """Served, and every answer says so."""
    SUNSET = "sunset"
    """No longer served; kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who asks, as authentication found it."""

    tenant: TenantId
    principal: PrincipalId
    roles: frozenset[Role]
    team: TeamName | None = None
    key_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A name and what holds for all its revisions. `version` counts its changes: the ETag."""

    tenant: TenantId
    name: ContractName
    kind: ContractKind
    team: TeamName | None
    visibility: Visibility
    contract_class: ContractClass
    compatibility: CompatibilityMode | None
    description: str
    created_at: datetime
    created_by: PrincipalId
    version: int
    latest: RevisionNumber
    """The highest number ever given."""
    tombstoned_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A registered contract that a revision's text refers to, pinned."""

    uri: str
    """As the text spells it, without fragment."""
    digest: ContractDigest
    revision_id: RevisionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The immutable thing. Nothing here changes after it was stored; its state is a `RevisionStatus`."""

    revision_id: RevisionId
    tenant: TenantId
    name: ContractName
    number: RevisionNumber
    schema_id: SchemaId
    kind: ContractKind
    digest: ContractDigest
    annotation_digest: AnnotationDigest
    source_text: str
    """JSON of what was registered, member order kept; the text that pointers of reports lead into."""
    source_digest: str
    canonical_text: str
    dialect: str | None
    transformations: tuple[str, ...]
    profile: Mapping[str, int | float | bool]
    policy: EnforcementPolicy
    dependencies: tuple[Dependency, ...]
    author: PrincipalId
    message: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionStatus:
    """Where a revision stands now."""

    state: RevisionState
    changed_at: datetime
    changed_by: PrincipalId
    reason: str = ""
    tombstoned_at: datetime | None = None
    """Softly deleted: the bytes and the number stay, and nothing finds them but the audit and an explicit question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A name that moves. `version` counts the moves: the ETag."""

    tenant: TenantId
    name: ContractName
    alias: AliasName
    number: RevisionNumber
    revision_id: RevisionId
    version: int
    moved_at: datetime
    moved_by: PrincipalId
    previous: RevisionNumber | None = None


class PromotionState(StrEnum):
    """A promotion that needs a second person is proposed first."""

    PROPOSED = "proposed"
    APPLIED = "applied"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A proposal to move an alias."""

    promotion_id: PromotionId
    tenant: TenantId
    name: ContractName
    alias: AliasName
    number: RevisionNumber
    state: PromotionState
    proposed_by: PrincipalId
    proposed_at: datetime
    reason: str
    alias_version: int | None = None
    """The alias's version when its move was proposed; None: there was no such alias. It has to be so still."""
    decided_by: PrincipalId | None = None
    decided_at: datetime | None = None


class SignatureStatus(StrEnum):
    """What the signatures of a revision amount to now."""

    SIGNED = "signed"
    """At least one is valid and its key is trusted and not revoked."""
    UNSIGNED = "unsigned"
    REVOKED = "revoked"
    """There are signatures, and none of their keys is trusted any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Ed25519 over a revision's signing payload (`registry.signatures`)."""

    revision_id: RevisionId
    key_id: SigningKeyId
    signature: str
    """Base64 of 64 bytes."""
    signed_by: PrincipalId
    signed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A public key that a tenant trusts. The private half never reaches the product."""

    key_id: SigningKeyId
    tenant: TenantId
    public_key: str
    """Base64 of the 32 raw bytes."""
    label: str
    principal: PrincipalId
    """Whose key it is."""
    added_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revocation_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRevision:
    """The end of a name: what a request runs under, fixed when it was resolved."""

    contract: Contract
    revision: Revision
    status: RevisionStatus
    alias: AliasName | None
    signature: SignatureStatus
    signed_by: SigningKeyId | None = None
