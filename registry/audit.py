"""The audit chain of a tenant: what happened, each event holding the digest of the one before.

Whoever holds a later digest can tell whether an earlier event was changed, dropped or put in. The chain does not
tell whether its newest events were cut off; for that the head has to be kept elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final, NewType

from registry.contract import JsonValue
from registry.identifiers import PrincipalId, TenantId
from registry.text import value_text

EventDigest = NewType("EventDigest", str)
"""64 lower-case hex digits."""

GENESIS: Final = EventDigest("0" * 64)
"""What the first event of a chain names as the one before."""

_FORMAT: Final = b"schemagate audit event 1\n"


class AuditAction(StrEnum):
    """What can happen; a closed list."""

    CONTRACT_REGISTERED = "contract.registered"
    CONTRACT_CHANGED = "contract.changed"
    CONTRACT_TOMBSTONED = "contract.tombstoned"
    CONTRACT_REVIVED = "contract.revived"
    REVISION_REGISTERED = "revision.registered"
    REVISION_STATE_CHANGED = "revision.state_changed"
    REVISION_TOMBSTONED = "revision.tombstoned"
    REVISION_HIDDEN = "revision.hidden"
    REVISION_SIGNED = "revision.signed"
    ALIAS_MOVED = "alias.moved"
    ALIAS_ROLLED_BACK = "alias.rolled_back"
    ALIAS_DROPPED = "alias.dropped"
    PROMOTION_PROPOSED = "promotion.proposed"
    PROMOTION_APPLIED = "promotion.applied"
    PROMOTION_REJECTED = "promotion.rejected"
    PROMOTION_WITHDRAWN = "promotion.withdrawn"
    SIGNING_KEY_TRUSTED = "signing_key.trusted"
    SIGNING_KEY_REVOKED = "signing_key.revoked"
    POLICY_SET = "policy.set"
    KEY_ISSUED = "key.issued"
    KEY_REVOKED = "key.revoked"
    KEY_ROTATED = "key.rotated"
    KEY_CHANGED = "key.changed"
    TENANT_CREATED = "tenant.created"
    TENANT_CHANGED = "tenant.changed"
    TEAM_CREATED = "team.created"
    SETTING_SET = "setting.set"
    SETTING_DROPPED = "setting.dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One link. `subject` says of what, `details` what is new about it; neither ever holds a secret."""

    tenant: TenantId
    sequence: int
    """1, 2, 3 … within the tenant, without gaps."""
    at: datetime
    actor: PrincipalId
    key_id: str | None
    action: AuditAction
    subject: Mapping[str, JsonValue]
    details: Mapping[str, JsonValue]
    previous: EventDigest
    digest: EventDigest


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditHead:
    """The newest event of a chain; kept elsewhere, it proves that nothing was cut off."""

    tenant: TenantId
    sequence: int
    digest: EventDigest


def event_digest(
    *,
    tenant: TenantId,
    sequence: int,
    at: datetime,
    actor: PrincipalId,
    key_id: str | None,
    action: AuditAction,
    subject: Mapping[str, JsonValue],
    details: Mapping[str, JsonValue],
    previous: EventDigest,
) -> EventDigest:
    """SHA-256 over the line `schemagate audit event 1` and the event as canonical JSON, members sorted.

    The moment is UTC with microseconds, so that what a database gives back has the digest of what was put in.
    """
    members: JsonValue = {
        "tenant": tenant,
        "sequence": sequence,
        "at": stamp_text(at),
        "actor": actor,
        "key_id": key_id,
        "action": action.value,
        "subject": dict(subject),
        "details": dict(details),
        "previous": previous,
    }
    return EventDigest(sha256(_FORMAT + value_text(members).encode()).hexdigest())


def stamp_text(at: datetime) -> str:
    """RFC 3339 in UTC with six digits of a second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
