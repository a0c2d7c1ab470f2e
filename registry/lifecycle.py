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
from registry.notes import checked_note
from registry.permissions import Permissions
from registry.resolution import Clock, Resolver
from registry.revision import Actor, Alias, Contract, RevisionState
from registry.store.bounds import MAX_DEPENDENTS
from registry.store.contracts import ContractStore
from registry.store.records import ContractChanges, RevisionUsage, StoredRevision
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
    """Live revisions, of any tenant, that refer to one of this contract's; counted up to `MAX_DEPENDENTS`."""
    own_dependents: tuple[StoredRevision, ...]
    """Those of the same tenant; others' names are theirs."""
    safe_to_retire: bool
    reasons: tuple[str, ...]


class Lifecycle:
    """States, changes and retirement."""

    def __init__(
        self,
        permissions: Permissions,
        usage: UsageStore,
        measuring: Measuring,
        resolver: Resolver,
        *,
        clock: Clock,
    ) -> None:
        self._permissions = permissions
        self._contracts: ContractStore = permissions.contracts
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
        checked_note("a reason", reason)
        if stored.status.state is RevisionState.DRAFT and state in {RevisionState.ACTIVE, RevisionState.DEPRECATED}:
            await self._measuring.let_in(contract, stored.revision)
        changed = await self._contracts.set_state(actor, contract.name, number, state, reason=reason, at=self._clock())
        self._resolver.forget(actor.tenant)
        return changed

    async def tombstone_revision(
        self, actor: Actor, name: str, number: RevisionNumber, *, reason: str
    ) -> StoredRevision:
        """Retire one revision. Raises `StateError` (`still_referenced`)."""
        contract = await self._permissions.owned(actor, name, Action.RETIRE)
        await self._permissions.revision(contract, number)
        checked_note("a reason", reason)
        retired = await self._contracts.tombstone_revision(
            actor, contract.name, number, reason=reason, at=self._clock()
        )
        self._resolver.forget(actor.tenant)
        return retired

    async def tombstone_contract(self, actor: Actor, name: str, *, reason: str) -> Contract:
        """Retire a contract with all its revisions. Raises `StateError` (`still_referenced`)."""
        contract = await self._permissions.owned(actor, name, Action.RETIRE)
        checked_note("a reason", reason)
        retired = await self._contracts.tombstone_contract(actor, contract.name, reason=reason, at=self._clock())
        self._resolver.forget(actor.tenant)
        return retired

    async def change_contract(
        self, actor: Actor, name: str, changes: ContractChanges, *, expected_version: int | None
    ) -> Contract:
        """Change what may change of a contract. Raises `PreconditionFailedError`."""
        contract = await self._permissions.owned(actor, name, Action.CHANGE_CONTRACT)
        changed = await self._contracts.change_contract(
            actor, contract.name, checked(changes), expected_version=expected_version, at=self._clock()
        )
        self._resolver.forget(actor.tenant)
        return changed

    async def usage(self, actor: Actor, name: str) -> UsageReport:
        """Who uses a contract of one's own."""
        raise NotImplementedError
