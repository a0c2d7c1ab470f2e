"""Moving an alias: straight away where policy lets one person do it, else proposed by one and applied by another.

Whatever was true at the proposal is checked again when it is applied: the revision may have been retired, a key
revoked, the alias moved, the policy tightened.
"""

from dataclasses import dataclass

from registry.identifiers import PromotionId, RevisionNumber
from registry.revision import Actor, Alias, Promotion, PromotionState
from registry.store.records import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """The alias names the revision now."""

    alias: Alias


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """It takes a second person; nothing has moved yet."""

    promotion: Promotion


class Promoter:
    """Aliases of one's own contracts. Every method checks roles, ownership and policy."""

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

        Raises `SignatureRequiredError`, `IncompatibleError`, `UndecidedError`, `PreconditionFailedError`,
        `StateError`, and whatever naming may raise.
        """
        raise NotImplementedError

    async def approve(
        self, actor: Actor, promotion_id: PromotionId, *, reason: str = "", override: bool = False
    ) -> Alias:
        """Apply a proposal. Raises `SecondPersonError`, and again all that `promote` raises."""
        raise NotImplementedError

    async def reject(self, actor: Actor, promotion_id: PromotionId, *, reason: str = "") -> Promotion:
        """Turn a proposal down."""
        raise NotImplementedError

    async def withdraw(self, actor: Actor, promotion_id: PromotionId, *, reason: str = "") -> Promotion:
        """Take one's own proposal back; operators may take back anybody's."""
        raise NotImplementedError

    async def rollback(
        self, actor: Actor, name: str, alias: str, *, expected_version: int | None = None, reason: str = ""
    ) -> Alias:
        """Move the alias back to what it named before. Raises `StateError` (`no_previous_revision`)."""
        raise NotImplementedError

    async def drop(
        self, actor: Actor, name: str, alias: str, *, expected_version: int | None = None, reason: str = ""
    ) -> None:
        """Remove the alias."""
        raise NotImplementedError

    async def promotion(self, actor: Actor, promotion_id: PromotionId) -> Promotion:
        """One proposal of the actor's tenant. Raises `NotFoundError`."""
        raise NotImplementedError

    async def promotions(
        self, actor: Actor, *, state: PromotionState | None = None, cursor: str | None = None, limit: int = 20
    ) -> Page[Promotion]:
        """Proposals of the actor's tenant, newest first."""
        raise NotImplementedError
