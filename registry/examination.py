"""Everything that is found out about a registration before anything is stored.

The order is that of cost and of blame: whose the name is, then the text, then what it does to its readers.
"""

import asyncio
from dataclasses import dataclass

from policy.entitlement import Entitlements
from policy.governance import RegistryPolicy
from policy.limits import GOVERNED, TENANT, LimitClass
from policy.roles import Action
from registry.compatibility.modes import CompatibilityMode
from registry.contract import CanonicalContract
from registry.contract_terms import check_kind, check_new_team, check_terms
from registry.dependencies import Dependencies
from registry.errors import StateError, TombstonedError
from registry.identifiers import ContractName
from registry.measuring import Measured, Measuring, level_of
from registry.permissions import contract_name, require_team
from registry.reader import Reader
from registry.registration import Registration
from registry.revision import Actor, Contract, ContractClass, Dependency, RevisionState
from registry.sources import source_digest
from registry.store.contracts import ContractStore
from registry.store.notes import checked_note
from registry.store.policies import PolicyStore
from registry.store.records import Sameness, StoredRevision
from registry.text import canonical_json

FIRST_STATES = frozenset({RevisionState.DRAFT, RevisionState.ACTIVE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the revision would stand."""

    contract: Contract | None
    policy: RegistryPolicy
    limits: LimitClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What the definition is."""

    contract: CanonicalContract
    limits: LimitClass
    dependencies: tuple[Dependency, ...]
    source_text: str
    source_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """All that registering needs to know; `existing` is the live revision that this one is, if there is one."""

    place: Place
    read: Read
    measured: Measured
    existing: StoredRevision | None


class Examiner:
    """Reads a registration and measures it against what is there."""

    def __init__(
        self,
        *,
        contracts: ContractStore,
        policies: PolicyStore,
        dependencies: Dependencies,
        measuring: Measuring,
        reader: Reader,
        entitlements: Entitlements,
    ) -> None:
        self._contracts = contracts
        self._policies = policies
        self._dependencies = dependencies
        self._measuring = measuring
        self._reader = reader
        self._entitlements = entitlements

    async def examine(
        self,
        actor: Actor,
        registration: Registration,
        name: ContractName,
        *,
        before: Examined | None,
        same: Sameness,
        default_level: CompatibilityMode | None,
        revive: bool,
    ) -> Examined:
        """Everything, or the first reason why it may not be registered; see `Registrar.register` for what is raised.

        What was found out `before` is not asked again where it cannot have changed.
        """
        place = await self._place(actor, registration, name, revive=revive)
        if place.contract is not None:
            require_team(actor, place.contract, Action.REGISTER_REVISION)
        is_read = before is not None and before.place.limits is place.limits
        read = before.read if before is not None and is_read else await self._read(actor, registration, place)
        level = level_of(place.contract, place.policy, default_level)
        if place.contract is None and registration.compatibility is not None:
            level = registration.compatibility
        existing = await self._existing(place, read, registration, same)
        measured = await self._measure(place, read, level)
        if existing is None:
            measured.enforce()
        return Examined(place=place, read=read, measured=measured, existing=existing)

    async def measured(
        self, actor: Actor, registration: Registration, name: ContractName, *, level: CompatibilityMode | None
    ) -> Examined:
        """How it stands to the level, its contract's where none is named; a verdict against it is no error here."""
        place = await self._place(actor, registration, name, revive=True)
        read = await self._read(actor, registration, place)
        asked = level_of(place.contract, place.policy) if level is None else level
        return Examined(place=place, read=read, measured=await self._measure(place, read, asked), existing=None)

    async def _place(self, actor: Actor, registration: Registration, name: ContractName, *, revive: bool) -> "Place":
        """Where the revision would stand, once it is sure that the actor may put it there."""
        contract = await self._contracts.contract(actor.tenant, name)
        policy = (await self._policies.policy(actor.tenant)).policy
        if contract is None:
            check_new_team(actor, registration.team)
            contract_class = registration.contract_class or ContractClass.TENANT
        else:
            if contract.tombstoned_at is not None and not revive:
                raise TombstonedError("contract", name)
            check_kind(contract, registration.kind)
            check_terms(
                contract,
                team=registration.team,
                visibility=registration.visibility,
                contract_class=registration.contract_class,
                compatibility=registration.compatibility,
                description=registration.description,
            )
            contract_class = contract.contract_class
        if contract_class is ContractClass.GOVERNED:
            if not self._entitlements.may_govern(actor.tenant):
                raise StateError("governed_not_allowed", "this installation lets the tenant have no governed contracts")
            if not policy.allow_governed:
                raise StateError("governed_not_allowed", "the tenant's policy allows no governed contracts")
        limits = GOVERNED if contract_class is ContractClass.GOVERNED else TENANT
        return Place(contract=contract, policy=policy, limits=limits)

    async def _read(self, actor: Actor, registration: Registration, place: "Place") -> "Read":
        gathered = await self._dependencies.gather(
            actor.tenant,
            registration.kind,
            registration.definition,
            references=registration.references,
            limits=place.limits.references,
        )
        contract = await self._reader.read(
            registration.kind,
            registration.definition,
            limits=place.limits.contract,
            policy=registration.policy,
            texts=gathered.texts,
            dialect=registration.dialect,
            tenant=actor.tenant,
        )
        source_text = await asyncio.to_thread(canonical_json, registration.definition)
        return Read(
            contract=contract,
            limits=place.limits,
            dependencies=gathered.used(contract.documents),
            source_text=source_text,
            source_digest=source_digest(
                registration.kind, source_text, dialect=registration.dialect, references=registration.references
            ),
        )

    async def _existing(
        self, place: "Place", read: "Read", registration: Registration, same: Sameness
    ) -> StoredRevision | None:
        """The live revision that this one is, if the contract has it."""
        contract = place.contract
        if contract is None or contract.tombstoned_at is not None:
            return None
        match same:
            case Sameness.SOURCE:
                return await self._contracts.revision_with_source(contract.tenant, contract.name, read.source_digest)
            case Sameness.CONTENT:
                found = await self._contracts.revisions_with_digest(
                    contract.tenant, read.contract.digest, name=contract.name, owner=contract.tenant
                )
                wanted = (read.contract.annotation_digest, registration.policy)
                return next(
                    (one for one in found if (one.revision.annotation_digest, one.revision.policy) == wanted), None
                )

    async def _measure(self, place: "Place", read: "Read", level: CompatibilityMode | None) -> Measured:
        return await self._measuring.measure(
            place.contract, kind=read.contract.kind, text=read.contract.text, level=level
        )


def checked_name(registration: Registration) -> ContractName:
    if registration.state not in FIRST_STATES:
        raise StateError("first_state", f"a revision begins as draft or active, not as {registration.state}")
    checked_note("a message", registration.message)
    checked_note("a description", registration.description or "")
    return contract_name(registration.name)
