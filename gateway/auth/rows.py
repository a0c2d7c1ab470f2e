"""From rows of the database to records, and back."""

from collections.abc import Mapping
from typing import Any, Final

from gateway.auth.records import KeyRecord, TeamRecord, TenantRecord, principal_of
from gateway.identifiers import KeyId
from policy.roles import Role
from policy.scopes import Scope, read_scopes
from registry.identifiers import PrincipalId, TeamName, TenantId

_ROLES: Final[Mapping[str, Role]] = {role.value: role for role in Role}


def key_values(record: KeyRecord) -> dict[str, Any]:
    """The columns of a key, by name."""
    return {
        "id": record.key_id,
        "tenant_id": record.tenant,
        "digest": record.digest,
        "label": record.label,
        "created_at": record.created_at,
        "expires_at": record.expires_at,
        "revoked_at": record.revoked_at,
        "principal": record.principal,
        "team": record.team,
        "roles": ",".join(sorted_names(record.roles)),
        "scopes": None if record.scopes is None else ",".join(sorted_names(record.scopes)),
        "rotated_at": record.rotated_at,
        "previous_digest": record.previous_digest,
        "previous_until": record.previous_until,
        "last_used_at": record.last_used_at,
    }


def key_record(row: Any) -> KeyRecord:
    """A row of keys with its tenant's `disabled_at`."""
    return KeyRecord(
        key_id=KeyId(row.id),
        tenant=TenantId(row.tenant_id),
        digest=row.digest,
        label=row.label,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        # A gateway of the version before, running beside this one, leaves it empty.
        principal=PrincipalId(row.principal) if row.principal else principal_of(KeyId(row.id)),
        team=None if row.team is None else TeamName(row.team),
        # What only a newer version knows gives nothing here.
        roles=frozenset(_ROLES[name] for name in row.roles.split(",") if name in _ROLES),
        scopes=None if row.scopes is None else read_scopes(row.scopes.split(",")),
        rotated_at=row.rotated_at,
        previous_digest=row.previous_digest,
        previous_until=row.previous_until,
        last_used_at=row.last_used_at,
        tenant_disabled_at=row.disabled_at,
    )


def tenant_record(row: Any) -> TenantRecord:
    """A row of tenants."""
    return TenantRecord(tenant=TenantId(row.id), name=row.name, created_at=row.created_at, disabled_at=row.disabled_at)


def team_record(row: Any) -> TeamRecord:
    """A row of teams."""
    return TeamRecord(tenant=TenantId(row.tenant_id), team=TeamName(row.name), created_at=row.created_at)


def sorted_names(members: frozenset[Role] | frozenset[Scope]) -> list[str]:
    """Roles or scopes in the one order in which they are written."""
    return sorted(member.value for member in members)
