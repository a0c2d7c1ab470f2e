"""Making a key and keeping its digest."""

from datetime import datetime
from typing import Final

from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.operator import AT_HAND, Operator
from gateway.auth.records import KeyRecord, principal_of
from gateway.auth.store import KeyStore
from policy.roles import Role
from policy.scopes import Scope
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
    scopes: frozenset[Scope] | None = None,
    by: Operator = AT_HAND,
    makes_tenant: bool = True,
) -> ApiKey:
    """Make a key, keep its digest, and return it in clear for the one time it can be shown.

    Without `principal` the key stands for itself: two such keys count as two persons, whoever holds them. Without
    `scopes` it may be used wherever its roles have something to do.
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
        scopes=scopes,
    )
    await store.add(record, by=by, makes_tenant=makes_tenant)
    return key
