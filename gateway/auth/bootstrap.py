"""The embedded default's key: one at every start, and the one before it stops working."""

from datetime import UTC, datetime

from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from registry.identifiers import TenantId

BOOTSTRAP_TENANT = TenantId("local")
BOOTSTRAP_LABEL = "bootstrap"


async def make_bootstrap_key(*, database_url: str, pepper: str) -> str:
    """Revoke former bootstrap keys and return a new one, in clear."""
    store = await KeyStore.open(database_url)
    try:
        now = datetime.now(UTC)
        await store.revoke_labelled(BOOTSTRAP_TENANT, BOOTSTRAP_LABEL, at=now)
        key = await issue_key(store, Pepper(pepper), tenant=BOOTSTRAP_TENANT, label=BOOTSTRAP_LABEL, at=now)
        return key.text
    finally:
        await store.close()
