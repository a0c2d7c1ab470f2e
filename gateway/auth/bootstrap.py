"""The embedded default's key: one at every start, and the one before it stops working."""

from datetime import UTC, datetime

from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from policy.roles import ALL_ROLES
from registry.identifiers import PrincipalId, TenantId

BOOTSTRAP_TENANT = TenantId("local")
BOOTSTRAP_LABEL = "bootstrap"
BOOTSTRAP_PRINCIPAL = PrincipalId("bootstrap")


async def make_bootstrap_key(*, database_url: str, pepper: str) -> str:
    """Revoke former bootstrap keys and return a new one, in clear, with every role."""
    store = await KeyStore.open(database_url)
    try:
        now = datetime.now(UTC)
        await store.revoke_labelled(BOOTSTRAP_TENANT, BOOTSTRAP_LABEL, at=now)
        key = await issue_key(
            store,
            Pepper(pepper),
            tenant=BOOTSTRAP_TENANT,
            label=BOOTSTRAP_LABEL,
            at=now,
            principal=BOOTSTRAP_PRINCIPAL,
            roles=ALL_ROLES,
        )
        return key.text
    finally:
        await store.close()
