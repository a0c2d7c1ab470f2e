"""Making a key: the only place where a secret is shown, once."""

from datetime import datetime
from typing import Final

from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.store import OPERATOR_AT_HAND, KeyRecord, KeyStore, principal_of
from policy.roles import Role
from registry.identifiers import PrincipalId, TeamName, TenantId

DEFAULT_ROLES: Final = frozenset({Role.CALLER})


async def issue_key(
    store: KeyStore,
    pepper: Pepper,
    *,
    tenant: TenantId,
    label: str,
    at: datetime,
    expires_at: datetime | None = None,
    principal: PrincipalId | None = None,
    team: TeamName | None = None,
    roles: frozenset[Role] = DEFAULT_ROLES,
    by: PrincipalId = OPERATOR_AT_HAND,
) -> ApiKey:
    """Make a key, keep its digest, and return it in clear for the one time it can be shown.

    Without `principal` the key stands for itself: two such keys count as two persons, whoever holds them.
    """
    key = ApiKey.generate()
    record = KeyRecord(
        key_id=key.key_id,
        tenant=tenant,
        digest=pepper.digest(key),
        label=label,
        created_at=at,
        expires_at=expires_at,
        principal=principal_of(key.key_id) if principal is None else principal,
        team=team,
        roles=roles,
    )
    await store.add(record, by=by)
    return key
