"""How a new revision stands to the earlier ones of its contract, and whether its level lets it in.

Drafts, sunset and retired revisions are in nobody's use, and nothing is compared with them. A draft is measured when it
is registered and once more when it becomes active, since others may have come between.
"""

import time
from dataclasses import dataclass
from typing import Final, Protocol

from policy.governance import RegistryPolicy
from registry.compatibility.comparison import Comparison
from registry.compatibility.modes import (
    CompatibilityMode,
    Compatible,
    Incompatible,
    ModeVerdict,
    Undecided,
    is_transitive,
    judge_mode,
)
from registry.compatibility.verdicts import Direction, Unknown, UnknownReason
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

_NOT_REACHED: Final = Unknown(
    reason=UnknownReason.BUDGET, message="there are more earlier revisions than one registration is compared with"
)


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
    """Newest first. Without a level nothing is asked, so nothing speaks against the revision."""

    level: CompatibilityMode | None
    against: tuple[MeasuredComparison, ...]
    verdict: ModeVerdict

    def enforce(self) -> None:
        """Raises `IncompatibleError` or `UndecidedError` if the level does not let the revision in."""
        match self.verdict:
            case Compatible():
                pass
            case Incompatible(version=version, direction=direction, unsafe=unsafe):
                raise IncompatibleError(
                    f"{self.level} is broken against revision {version}: {unsafe.message}",
                    level=str(self.level),
                    against=version,
                    question=question_of(direction),
                    witness_text=unsafe.witness_text,
                )
            case Undecided(version=version, direction=direction, unknown=unknown):
                raise UndecidedError(
                    f"whether {self.level} holds against revision {version} could not be decided, which is not a "
                    f"yes: {unknown.message}",
                    level=str(self.level),
                    against=version,
                    question=question_of(direction),
                )


class Measuring:
    """Reads the earlier revisions and has them compared."""

    def __init__(self, contracts: ContractStore, comparer: Comparer) -> None:
        self._contracts = contracts
        self._comparer = comparer

    async def measure(
        self,
        contract: Contract | None,
        *,
        kind: ContractKind,
        text: str,
        level: CompatibilityMode | None,
        but: RevisionNumber | None = None,
    ) -> Measured:
        """Compare a canonical text with the earlier revisions that the level asks about, at least with the newest.

        `but` is left out: a draft that is becoming active is not measured against itself.
        """
        if contract is None or contract.tombstoned_at is not None:
            return Measured(level=level, against=(), verdict=Compatible())
        many = level is not None and is_transitive(level)
        earlier = await self._earlier(contract, many=many, but=but)
        deadline = time.monotonic() + MAX_MEASURING_SECONDS
        against: list[MeasuredComparison] = []
        for number, revision in earlier:
            if len(against) == MAX_COMPARED or time.monotonic() > deadline:
                # What was not looked at is not known, and so not let in.
                unknown = Comparison(consumer_safe=_NOT_REACHED, producer_safe=_NOT_REACHED, changes=())
                against.append(MeasuredComparison(number=number, comparison=unknown))
                break
            old = (revision.kind, revision.canonical_text)
            comparison = await self._comparer.compare(old, (kind, text))
            against.append(MeasuredComparison(number=number, comparison=comparison))
        asked = CompatibilityMode.NONE if level is None else level
        verdict = judge_mode(asked, [(one.number, one.comparison) for one in against])
        return Measured(level=level, against=tuple(against), verdict=verdict)

    async def let_in(self, contract: Contract, revision: Revision, policy: RegistryPolicy) -> None:
        """Raises `IncompatibleError` or `UndecidedError` if a draft may not become active at its contract's level."""
        level = level_of(contract, policy)
        if level is None or level is CompatibilityMode.NONE:
            return
        measured = await self.measure(
            contract,
            kind=revision.kind,
            text=revision.canonical_text,
            level=level,
            but=revision.number,
        )
        measured.enforce()

    async def _earlier(
        self, contract: Contract, *, many: bool, but: RevisionNumber | None
    ) -> list[tuple[RevisionNumber, Revision]]:
        """Revisions in use, newest first, each content once; only the newest unless `many`."""
        found: dict[ContractDigest, Revision] = {}
        cursor: str | None = None
        # The newest revision is nearly always in use: the first look is at that one alone.
        limit = MAX_PAGE if many else 1
        while True:
            page = await self._contracts.revisions(contract.tenant, contract.name, cursor=cursor, limit=limit)
            for stored in page.items:
                if stored.status.state in _IN_USE and stored.revision.number != but:
                    found.setdefault(stored.revision.digest, stored.revision)
                    if not many or len(found) > MAX_COMPARED:
                        return [(revision.number, revision) for revision in found.values()]
            if page.next_cursor is None:
                return [(revision.number, revision) for revision in found.values()]
            cursor, limit = page.next_cursor, MAX_PAGE


def level_of(
    contract: Contract | None, policy: RegistryPolicy, default: CompatibilityMode | None = None
) -> CompatibilityMode | None:
    """The contract's own level, else its tenant's, else the default."""
    if contract is not None and contract.compatibility is not None:
        return contract.compatibility
    return default if policy.compatibility is None else CompatibilityMode(policy.compatibility)


def question_of(direction: Direction) -> str:
    """How errors name a direction."""
    return direction.name.lower()
