"""What has to be true of a revision before an alias moves to it, asked of the store and the comparer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from policy.governance import PromotionSafety, RegistryPolicy
from registry.compatibility.modes import CompatibilityMode, Compatible, Incompatible, Undecided, judge_mode
from registry.contract import JsonValue
from registry.errors import (
    IncompatibleError,
    PreconditionFailedError,
    SignatureRequiredError,
    StateError,
    UndecidedError,
)
from registry.governing import Demands, demands_of
from registry.identifiers import AliasName, RevisionNumber
from registry.measuring import Comparer, Measuring, question_of
from registry.permissions import Permissions
from registry.revision import Alias, Contract, Revision, RevisionState, SignatureStatus
from registry.signatures import status_of
from registry.store.policies import PolicyStore
from registry.store.records import StoredRevision
from registry.store.signatures import SignatureStore

_LEVELS: Mapping[PromotionSafety, CompatibilityMode] = {
    PromotionSafety.ANY: CompatibilityMode.NONE,
    PromotionSafety.CONSUMER_SAFE: CompatibilityMode.FORWARD,
    PromotionSafety.PRODUCER_SAFE: CompatibilityMode.BACKWARD,
    PromotionSafety.BOTH: CompatibilityMode.FULL,
}

MAX_READINGS: Final = 3
"""Of a policy that is changed while it is kept to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """Nothing stands against the move, but perhaps that it takes a second person."""

    demands: Demands
    audit_details: Mapping[str, JsonValue]
    """What the audit has to say of it: that it moved regardless, where it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proving:
    """Asks everything anew each time; nothing is remembered from a proposal."""

    permissions: Permissions
    policies: PolicyStore
    signatures: SignatureStore
    measuring: Measuring
    comparer: Comparer

    async def prove(
        self,
        contract: Contract,
        alias: AliasName,
        number: RevisionNumber,
        present: Alias | None,
        *,
        override: bool,
        at: datetime,
    ) -> Proved:
        """Raises `NotFoundError`, `TombstonedError`, `StateError` (`sunset_revision`), `SignatureRequiredError`,
        `PreconditionFailedError` (the policy does not hold still), and without `override` also `IncompatibleError` and
        `UndecidedError`."""
        record = await self.policies.policy(contract.tenant)
        reading = 1
        while True:
            proved = await self._prove_under(record.policy, contract, alias, number, present, override=override, at=at)
            # Comparing may have taken a minute, and what is asked for or true may be another thing by now.
            latest = await self.policies.policy(contract.tenant)
            if latest.version == record.version:
                await self._target(contract, alias, number, proved.demands, at)
                return proved
            if reading == MAX_READINGS:
                raise PreconditionFailedError(expected=record.version, observed=latest.version)
            record, reading = latest, reading + 1

    async def demands(self, contract: Contract, alias: AliasName) -> Demands:
        """What policy and class ask of the alias now."""
        policy = (await self.policies.policy(contract.tenant)).policy
        return demands_of(policy, contract.contract_class, alias)

    async def check_served(self, contract: Contract, alias: AliasName, number: RevisionNumber, *, at: datetime) -> None:
        """What a rollback asks: that the revision could be served under the alias."""
        await self._target(contract, alias, number, await self.demands(contract, alias), at)

    async def _prove_under(
        self,
        policy: RegistryPolicy,
        contract: Contract,
        alias: AliasName,
        number: RevisionNumber,
        present: Alias | None,
        *,
        override: bool,
        at: datetime,
    ) -> Proved:
        demands = demands_of(policy, contract.contract_class, alias)
        target = await self._target(contract, alias, number, demands, at)
        if target.status.state is RevisionState.DRAFT:
            # The move makes it active, so what activation asks is asked here.
            await self.measuring.let_in(contract, target.revision, policy)
        unproved: str | None = None
        if present is not None and present.number != number:
            try:
                await self._check_safety(contract, target.revision, present, demands)
            except (IncompatibleError, UndecidedError) as error:
                if not override:
                    raise
                unproved = str(error)
        details: dict[str, JsonValue] = {} if unproved is None else {"regardless": unproved}
        return Proved(demands=demands, audit_details=details)

    async def _target(
        self, contract: Contract, alias: AliasName, number: RevisionNumber, demands: Demands, at: datetime
    ) -> StoredRevision:
        target = await self.permissions.revision(contract, number)
        spelled = f"{contract.name}@{number}"
        if target.status.state is RevisionState.SUNSET:
            raise StateError("sunset_revision", f"{spelled} is no longer served, so no alias can move to it")
        if demands.signature:
            pairs = await self.signatures.signatures(target.revision.revision_id)
            status, _ = status_of(target.revision, pairs, at)
            if status is not SignatureStatus.SIGNED:
                why = "it has none" if status is SignatureStatus.UNSIGNED else "none of its signatures counts any more"
                raise SignatureRequiredError(f"the alias {alias} moves only to a signed revision, and {spelled}: {why}")
        return target

    async def _check_safety(self, contract: Contract, target: Revision, present: Alias, demands: Demands) -> None:
        level = _LEVELS[demands.safety]
        if level is CompatibilityMode.NONE:
            return
        old = (await self.permissions.revision(contract, present.number)).revision
        comparison = await self.comparer.compare((old.kind, old.canonical_text), (target.kind, target.canonical_text))
        match judge_mode(level, [(present.number, comparison)]):
            case Compatible():
                pass
            case Incompatible(version=version, direction=direction, unsafe=unsafe):
                raise IncompatibleError(
                    f"revision {target.number} is not {question_of(direction).replace('_', '-')} against revision "
                    f"{version}, which {present.alias} names now: {unsafe.message}",
                    level=demands.safety,
                    against=version,
                    question=question_of(direction),
                    witness_text=unsafe.witness_text,
                )
            case Undecided(version=version, direction=direction, unknown=unknown):
                raise UndecidedError(
                    f"whether revision {target.number} is {question_of(direction).replace('_', '-')} against revision "
                    f"{version}, which {present.alias} names now, could not be decided, which is not a yes: "
                    f"{unknown.message}",
                    level=demands.safety,
                    against=version,
                    question=question_of(direction),
                )
