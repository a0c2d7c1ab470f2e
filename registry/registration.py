"""Registering a revision: read, measure against what is there, and only then store.

The order is that of cost and of blame: roles and names, then the text, then what it does to its readers. The store is
asked last, with the number that the comparisons were made against; where another revision came first, they are made
again.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from policy.enforcement import EnforcementPolicy
from policy.governance import RegistryPolicy
from policy.limits import GOVERNED, TENANT, LimitClass
from policy.roles import Action, Role
from registry.compatibility.modes import CompatibilityMode, ModeVerdict
from registry.contract import CanonicalContract, ContractKind, JsonValue
from registry.dependencies import Dependencies
from registry.errors import ForbiddenError, InvalidNameError, PreconditionFailedError, StateError, TombstonedError
from registry.identifiers import ContractName, TeamName
from registry.measuring import Measured, MeasuredComparison, Measuring, level_of
from registry.naming import ByNumber, read_team
from registry.permissions import contract_name, require, require_team
from registry.reader import Reader
from registry.resolution import Clock, Resolving
from registry.revision import Actor, Contract, ContractClass, Dependency, RevisionState, Visibility
from registry.sources import profile_members, source_digest
from registry.store.contracts import ContractStore
from registry.store.notes import checked_note
from registry.store.policies import PolicyStore
from registry.store.records import NewRevision, Registered, Sameness, StoredRevision
from registry.text import canonical_json

MAX_ATTEMPTS: Final = 3
"""To register where others register under the same name: each time the comparisons are made again."""
FIRST_STATES: Final = frozenset({RevisionState.DRAFT, RevisionState.ACTIVE})


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


class Registrar:
    """Registers revisions of one's own contracts."""

    def __init__(
        self,
        *,
        contracts: ContractStore,
        policies: PolicyStore,
        dependencies: Dependencies,
        measuring: Measuring,
        reader: Reader,
        resolver: Resolving,
        clock: Clock,
    ) -> None:
        self._contracts = contracts
        self._policies = policies
        self._dependencies = dependencies
        self._measuring = measuring
        self._reader = reader
        self._resolver = resolver
        self._clock = clock

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

        `default_level` holds where neither contract nor policy sets one. What the contract already has is given back
        without a question of levels. Raises `ContractRejectedError`, `IncompatibleError`, `UndecidedError`,
        `StateError` (`contract_kind`, `other_terms`, `governed_not_allowed`, `first_state`), `ForbiddenError`,
        `InvalidNameError`, `TombstonedError` (not with `revive`), `PreconditionFailedError` (others registered in
        between, `MAX_ATTEMPTS` times).
        """
        require(actor, Action.REGISTER_REVISION)
        name = _checked_name(registration)
        read: _Read | None = None
        attempt = 1
        while True:
            place = await self._place(actor, registration, name, revive=revive)
            if place.contract is not None:
                require_team(actor, place.contract, Action.REGISTER_REVISION)
            if read is None or read.limits is not place.limits:
                read = await self._read(actor, registration, place)
            level = level_of(place.contract, place.policy, default_level)
            if place.contract is None and registration.compatibility is not None:
                level = registration.compatibility
            existing = await self._existing(place, read, registration, same)
            measured = await self._measure(place, read, level)
            if existing is None:
                measured.enforce()
            if dry_run:
                return _outcome(read, measured, stored=None, is_new=existing is None)
            if existing is not None and place.contract is not None:
                stored = Registered(
                    contract=place.contract, revision=existing.revision, status=existing.status, is_new=False
                )
                return _outcome(read, measured, stored=stored, is_new=False)
            try:
                stored = await self._contracts.register(
                    actor,
                    _new_revision(actor, registration, name, read),
                    same=same,
                    expected_latest=None if place.contract is None else place.contract.latest,
                    revive=revive,
                    at=self._clock(),
                )
            except PreconditionFailedError:
                if attempt == MAX_ATTEMPTS:
                    raise
                attempt += 1
                continue
            self._resolver.forget(actor.tenant)
            return _outcome(read, measured, stored=stored, is_new=stored.is_new)

    async def check(
        self, actor: Actor, registration: Registration, *, level: CompatibilityMode | None = None
    ) -> RegistrationOutcome:
        """What registering would find; an incompatible or undecided verdict is an answer here, not an error."""
        require(actor, Action.READ_CONTRACT)
        place = await self._place(actor, registration, _checked_name(registration), revive=True)
        read = await self._read(actor, registration, place)
        asked = level_of(place.contract, place.policy) if level is None else level
        return _outcome(read, await self._measure(place, read, asked), stored=None, is_new=True)

    async def _place(self, actor: Actor, registration: Registration, name: ContractName, *, revive: bool) -> "_Place":
        """Where the revision would stand, once it is sure that the actor may put it there."""
        contract = await self._contracts.contract(actor.tenant, name)
        policy = (await self._policies.policy(actor.tenant)).policy
        if contract is None:
            _check_first(actor, registration)
            contract_class = registration.contract_class or ContractClass.TENANT
        else:
            if contract.tombstoned_at is not None and not revive:
                raise TombstonedError("contract", name)
            _check_terms(contract, registration)
            contract_class = contract.contract_class
        if contract_class is ContractClass.GOVERNED and not policy.allow_governed:
            raise StateError("governed_not_allowed", "the tenant's policy allows no governed contracts")
        limits = GOVERNED if contract_class is ContractClass.GOVERNED else TENANT
        return _Place(contract=contract, policy=policy, limits=limits)

    async def _read(self, actor: Actor, registration: Registration, place: "_Place") -> "_Read":
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
        )
        source_text = await asyncio.to_thread(canonical_json, registration.definition)
        return _Read(
            contract=contract,
            limits=place.limits,
            dependencies=gathered.used(contract.documents),
            source_text=source_text,
            source_digest=source_digest(
                registration.kind, source_text, dialect=registration.dialect, references=registration.references
            ),
        )

    async def _existing(
        self, place: "_Place", read: "_Read", registration: Registration, same: Sameness
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

    async def _measure(self, place: "_Place", read: "_Read", level: CompatibilityMode | None) -> Measured:
        return await self._measuring.measure(
            place.contract, kind=read.contract.kind, text=read.contract.text, level=level
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    contract: Contract | None
    policy: RegistryPolicy
    limits: LimitClass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    contract: CanonicalContract
    limits: LimitClass
    dependencies: tuple[Dependency, ...]
    source_text: str
    source_digest: str


def _checked_name(registration: Registration) -> ContractName:
    if registration.state not in FIRST_STATES:
        raise StateError("first_state", f"a revision begins as draft or active, not as {registration.state}")
    checked_note("a message", registration.message)
    checked_note("a description", registration.description or "")
    return contract_name(registration.name)


def _check_first(actor: Actor, registration: Registration) -> None:
    """Names are for one's own team; operators give them to any."""
    team = registration.team
    if team is None:
        return
    if read_team(team) is None:
        raise InvalidNameError("a team", team)
    if team != actor.team and Role.OPERATOR not in actor.roles:
        raise ForbiddenError(Action.REGISTER_REVISION, reason=f"this key is not of the team {team}")


