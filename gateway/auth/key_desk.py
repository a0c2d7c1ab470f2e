"""What operators do with keys: make, rotate, change and revoke them. The only place where a secret is shown, once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from gateway.auth.issue import issue_key
from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.operator import Operator
from gateway.auth.records import KeyRecord
from gateway.auth.store import KeyStore
from gateway.identifiers import KeyId
from policy.roles import Role
from policy.scopes import Scope
from registry.audit import AuditAction
from registry.contract import JsonValue
from registry.errors import StateError
from registry.identifiers import PrincipalId, TeamName, TenantId

MAX_OVERLAP: Final = timedelta(days=30)
"""How long two secrets of a key may be good at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """What is to be another; `None` leaves it. `ends_expiry` and `ends_scopes` say that there be none from now on."""

    label: str | None = None
    expires_at: datetime | None = None
    ends_expiry: bool = False
    roles: frozenset[Role] | None = None
    scopes: frozenset[Scope] | None = None
    ends_scopes: bool = False

    def of(self, record: KeyRecord) -> KeyRecord:
        """The key as it will be."""
        return replace(
            record,
            label=record.label if self.label is None else self.label,
            expires_at=None if self.ends_expiry else self.expires_at or record.expires_at,
            roles=record.roles if self.roles is None else self.roles,
            scopes=None if self.ends_scopes else record.scopes if self.scopes is None else self.scopes,
        )

    @property
    def details(self) -> dict[str, JsonValue]:
        """What the audit says."""
        said: dict[str, JsonValue] = {}
        if self.label is not None:
            said["label"] = self.label
        if self.ends_expiry or self.expires_at is not None:
            said["expires_at"] = None if self.expires_at is None else self.expires_at.isoformat()
        if self.roles is not None:
            said["roles"] = [*sorted(role.value for role in self.roles)]
        if self.ends_scopes or self.scopes is not None:
            said["scopes"] = None if self.scopes is None else [*sorted(scope.value for scope in self.scopes)]
        return said


class KeyDesk:
    """Keys under one pepper. `changed` is told which key is another now, so that nothing remembers it."""

    def __init__(self, store: KeyStore, pepper: Pepper, *, changed: Callable[[KeyId], Any] = lambda _: None) -> None:
        self.store = store
        self._pepper = pepper
        self._changed = changed

    async def issue(
        self,
        *,
        tenant: TenantId,
        label: str,
        principal: PrincipalId | None,
        team: TeamName | None,
        roles: frozenset[Role],
        scopes: frozenset[Scope] | None,
        expires_at: datetime | None,
        by: Operator,
        at: datetime,
    ) -> tuple[ApiKey, KeyRecord]:
        """A new key of a tenant and a team that are there, in clear, and as it is kept.

        Raises:
            NotFoundError: the tenant or the team is not there.
            StateError: the tenant has too many keys.
        """
        key = await issue_key(
            self.store,
            self._pepper,
            tenant=tenant,
            label=label,
            at=at,
            expires_at=expires_at,
            principal=principal,
            team=team,
            roles=roles,
            scopes=scopes,
            by=by,
            makes_tenant=False,
        )
        record = await self.store.find(key.key_id)
        assert record is not None, "keys are never deleted"
        return key, record

    async def rotate(
        self, tenant: TenantId, key_id: KeyId, *, overlap: timedelta, by: Operator, at: datetime
    ) -> tuple[ApiKey, KeyRecord]:
        """Another secret for the key, in clear; the one before is taken for `overlap` more, none at all for zero.

        Raises:
            NotFoundError: the tenant has no such key.
            StateError: the key is not live, or an overlap is asked for while one is running: two secrets are the most.
        """
        key = ApiKey.rotated(key_id)
        digest = self._pepper.digest(key)

        def rotated(record: KeyRecord) -> KeyRecord:
            _require_live(record, at)
            if overlap and record.is_overlapping(at):
                raise StateError(
                    "rotation_in_progress",
                    f"the secret before is good until {record.previous_until:%Y-%m-%dT%H:%M:%SZ}; rotate again then, "
                    "or with no overlap, which ends both",
                )
            return replace(
                record,
                digest=digest,
                rotated_at=at,
                previous_digest=record.digest if overlap else None,
                previous_until=at + overlap if overlap else None,
            )

        details: dict[str, JsonValue] = {"overlap_seconds": int(overlap.total_seconds())}
        record = await self.store.change(
            tenant, key_id, rotated, action=AuditAction.KEY_ROTATED, details=details, by=by, at=at
        )
        self._changed(key_id)
        return key, record

    async def change(
        self, tenant: TenantId, key_id: KeyId, change: KeyChange, *, by: Operator, at: datetime
    ) -> KeyRecord:
        """The key with something else about it.

        Raises:
            NotFoundError: the tenant has no such key.
            StateError: the key is revoked. One that has expired may get more time.
        """

        def changed(record: KeyRecord) -> KeyRecord:
            _require_not_revoked(record)
            return change.of(record)

        record = await self.store.change(
            tenant, key_id, changed, action=AuditAction.KEY_CHANGED, details=change.details, by=by, at=at
        )
        self._changed(key_id)
        return record

    async def revoke(self, tenant: TenantId, key_id: KeyId, *, by: Operator, at: datetime) -> KeyRecord:
        """The key, which is good for nothing any more; done twice, it stays so. Raises `NotFoundError`."""

        def revoked(record: KeyRecord) -> KeyRecord:
            return record if record.revoked_at is not None else replace(record, revoked_at=at)

        record = await self.store.change(
            tenant, key_id, revoked, action=AuditAction.KEY_REVOKED, details={}, by=by, at=at
        )
        self._changed(key_id)
        return record


def _require_not_revoked(record: KeyRecord) -> None:
    if record.revoked_at is not None:
        raise StateError("key_not_live", "the key is revoked, and stays so; issue another")


def _require_live(record: KeyRecord, at: datetime) -> None:
    _require_not_revoked(record)
    if not record.is_live(at):
        raise StateError("key_not_live", "the key has expired; give it more time first")
