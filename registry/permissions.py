"""Who may do what to which contract: roles first, then whose it is. Every service asks here before it does anything.

What is another tenant's and private is answered as if it were not there, after the same questions to the store.
"""

from dataclasses import dataclass, replace

from policy.roles import Action, Role, needed_roles
from registry.errors import ForbiddenError, InvalidNameError, NotFoundError, TombstonedError
from registry.identifiers import AliasName, ContractName, RevisionNumber
from registry.naming import (
    ALIAS_RULE,
    NAME_RULE,
    RESERVED_ALIASES,
    RESERVED_NAMES,
    ByAlias,
    read_alias,
    read_name,
    read_reference,
)
from registry.revision import Actor, Contract
from registry.store.contracts import ContractStore
from registry.store.records import StoredRevision


def require(actor: Actor, action: Action) -> None:
    """Raises `ForbiddenError` unless one of the actor's roles is enough."""
    if not actor.roles & needed_roles(action):
        raise ForbiddenError(action)


def require_team(actor: Actor, contract: Contract, action: Action) -> None:
    """Raises `ForbiddenError` unless the actor may change what this team owns.

    Operators act for every team. An approver without a team reviews for all teams; whoever has a team keeps to it.
    """
    if contract.team is None or contract.team == actor.team or Role.OPERATOR in actor.roles:
        return
    reviews = action in {Action.APPROVE_PROMOTION, Action.ROLL_BACK, Action.SIGN}
    if reviews and actor.team is None and Role.APPROVER in actor.roles:
        return
    raise ForbiddenError(action, reason=f"the contract belongs to the team {contract.team}, which this key is not of")


def contract_name(text: str) -> ContractName:
    """Raises `InvalidNameError`."""
    name = read_name(text)
    if name is None:
        raise InvalidNameError(
            "a contract", text, reason="the name is reserved" if text in RESERVED_NAMES else NAME_RULE
        )
    return name


def alias_name(text: str) -> AliasName:
    """Raises `InvalidNameError`."""
    alias = read_alias(text)
    if alias is None:
        reason = "it is reserved for the highest number" if text in RESERVED_ALIASES else ALIAS_RULE
        raise InvalidNameError("an alias", text, reason=reason)
    return alias


def reference_to_contract(text: str) -> ByAlias:
    """`[owner/]name`, with nothing behind it. Raises `InvalidNameError`."""
    reference = read_reference(text)
    if not isinstance(reference, ByAlias) or not reference.is_bare:
        raise InvalidNameError("a contract", text)
    return reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Asks the store whose things are."""

    contracts: ContractStore

    async def owned(self, actor: Actor, text: str, action: Action, *, any_team: bool = False) -> Contract:
        """The contract `[owner/]name` of the actor's own tenant, if the actor may do that to it.

        `any_team`: whichever team it belongs to.

        Raises `ForbiddenError`, `InvalidNameError`, `NotFoundError`, `TombstonedError`.
        """
        require(actor, action)
        reference = reference_to_contract(text)
        owner = actor.tenant if reference.owner is None else reference.owner
        if owner != actor.tenant:
            # Asked as any reader asks: a private contract does not even leave the database.
            if await self.contracts.serving(actor.tenant, replace(reference, owner=owner)) is None:
                raise NotFoundError("contract", text)
            raise ForbiddenError(
                action, reason="the contract is shared by another tenant, and only that one changes it"
            )
        contract = await self.contracts.contract(actor.tenant, reference.name)
        if contract is None:
            raise NotFoundError("contract", text)
        if contract.tombstoned_at is not None:
            raise TombstonedError("contract", text)
        if not any_team:
            require_team(actor, contract, action)
        return contract

    async def revision(self, contract: Contract, number: RevisionNumber) -> StoredRevision:
        """A revision of one's own contract. Raises `NotFoundError`, `TombstonedError`."""
        stored = await self.contracts.revision(contract.tenant, contract.name, number)
        spelled = f"{contract.name}@{number}"
        if stored is None:
            raise NotFoundError("revision", spelled)
        if stored.status.tombstoned_at is not None:
            raise TombstonedError("revision", spelled)
        return stored
