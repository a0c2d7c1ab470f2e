"""Registering: examined, then stored, with the number that the comparisons were made against.

Where another revision came first, the comparisons are made again.
"""

import asyncio
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from policy.roles import Action
from registry.compatibility.modes import CompatibilityMode
from registry.errors import PreconditionFailedError
from registry.examination import Examined, Examiner, Read, checked_name
from registry.identifiers import ContractName, TeamName, TenantId
from registry.permissions import require
from registry.registration import Registration, RegistrationOutcome
from registry.resolution import Clock, Resolving
from registry.revision import Actor, ContractClass, Visibility
from registry.sources import profile_members
from registry.store.contracts import ContractStore
from registry.store.records import NewRevision, Registered, Sameness

MAX_ATTEMPTS: Final = 3
"""To register where other processes register under the same name: each time the comparisons are made again."""


class Registrar:
    """Registers revisions of one's own contracts."""

    def __init__(self, contracts: ContractStore, examiner: Examiner, resolver: Resolving, *, clock: Clock) -> None:
        self._contracts = contracts
        self._examiner = examiner
        self._resolver = resolver
        self._clock = clock
        self._turns: WeakValueDictionary[tuple[TenantId, ContractName], asyncio.Lock] = WeakValueDictionary()

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
        name = checked_name(registration)
        asked = _Asked(registration=registration, name=name, same=same, default_level=default_level, revive=revive)
        if dry_run:
            return _outcome(await self._examine(actor, asked, None), stored=None)
        # Within this process they queue up, so that only other processes can come in between.
        async with self._turns.setdefault((actor.tenant, name), asyncio.Lock()):
            return await self._register(actor, asked)

    async def check(
        self, actor: Actor, registration: Registration, *, level: CompatibilityMode | None = None
    ) -> RegistrationOutcome:
        """What registering would find; an incompatible or undecided verdict is an answer here, not an error."""
        require(actor, Action.READ_CONTRACT)
        examined = await self._examiner.measured(actor, registration, checked_name(registration), level=level)
        return _outcome(examined, stored=None)

    async def _register(self, actor: Actor, asked: "_Asked") -> RegistrationOutcome:
        examined: Examined | None = None
        attempt = 1
        while True:
            examined = await self._examine(actor, asked, examined)
            contract, existing = examined.place.contract, examined.existing
            if contract is not None and existing is not None:
                stored = Registered(contract=contract, revision=existing.revision, status=existing.status, is_new=False)
                return _outcome(examined, stored=stored)
            try:
                stored = await self._contracts.register(
                    actor,
                    _new_revision(actor, asked.registration, asked.name, examined.read),
                    same=asked.same,
                    expected_latest=None if contract is None else contract.latest,
                    revive=asked.revive,
                    at=self._clock(),
                )
            except PreconditionFailedError:
                if attempt == MAX_ATTEMPTS:
                    raise
                attempt += 1
                continue
            self._resolver.forget(actor.tenant)
            return _outcome(examined, stored=stored)

    async def _examine(self, actor: Actor, asked: "_Asked", before: Examined | None) -> Examined:
        return await self._examiner.examine(
            actor,
            asked.registration,
            asked.name,
            before=before,
            same=asked.same,
            default_level=asked.default_level,
            revive=asked.revive,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    registration: Registration
    name: ContractName
    same: Sameness
    default_level: CompatibilityMode | None
    revive: bool


def _new_revision(actor: Actor, registration: Registration, name: ContractName, read: Read) -> NewRevision:
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


def _outcome(examined: Examined, *, stored: Registered | None) -> RegistrationOutcome:
    is_new = examined.existing is None and (stored is None or stored.is_new)
    return RegistrationOutcome(
        contract=examined.read.contract,
        stored=stored,
        against=examined.measured.against,
        level=examined.measured.level,
        is_enforced=is_new and examined.measured.level is not None,
        verdict=examined.measured.verdict,
    )
