"""What goes into the store and what comes out of it, where that is more than `registry.revision` names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final, Generic, TypeVar

from policy.enforcement import EnforcementPolicy
from policy.governance import RegistryPolicy
from registry.compatibility.modes import CompatibilityMode
from registry.contract import AnnotationDigest, ContractDigest, ContractKind
from registry.identifiers import ContractName, PrincipalId, RevisionId, RevisionNumber, TeamName, TenantId
from registry.revision import (
    Alias,
    Contract,
    ContractClass,
    Dependency,
    Promotion,
    Revision,
    RevisionState,
    RevisionStatus,
    Signature,
    SigningKey,
    Visibility,
)

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRevision:
    """A revision that has been read, measured and judged, before it has a number.

    What stands under `team` and below is for the name and counts only when this is its first revision.
    """

    name: ContractName
    kind: ContractKind
    digest: ContractDigest
    annotation_digest: AnnotationDigest
    source_text: str
    source_digest: str
    canonical_text: str
    policy: EnforcementPolicy
    dialect: str | None = None
    transformations: Sequence[str] = ()
    profile: Mapping[str, int | float | bool] = field(default_factory=dict)
    dependencies: Sequence[Dependency] = ()
    message: str = ""
    state: RevisionState = RevisionState.DRAFT
    team: TeamName | None = None
    visibility: Visibility = Visibility.PRIVATE
    contract_class: ContractClass = ContractClass.TENANT
    compatibility: CompatibilityMode | None = None
    description: str = ""


class Sameness(StrEnum):
    """When a revision is one that its contract already has."""

    CONTENT = "content"
    """The same digest, annotations and policy."""
    SOURCE = "source"
    """The same source text with the same digest: what Confluent's registry calls the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRevision:
    """A revision and where it stands."""

    revision: Revision
    status: RevisionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """The end of a registration; `is_new` is False where the contract had this revision already."""

    contract: Contract
    revision: Revision
    status: RevisionStatus
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """A part of a list. `next_cursor` is opaque and good for the same question only."""

    items: tuple[Item, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractQuery:
    """Which contracts to list; whatever is None is not asked."""

    text: str | None = None
    """Part of the name, in any case of letters."""
    team: TeamName | None = None
    kind: ContractKind | None = None
    owner: TenantId | None = None
    state: RevisionState | None = None
    """Of the newest revision."""
    include_tombstoned: bool = False
    """One's own; another tenant's are never listed."""


class Unchanged(StrEnum):
    """Stands where a change says nothing, since None says "none"."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractChanges:
    """New values of what may change of a contract."""

    team: TeamName | Unchanged | None = UNCHANGED
    visibility: Visibility | Unchanged = UNCHANGED
    compatibility: CompatibilityMode | Unchanged | None = UNCHANGED
    description: str | Unchanged = UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRevision:
    """Everything that decides whether and as what a reference is served, read at one moment.

    Nothing is judged here: a draft, or one whose signatures are dead, comes back as well. `policy` is the owner's.
    """

    contract: Contract
    revision: Revision
    status: RevisionStatus
    alias: Alias | None
    signatures: tuple[tuple[Signature, SigningKey], ...]
    policy: RegistryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class BareContract:
    """There is such a contract for the viewer, and not such an alias or revision of it."""

    contract: Contract


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRecord:
    """A tenant's policy; version 0 is the default that nobody has set."""

    policy: RegistryPolicy
    version: int
    changed_at: datetime | None = None
    changed_by: PrincipalId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCount:
    """Requests that ran under a revision on a day (UTC), since the last time this was said."""

    revision_id: RevisionId
    day: date
    num_requests: int
    last_used_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUsage:
    """A revision's requests on one day."""

    day: date
    num_requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionUsage:
    """How a revision has been used: all together, and day by day, newest first, at most `MAX_USAGE_DAYS`."""

    revision_id: RevisionId
    number: RevisionNumber
    num_requests: int
    last_used_at: datetime | None
    days: tuple[DayUsage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The end of a promotion; `alias` is where it points now if the promotion was applied."""

    promotion: Promotion
    alias: Alias | None