def _check_terms(contract: Contract, registration: Registration) -> None:
    """What is said beside a further revision has to be what already holds: registering changes no terms in passing."""
    if contract.kind is not registration.kind:
        raise StateError(
            "contract_kind",
            f"{contract.name} holds contracts of kind {contract.kind}, not {registration.kind}: use another name",
        )
    said = {
        "team": (registration.team, contract.team),
        "visibility": (registration.visibility, contract.visibility),
        "class": (registration.contract_class, contract.contract_class),
        "compatibility": (registration.compatibility, contract.compatibility),
        "description": (registration.description, contract.description),
    }
    for member, (new, held) in said.items():
        if new is not None and new != held:
            hint = "it never changes" if member == "class" else "change the contract first"
            raise StateError("other_terms", f"the {member} of {contract.name} is {held}, not {new}: {hint}")


def _new_revision(actor: Actor, registration: Registration, name: ContractName, read: _Read) -> NewRevision:
    contract = read.contract
    return NewRevision(
        name=name,
        kind=contract.kind,
        digest=contract.digest,
        annotation_digest=contract.annotation_digest,
        source_text=read.source_text,
        source_digest=read.source_digest,
        canonical_text=contract.text,
        policy=registration.policy,
        dialect=registration.dialect,
        transformations=contract.transformations,
        profile=profile_members(contract.profile),
        dependencies=read.dependencies,
        message=registration.message,
        state=registration.state,
        team=actor.team if registration.team is None else TeamName(registration.team),
        visibility=registration.visibility or Visibility.PRIVATE,
        contract_class=registration.contract_class or ContractClass.TENANT,
        compatibility=registration.compatibility,
        description=registration.description or "",
    )


def _outcome(read: _Read, measured: Measured, *, stored: Registered | None, is_new: bool) -> RegistrationOutcome:
    return RegistrationOutcome(
        contract=read.contract,
        stored=stored,
        against=measured.against,
        level=measured.level,
        is_enforced=is_new and measured.level is not None,
        verdict=measured.verdict,
    )
