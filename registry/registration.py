"""Registering a revision: read, measure against what is there, and only then store.

The order is that of cost and of blame: roles and names, then the text, then what it does to its readers. The store is
asked last, with the number that the comparisons were made against; where another revision came first, they are made
again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from policy.enforcement import EnforcementPolicy
from registry.compatibility.modes import CompatibilityMode
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.measuring import MeasuredComparison, Verdict
from registry.naming import ByNumber
from registry.revision import Actor, ContractClass, RevisionState, Visibility
from registry.store.records import Registered, Sameness


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
    verdict: Verdict


class Registrar:
    """Registers revisions of one's own contracts."""

    async def register(
        self,
        actor: Actor,
        registration: Registration,
        *,
        dry_run: bool = False,
        same: Sameness = Sameness.CONTENT,
        default_level: CompatibilityMode | None = None,
        revive: bool = False,
    ) -> RegistrationOutcome:
        """Store the revision, or find the one that it is. A dry run does all but store.

        `default_level` holds where neither contract nor policy sets one. Raises `ContractRejectedError`,
        `IncompatibleError`, `UndecidedError`, `StateError` (`other_kind`, `other_terms`, `governed_not_allowed`),
        `TombstonedError` (not with `revive`), `ForbiddenError`, `InvalidNameError`.
        """
        raise NotImplementedError

    async def check(
        self, actor: Actor, registration: Registration, *, level: CompatibilityMode | None = None
    ) -> RegistrationOutcome:
        """A dry run in which an incompatible or undecided verdict is an answer, not an error."""
        raise NotImplementedError
