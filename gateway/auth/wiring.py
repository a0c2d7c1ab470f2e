"""The parts of authentication, made together."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

import httpx

from gateway.auth.authenticator import Authenticator
from gateway.auth.key_desk import KeyDesk
from gateway.auth.key_uses import KeyUses
from gateway.auth.keys import Pepper
from gateway.auth.oidc.key_source import KeySource, fetch_file, fetch_url
from gateway.auth.oidc.settings import OidcSettings
from gateway.auth.oidc.verifier import TokenVerifier
from gateway.auth.store import KeyStore
from gateway.auth.tenant_store import TenantStore
from gateway.tasks import TaskOwner


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthParts:
    """Who is let in, and what operators change that by."""

    authenticator: Authenticator
    keys: KeyDesk
    tenants: TenantStore


async def open_auth(
    store: KeyStore, pepper: Pepper, oidc: OidcSettings, *, tasks: TaskOwner, stack: AsyncExitStack
) -> AuthParts:
    """Everything, running. `stack` closes it before the store, which is older on it."""
    uses = KeyUses(store)
    stack.push_async_callback(uses.close)
    tasks.start(uses.run(), name="uses of keys")
    tokens = await _verifier(oidc, tasks, stack) if oidc.is_enabled else None
    authenticator = Authenticator(store, pepper, tokens=tokens, uses=uses, tasks=tasks)
    return AuthParts(
        authenticator=authenticator,
        keys=KeyDesk(store, pepper, changed=authenticator.forget),
        tenants=TenantStore(store.database),
    )


async def _verifier(oidc: OidcSettings, tasks: TaskOwner, stack: AsyncExitStack) -> TokenVerifier:
    if oidc.jwks_file is not None:
        fetch = fetch_file(oidc.jwks_file, max_bytes=oidc.max_jwks_bytes)
    else:
        # A client of its own: nodes' timeouts are not the issuer's, and no proxy or netrc of the environment has a say.
        http = await stack.enter_async_context(
            httpx.AsyncClient(timeout=oidc.jwks_fetch_seconds, trust_env=False, follow_redirects=False)
        )
        fetch = fetch_url(http, oidc.jwks_url, max_bytes=oidc.max_jwks_bytes)
    keys = KeySource(fetch, oidc)
    tasks.start(keys.run(), name="identity provider's keys")
    return TokenVerifier(oidc, keys)
