"""Tenants, teams and keys as they are kept: values, without the database that keeps them."""

import hmac
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from gateway.identifiers import KeyId
from policy.roles import Role
from policy.scopes import Scope, scopes_of
from registry.identifiers import PrincipalId, TeamName, TenantId

MAX_TEXT_CHARACTERS: Final = 128
"""Of a label, of a principal, of a tenant's display name."""
MAX_TENANT_CHARACTERS: Final = 64

_CALLER_ONLY: Final = frozenset({Role.CALLER})
_NO_DIGEST: Final = "0" * 64
"""Compared against where there is nothing to compare with, so that every comparison takes the same time."""


class KeyState(StrEnum):
    """What a key is good for now."""

    LIVE = "live"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A key as it is kept. Digests are keyed (HMAC): useless without the pepper, and still not shown."""

    key_id: KeyId
    tenant: TenantId
    digest: str = field(repr=False)
    label: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    principal: PrincipalId
    """Whose key it is; two-person rules compare this."""
    team: TeamName | None = None
    roles: frozenset[Role] = _CALLER_ONLY
    scopes: frozenset[Scope] | None = None
    """None: the roles alone decide, whatever they will be."""
    rotated_at: datetime | None = None
    previous_digest: str | None = field(default=None, repr=False)
    previous_until: datetime | None = None
    """Until then the secret before this one is taken as well."""
    last_used_at: datetime | None = None
    """To the minute; by secrets, not by requests under way."""
    tenant_disabled_at: datetime | None = None
    """Of the tenant, as it was when the key was read."""

    def __post_init__(self) -> None:
        if max(len(self.label), len(self.principal)) > MAX_TEXT_CHARACTERS:
            raise ValueError(f"a key's label and its principal have at most {MAX_TEXT_CHARACTERS} characters each")

    @property
    def allowed_scopes(self) -> frozenset[Scope]:
        """Where the key may be used, and its roles have something to do."""
        return scopes_of(self.roles) if self.scopes is None else self.scopes

    def is_live(self, now: datetime) -> bool:
        """Neither revoked nor expired at `now`."""
        return self.state(now) is KeyState.LIVE

    def state(self, now: datetime) -> KeyState:
        """What it is good for at `now`."""
        if self.revoked_at is not None:
            return KeyState.REVOKED
        return KeyState.LIVE if self.expires_at is None or now < self.expires_at else KeyState.EXPIRED

    def is_overlapping(self, now: datetime) -> bool:
        """Whether two secrets are taken at `now`."""
        return self.previous_digest is not None and self.previous_until is not None and now < self.previous_until

    def accepts(self, digest: str, now: datetime) -> bool:
        """Whether the secret of that digest is one of the key's at `now`; takes as long whichever it is."""
        previous = self.previous_digest if self.is_overlapping(now) else None
        is_current = hmac.compare_digest(digest, self.digest)
        is_previous = hmac.compare_digest(digest, previous or _NO_DIGEST) and previous is not None
        return is_current or is_previous


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantRecord:
    """An organisation. What is disabled keeps everything it has, and lets nobody in."""

    tenant: TenantId
    name: str
    created_at: datetime
    disabled_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamRecord:
    """A part of a tenant that owns contracts and has a budget; it is never deleted, because they name it."""

    tenant: TenantId
    team: TeamName
    created_at: datetime


def principal_of(key_id: KeyId) -> PrincipalId:
    """Who holds a key that was made without saying for whom: nobody but this key."""
    return PrincipalId(f"key:{key_id}")
