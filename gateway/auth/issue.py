"""Making a key: the only place where a secret is shown, once."""

from datetime import datetime

from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.store import KeyRecord, KeyStore
from registry.identifiers import TenantId


async def issue_key(
    store: KeyStore, pepper: Pepper, *, tenant: TenantId, label: str, at: datetime, expires_at: datetime | None = None
) -> ApiKey:
    """Make a key, keep its digest, and return it in clear for the one time it can be shown."""
    key = ApiKey.generate()
    await store.add(
        KeyRecord(
            key_id=key.key_id,
            tenant=tenant,
            digest=pepper.digest(key),
            label=label,
            created_at=at,
            expires_at=expires_at,
        )
    )
    return key
