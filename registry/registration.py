"""What an author asks for when a revision is registered, and what becomes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from policy.enforcement import EnforcementPolicy
from registry.compatibility.modes import CompatibilityMode, ModeVerdict
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.measuring import MeasuredComparison
from registry.naming import ByNumber
from registry.revision import ContractClass, RevisionState, Visibility
from registry.store.records import Registered


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What an author asks for. `None` says nothing: the contract's own, or the default for its first revision."""

    name: str
    kind: ContractKind
    definition: JsonValue
    """Parsed by `registry.parsing`: a string for regex, Lark and GBNF, a list for choices and tools, else an object."""
    dialect: str | None = None
    policy: EnforcementPolicy = EnforcementPolicy()
    state: RevisionState = RevisionState.ACTIVE
    """DRAFT or ACTIVE."""
    message: str = ""
    team: str | None = None
    visibility: Visibility | None = None
    contract_class: ContractClass | None = None
    compatibility: CompatibilityMode | None = None
    description: str | None = None
    references: Mapping[str, ByNumber] = field(default_factory=lambda: MappingProxyType({}))
    """Revisions that the text refers to by URIs of its own choosing (Confluent references)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationOutcome:
    """What became of it. `stored` is None on a dry run."""

    contract: CanonicalContract
    stored: Registered | None
    against: tuple[MeasuredComparison, ...]
    """Newest first."""
    level: CompatibilityMode | None
    is_enforced: bool
    """Whether the level had a say: there was one, and the contract did not have the revision already."""
    verdict: ModeVerdict
    """Compatible where there is no level."""
