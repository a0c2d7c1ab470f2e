"""What happens to revisions and contracts after they were registered, and whether they may go.

A state only moves forwards, and nothing that is still pointed to or leaned on is retired. Retiring hides; the bytes,
the number and the name stay taken.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from policy.roles import Action
from registry.errors import InvalidNameError
from registry.identifiers import RevisionNumber
from registry.measuring import Measuring
from registry.naming import read_team
from registry.permissions import Permissions
from registry.resolution import Clock, Resolving
from registry.revision import Actor, Alias, Contract, RevisionState
from registry.store.bounds import MAX_DEPENDENTS
from registry.store.contracts import ContractStore
from registry.store.policies import PolicyStore
from registry.store.records import ContractChanges, RevisionUsage, StoredRevision, Unchanged
from registry.store.usage import UsageStore

RECENT_USE: Final = timedelta(days=30)
"""A request within this time says that somebody would miss the contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """Who would miss a contract. `reasons` is empty exactly if `safe_to_retire`."""

    contract: Contract
    revisions: tuple[RevisionUsage, ...]
    aliases: tuple[Alias, ...]
    num_dependents: int
    """Live revisions of the same tenant that refer to one of this contract's, counted up to `MAX_DEPENDENTS`."""
    own_dependents: tuple[StoredRevision, ...]
    others_depend: bool
    """Whether other tenants' do: who, and how many, is theirs to know."""
    safe_to_retire: bool
    reasons: tuple[str, ...]


class Lifecycle:
    """States, changes and retirement."""

    def __init__(
        self,
        permissions: Permissions,
        policies: PolicyStore,
        usage: UsageStore,
        measuring: Measuring,
        resolver: Resolving,
        *,
        clock: Clock,
    ) -> None:
        self._permissions = permissions
        self._contracts: ContractStore = permissions.contracts
        self._policies = policies
        self._usage = usage
        self._measuring = measuring
        self._resolver = resolver
        self._clock = clock

    async def set_state(
        self, actor: Actor, name: str, number: RevisionNumber, state: RevisionState, *, reason: str
    ) -> StoredRevision:
        """Move a revision's state forwards. A draft becomes active only where its contract's level lets it in.

        Raises `StateError` (`backwards_state`, `still_referenced`), `IncompatibleError`, `UndecidedError`.
        """
        contract = await self._permissions.owned(actor, name, Action.CHANGE_STATE)
        stored = await self._permissions.revision(contract, number)
        if stored.status.state is RevisionState.DRAFT and state in {RevisionState.ACTIVE, RevisionState.DEPRECATED}:
            policy = (await self._policies.policy(actor.tenant)).policy
            await self._measuring.let_in(contract, stored.revision, policy)
        changed = await self._contracts.set_state(actor, contract.name, number, state, reason=reason, at=self._clock())
        self._resolver.forget(actor.tenant)
        return changed

    async def tombstone_revision(
        self, actor: Actor, name: str, number: RevisionNumber, *, reason: str
    ) -> StoredRevision:
        """Retire one revision. Raises `StateError` (`still_referenced`)."""
        contract = await self._permissions.owned(actor, name, Action.RETIRE)
        await self._permissions.revision(contract, number)
        retired = await self._contracts.tombstone_revision(
            actor, contract.name, number, reason=reason, at=self._clock()
        )
        self._resolver.forget(actor.tenant)
        return retired

    async def tombstone_contract(self, actor: Actor, name: str, *, reason: str) -> Contract:
        """Retire a contract with all its revisions. Raises `StateError` (`still_referenced`)."""
        contract = await self._permissions.owned(actor, name, Action.RETIRE)
        retired = await self._contracts.tombstone_contract(actor, contract.name, reason=reason, at=self._clock())
        self._resolver.forget(actor.tenant)
        return retired

    async def change_contract(
        self, actor: Actor, name: str, changes: ContractChanges, *, expected_version: int | None
    ) -> Contract:
        """Change what may change of a contract. A team may give its contract to another, and does not take one.

        Raises `PreconditionFailedError`, `InvalidNameError`, `StateError` (`still_referenced`).
        """
        contract = await self._permissions.owned(actor, name, Action.CHANGE_CONTRACT)
        team = changes.team
        if team is not None and not isinstance(team, Unchanged) and read_team(team) is None:
            raise InvalidNameError("a team", team)
        changed = await self._contracts.change_contract(
            actor, contract.name, changes, expected_version=expected_version, at=self._clock()
        )
        self._resolver.forget(actor.tenant)
        return changed

    async def usage(self, actor: Actor, name: str) -> UsageReport:
        """Who uses a contract of one's own, and who would miss it."""
        contract = await self._permissions.owned(actor, name, Action.READ_CONTRACT, any_team=True)
        revisions = await self._usage.usage(contract.tenant, contract.name)
        aliases = await self._contracts.aliases(contract.tenant, contract.name)
        dependents = await self._contracts.dependents_of_contract(contract.tenant, contract.name)
        used = [revision.last_used_at for revision in revisions if revision.last_used_at is not None]
        own = tuple(each for each in dependents if each.revision.tenant == contract.tenant)
        others_depend = len(own) < len(dependents)
        reasons = _reasons(
            aliases,
            num_own=len(own),
            others_depend=others_depend,
            last_used_at=max(used, default=None),
            at=self._clock(),
        )
        return UsageReport(
            contract=contract,
            revisions=revisions,
            aliases=aliases,
            num_dependents=len(own),
            own_dependents=own,
            others_depend=others_depend,
            safe_to_retire=not reasons,
            reasons=reasons,
        )


def _reasons(
    aliases: tuple[Alias, ...],
    *,
    num_own: int,
    others_depend: bool,
    last_used_at: datetime | None,
    at: datetime,
) -> tuple[str, ...]:
    reasons: list[str] = []
    if aliases:
        named = ", ".join(alias.alias for alias in aliases[:5])
        reasons.append(f"{len(aliases)} aliases point to its revisions: {named}{', …' if len(aliases) > 5 else ''}")
    if num_own:
        count = f"{MAX_DEPENDENTS} or more" if num_own >= MAX_DEPENDENTS else str(num_own)
        reasons.append(f"revisions of other contracts refer to it: {count}")
    if others_depend:
        reasons.append("revisions of other tenants refer to it")
    if last_used_at is not None and at - last_used_at < RECENT_USE:
        reasons.append(f"it was last used on {last_used_at.date().isoformat()}, within {RECENT_USE.days} days")
    return tuple(reasons)
