"""From records of tenants, teams and keys to what callers get, and from what they send to values."""

import re
from datetime import UTC, datetime
from typing import Any, Final

from gateway.admin.protocol import KeyMember, TeamMember, TenantMember
from gateway.auth.records import KeyRecord, TeamRecord, TenantRecord
from gateway.auth.rows import sorted_names
from gateway.errors import InvalidRequestError, RequestFault
from gateway.identifiers import KeyId
from registry.errors import NotFoundError
from registry.identifiers import PrincipalId

_KEY_ID: Final = re.compile(r"[0-9a-f]{16}", re.ASCII)
_MAX_SHOWN_CHARACTERS: Final = 64


def tenant_member(record: TenantRecord) -> TenantMember:
    """A tenant as it is shown."""
    return TenantMember(
        id=record.tenant, name=record.name, created_at=record.created_at, disabled_at=record.disabled_at
    )


def team_member(record: TeamRecord) -> TeamMember:
    """A team as it is shown."""
    return TeamMember(tenant=record.tenant, name=record.team, created_at=record.created_at)


def key_values(record: KeyRecord, now: datetime) -> dict[str, Any]:
    """The members of a key, which has no secret here."""
    return {
        "id": record.key_id,
        "tenant": record.tenant,
        "label": record.label,
        "principal": record.principal,
        "team": record.team,
        "roles": sorted_names(record.roles),
        "scopes": None if record.scopes is None else sorted_names(record.scopes),
        "allowed_scopes": sorted_names(record.allowed_scopes),
        "state": record.state(now).value,
        "created_at": record.created_at,
        "expires_at": record.expires_at,
        "revoked_at": record.revoked_at,
        "rotated_at": record.rotated_at,
        "previous_secret_until": record.previous_until if record.is_overlapping(now) else None,
        "last_used_at": record.last_used_at,
    }


def key_member(record: KeyRecord, now: datetime) -> KeyMember:
    """A key as it is shown."""
    return KeyMember(**key_values(record, now))


def key_id(text: str) -> KeyId:
    """A key's id in a path. Raises `NotFoundError`: nothing is called so."""
    if _KEY_ID.fullmatch(text) is None:
        raise NotFoundError("key", text[:_MAX_SHOWN_CHARACTERS])
    return KeyId(text)


def principal(text: str | None) -> PrincipalId | None:
    """Whose key it is to be. Raises `InvalidRequestError`."""
    if text is None:
        return None
    if not text.strip() or text.startswith("key:"):
        message = (
            "a principal has a name, which does not begin with `key:`: so keys that stand for themselves are called"
        )
        raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param="principal")
    return PrincipalId(text)


def expiry(text: str | None, *, now: datetime) -> datetime | None:
    """When a key ends. Raises `InvalidRequestError`: it is no moment to come."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        # Without an offset it is nobody's moment; with one, it may lie beyond what a year has digits for.
        in_utc = None if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        in_utc = None
    if in_utc is None or in_utc <= now:
        message = "`expires_at` is a moment to come, such as `2027-01-31T12:00:00Z`, with its offset"
        raise InvalidRequestError(RequestFault.INVALID_VALUE, message, param="expires_at")
    return in_utc
