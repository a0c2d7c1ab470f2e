"""A tenant's rules for its own registry: what a revision has to show before an alias may move to it."""

from dataclasses import dataclass
from enum import StrEnum


class PromotionSafety(StrEnum):
    """What the revision behind an alias must be to the one it replaces."""

    ANY = "any"
    CONSUMER_SAFE = "consumer_safe"
    """Every document the new revision allows, the old one allows: readers of outputs keep working."""
    PRODUCER_SAFE = "producer_safe"
    """The reverse: whatever was written under the old revision, the new one accepts."""
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryPolicy:
    """The default asks for nothing but is never silent: what is not demanded is still reported."""

    require_signature: bool = False
    """An alias moves only to a revision with a live signature, and is not served once that signature has died.
    Neither is a number or a digest: pinning is no way around."""
    two_person_promotion: bool = False
    """A promotion waits for an approver who is neither the revision's author nor the one who proposed it."""
    promotion_safety: PromotionSafety = PromotionSafety.ANY
    """Undecided counts as unsafe; only an operator may promote regardless, and the audit says so."""
    compatibility: str | None = None
    """A Confluent level that every registration must meet; None: reported natively, BACKWARD on the façade."""
    allow_governed: bool = False
    """Whether this tenant wants governed contracts, which run under the larger limits; the installation has to grant
    them as well (`policy.entitlement`)."""
    protected_aliases: frozenset[str] = frozenset({"prod"})
    """Aliases to which signature, safety and second person apply; other aliases move freely."""
