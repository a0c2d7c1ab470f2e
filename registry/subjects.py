"""What a Confluent registry can do that ours has no other use for: leaving retired revisions out of every list."""

from dataclasses import dataclass

from policy.roles import Action
from registry.errors import NotFoundError
from registry.identifiers import ContractName, RevisionNumber
from registry.permissions import require, require_team
from registry.resolution import Clock
from registry.revision import Actor
from registry.store.contracts import ContractStore
from registry.store.subjects import Standing, SubjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Subjects:
    """`store` is for reading. A tenant's subjects are its own contracts: what others share is no subject of it."""

    store: SubjectStore
    contracts: ContractStore
    clock: Clock

    async def hide(
        self, actor: Actor, name: ContractName, number: RevisionNumber | None = None
    ) -> tuple[RevisionNumber, ...]:
        """Hide one retired version of a subject, or all of them; which were hidden.

        The bytes and the numbers stay: nothing is destroyed, and no number is given out again.
        Raises `ForbiddenError`, `NotFoundError`.
        """
        require(actor, Action.RETIRE)
        contract = await self.contracts.contract(actor.tenant, name)
        if contract is None:
            raise NotFoundError("contract", name)
        require_team(actor, contract, Action.RETIRE)
        if number is None:
            retired = await self.store.versions(actor.tenant, name, standing=Standing.RETIRED)
        else:
            one = await self.store.version(actor.tenant, name, number=number, standing=Standing.RETIRED)
            retired = () if one is None else (one,)
        return await self.store.hide(actor, name, retired, at=self.clock())
