"""Moving an alias: straight away where policy lets one person do it, else proposed by one and applied by another.

Whatever was true at the proposal is checked again when it is applied: the revision may have been retired, a key
revoked, the alias moved, the policy tightened.
"""

from dataclasses import dataclass
from typing import Final

from policy.governance import PromotionSafety
from policy.roles import Action, Role
from registry.audit import AuditAction
from registry.errors import ForbiddenError, NotFoundError, PreconditionFailedError, SecondPersonError, StateError
from registry.identifiers import AliasName, PromotionId, RevisionNumber
from registry.permissions import Permissions, alias_name, require
from registry.proving import Proved, Proving
from registry.resolution import Clock, Resolving
from registry.revision import Actor, Alias, Contract, Promotion, PromotionState
from registry.store.bounds import DEFAULT_PAGE
from registry.store.contracts import ContractStore
from registry.store.promotions import PromotionStore
from registry.store.records import Page

MAX_ATTEMPTS: Final = 3
"""To move an alias that others move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The alias names the revision now."""

    alias: Alias
    is_new: bool
    """Whether the move has made the alias."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """It takes a second person; nothing has moved yet."""

    promotion: Promotion


class Promoter:
    """Aliases of one's own contracts. Every method checks roles, ownership and policy."""

    def __init__(
        self,
        permissions: Permissions,
        promotions: PromotionStore,
        proving: Proving,
        resolver: Resolving,
        *,
        clock: Clock,
    ) -> None:
        self._permissions = permissions
        self._contracts: ContractStore = permissions.contracts
        self._promotions = promotions
        self._proving = proving
        self._resolver = resolver
        self._clock = clock

    async def promote(
        self,
        actor: Actor,
        name: str,
        alias: str,
        number: RevisionNumber,
        *,
        expected_version: int | None = None,
        must_be_new: bool = False,
        reason: str = "",
        override: bool = False,
    ) -> Promoted | Proposed:
        """Move the alias, or propose to. `override`: although safety was not proved; it takes an operator.

        An alias that names the revision already stays as it is. Raises `SignatureRequiredError`, `IncompatibleError`,
        `UndecidedError`, `PreconditionFailedError`, `StateError`, and whatever naming may raise.
        """
        contract = await self._permissions.owned(actor, name, Action.PROMOTE)
        if override:
            require(actor, Action.PROMOTE_REGARDLESS)
        wanted = alias_name(alias)
        attempt = 1
        while True:
            present = await self._contracts.alias(contract.tenant, contract.name, wanted)
            _check_version(present, expected_version=expected_version, must_be_new=must_be_new)
            if present is not None and present.number == number:
                return Promoted(alias=present, is_new=False)
            proof = await self._proving.prove(contract, wanted, number, present, override=override, at=self._clock())
            move = _Move(contract=contract, alias=wanted, number=number, present=present, proof=proof, reason=reason)
            try:
                return await self._move_or_propose(actor, move)
            except PreconditionFailedError:
                # Moved by somebody else meanwhile; who named no version wants it moved all the same.
                if attempt == MAX_ATTEMPTS or expected_version is not None or must_be_new:
                    raise
                attempt += 1

    async def approve(
        self, actor: Actor, promotion_id: PromotionId, *, reason: str = "", override: bool = False
    ) -> Alias:
        """Apply a proposal. Raises `SecondPersonError`, and again all that `promote` raises.

        An alias that has moved since the proposal fails the precondition: what is approved is what was proposed.
        """
        promotion, contract = await self._open(actor, promotion_id, Action.APPROVE_PROMOTION)
        if override:
            require(actor, Action.PROMOTE_REGARDLESS)
        target = await self._permissions.revision(contract, promotion.number)
        if actor.principal in {promotion.proposed_by, target.revision.author}:
            raise SecondPersonError("who wrote the revision or proposed its promotion does not approve it")
        present = await self._contracts.alias(contract.tenant, contract.name, promotion.alias)
        expected = promotion.alias_version
        _check_version(present, expected_version=expected, must_be_new=expected is None)
        proof = await self._proving.prove(
            contract, promotion.alias, promotion.number, present, override=override, at=self._clock()
        )
        decided = await self._promotions.decide(
            actor,
            promotion_id,
            PromotionState.APPLIED,
            expected_version=expected,
            must_be_new=expected is None,
            reason=reason,
            details=proof.audit_details,
            at=self._clock(),
        )
        self._resolver.forget(actor.tenant)
        assert decided.alias is not None, "an applied promotion has moved its alias"
        return decided.alias

    async def reject(self, actor: Actor, promotion_id: PromotionId, *, reason: str = "") -> Promotion:
        """Turn a proposal down."""
        await self._open(actor, promotion_id, Action.APPROVE_PROMOTION)
        return await self._end(actor, promotion_id, PromotionState.REJECTED, reason)

    async def withdraw(self, actor: Actor, promotion_id: PromotionId, *, reason: str = "") -> Promotion:
        """Take one's own proposal back; operators may take back anybody's."""
        promotion, _ = await self._open(actor, promotion_id, Action.PROMOTE)
        if actor.principal != promotion.proposed_by and Role.OPERATOR not in actor.roles:
            raise ForbiddenError(Action.PROMOTE, reason="the proposal is somebody else's; an approver may turn it down")
        return await self._end(actor, promotion_id, PromotionState.WITHDRAWN, reason)

    async def rollback(
        self, actor: Actor, name: str, alias: str, *, expected_version: int | None = None, reason: str = ""
    ) -> Alias:
        """Move the alias back to what it named before: an emergency, which waits for no second person and no proof.

        It goes back one step, once: sent a second time it finds no previous revision, and forward again is a promotion.
        The signature is asked for nevertheless. Raises `StateError` (`no_previous_revision`, `sunset_revision`),
        `SignatureRequiredError`, `TombstonedError`, `PreconditionFailedError`.
        """
        contract = await self._permissions.owned(actor, name, Action.ROLL_BACK)
        wanted = alias_name(alias)
        present = await self._existing_alias(contract, wanted)
        _check_version(present, expected_version=expected_version, must_be_new=False)
        if present.previous is None:
            message = (
                f"{contract.name}@{wanted} has nothing to go back to: it was never moved, or went back last; "
                "promote the revision that it is to name"
            )
            raise StateError("no_previous_revision", message)
        await self._proving.check_served(contract, wanted, present.previous, at=self._clock())
        moved = await self._contracts.move_alias(
            actor,
            contract.name,
            wanted,
            present.previous,
            expected_version=present.version,
            must_be_new=False,
            reason=reason,
            action=AuditAction.ALIAS_ROLLED_BACK,
            at=self._clock(),
        )
        self._resolver.forget(actor.tenant)
        return moved

    async def drop(
        self, actor: Actor, name: str, alias: str, *, expected_version: int | None = None, reason: str = ""
    ) -> None:
        """Remove the alias. One that takes proof or a second person to move takes an operator to remove: made anew, it
        would name nothing that the next revision had to be as safe as.

        Raises `ForbiddenError`, `NotFoundError`, `PreconditionFailedError`.
        """
        contract = await self._permissions.owned(actor, name, Action.PROMOTE)
        unwanted = alias_name(alias)
        demands = await self._proving.demands(contract, unwanted)
        if demands.second_person or demands.safety is not PromotionSafety.ANY:
            require(actor, Action.DROP_PROTECTED_ALIAS)
        await self._contracts.drop_alias(
            actor, contract.name, unwanted, expected_version=expected_version, reason=reason, at=self._clock()
        )
        self._resolver.forget(actor.tenant)

    async def promotion(self, actor: Actor, promotion_id: PromotionId) -> Promotion:
        """One proposal of the actor's tenant. Raises `NotFoundError`."""
        require(actor, Action.READ_CONTRACT)
        promotion = await self._promotions.get(actor.tenant, promotion_id)
        if promotion is None:
            raise NotFoundError("promotion", promotion_id)
        return promotion

    async def promotions(
        self,
        actor: Actor,
        *,
        state: PromotionState | None = None,
        cursor: str | None = None,
        limit: int = DEFAULT_PAGE,
    ) -> Page[Promotion]:
        """Proposals of the actor's tenant, newest first."""
        require(actor, Action.READ_CONTRACT)
        return await self._promotions.list(actor.tenant, state=state, cursor=cursor, limit=limit)

    async def _move_or_propose(self, actor: Actor, move: "_Move") -> Promoted | Proposed:
        version = None if move.present is None else move.present.version
        if move.proof.demands.second_person:
            promotion = await self._promotions.propose(
                actor,
                move.contract.name,
                move.alias,
                move.number,
                alias_version=version,
                reason=move.reason,
                details=move.proof.audit_details,
                at=self._clock(),
            )
            return Proposed(promotion=promotion)
        moved = await self._contracts.move_alias(
            actor,
            move.contract.name,
            move.alias,
            move.number,
            # What was proved was proved against this very state of the alias.
            expected_version=version,
            must_be_new=move.present is None,
            reason=move.reason,
            details=move.proof.audit_details,
            at=self._clock(),
        )
        self._resolver.forget(actor.tenant)
        return Promoted(alias=moved, is_new=move.present is None)

    async def _open(self, actor: Actor, promotion_id: PromotionId, action: Action) -> tuple[Promotion, Contract]:
        """A proposal that waits, and its contract, if the actor may decide about it."""
        require(actor, action)
        promotion = await self.promotion(actor, promotion_id)
        contract = await self._permissions.owned(actor, promotion.name, action)
        if promotion.state is not PromotionState.PROPOSED:
            raise StateError("promotion_decided", f"{promotion_id} has been {promotion.state} already")
        return promotion, contract

    async def _end(self, actor: Actor, promotion_id: PromotionId, state: PromotionState, reason: str) -> Promotion:
        decided = await self._promotions.decide(
            actor, promotion_id, state, expected_version=None, reason=reason, at=self._clock()
        )
        return decided.promotion

    async def _existing_alias(self, contract: Contract, alias: AliasName) -> Alias:
        present = await self._contracts.alias(contract.tenant, contract.name, alias)
        if present is None:
            raise NotFoundError("alias", f"{contract.name}@{alias}")
        return present


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    contract: Contract
    alias: AliasName
    number: RevisionNumber
    present: Alias | None
    proof: Proved
    reason: str


def _check_version(present: Alias | None, *, expected_version: int | None, must_be_new: bool) -> None:
    """Raises `PreconditionFailedError`. The store asks again, under lock; this spares the proof."""
    observed = None if present is None else present.version
    if must_be_new and observed is not None:
        raise PreconditionFailedError(expected=None, observed=observed)
    if expected_version is not None and observed != expected_version:
        raise PreconditionFailedError(expected=expected_version, observed=observed)
