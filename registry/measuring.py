"""How a new revision stands to the earlier ones of its contract, and whether its level lets it in.

Drafts, sunset and retired revisions are in nobody's use, and nothing is compared with them. A draft is measured when it
is registered and once more when it becomes active, since others may have come between.
"""

import time
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from policy.governance import RegistryPolicy
from registry.compatibility.comparison import Comparison
from registry.compatibility.modes import (
    CompatibilityMode,
    Compatible,
    Incompatible,
    Undecided,
    is_transitive,
    judge_mode,
)
from registry.contract import ContractDigest, ContractKind
from registry.errors import IncompatibleError, UndecidedError
from registry.identifiers import RevisionNumber
from registry.revision import Contract, Revision, RevisionState
from registry.store.bounds import MAX_PAGE
from registry.store.contracts import ContractStore

MAX_COMPARED: Final = 256
"""Different contents among the earlier revisions; beyond it a transitive level stays undecided."""
MAX_MEASURING_SECONDS: Final = 60.0
"""All comparisons of one registration together; what is left is undecided then."""

_IN_USE: Final = frozenset({RevisionState.ACTIVE, RevisionState.DEPRECATED})

Verdict: TypeAlias = Compatible | Incompatible | Undecided


class Comparer(Protocol):
    """Compares two canonical texts; bounded in time and memory by whoever implements it."""

    async def compare(self, old: tuple[ContractKind, str], new: tuple[ContractKind, str]) -> Comparison: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredComparison:
    """A comparison with the earlier revision of that number."""

    number: RevisionNumber
    comparison: Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Newest first. Without a level nothing is enforced, and the verdict is that of BACKWARD, for information."""

    level: CompatibilityMode | None
    against: tuple[MeasuredComparison, ...]
    verdict: Verdict
