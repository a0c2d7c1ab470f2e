"""From an `Authorization` header to a caller, with a cache short enough that revocation bites within a second."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

import structlog

from gateway.auth.key_uses import KeyUses
from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.oidc.token import TokenFault, TokenFaultError, is_token
from gateway.auth.oidc.verifier import TokenVerifier
from gateway.auth.records import KeyRecord
from gateway.auth.store import KeyStore
from gateway.auth.tenant_lookup import TenantLookup
from gateway.auth.tenant_store import TenantStore
from gateway.errors import StoreUnavailableError, TenantDisabledError, UnauthenticatedError
from gateway.identifiers import KeyId, TenantPartition
from gateway.tasks import TaskOwner
from policy.scopes import Scope
from registry.identifiers import PrincipalId, TenantId
from registry.revision import Actor

_log = structlog.get_logger(__name__)

MAX_CACHE_SECONDS = 1.0
"""How long a revoked key, a secret that was rotated away, or a tenant that was disabled may still be taken."""
_MAX_CACHED_KEYS = 4096

_NOBODY = KeyRecord(
    key_id=KeyId(""),
    tenant=TenantId(""),
    digest="0" * 64,
    label="",
    created_at=datetime.min.replace(tzinfo=UTC),
    principal=PrincipalId(""),
)
"""Compared with when there is no such key, so that an unknown id takes as long as a wrong secret."""


class Schemes(Enum):
    """How a key may be sent (RFC 9110, section 11)."""

    BEARER = "bearer"
    BEARER_OR_BASIC = "bearer_or_basic"
    """Where clients of another product are served that know Basic only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An authenticated caller. `actor` is who they are to the registry, of the same tenant and by the same key."""

    tenant: TenantId
    key_id: KeyId
    """Of a key, or of the subject of a token (`jwt_…`): the same after a rotation, and with every token."""
    partition: TenantPartition
    actor: Actor
    scopes: frozenset[Scope] | None = frozenset()
    """Where the credential may be used, nowhere by default; None: it names none, so its roles alone decide."""


class Authenticator:
    """Checks keys against the store, and tokens against their issuer where there is one."""

    def __init__(
        self,
        store: KeyStore,
        pepper: Pepper,
        *,
        tokens: TokenVerifier | None = None,
        uses: KeyUses | None = None,
        tasks: TaskOwner | None = None,
        cache_seconds: float = MAX_CACHE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._pepper = pepper
        self._tokens = tokens
        self._uses = uses
        self._tasks = tasks
        self._cache_seconds = min(cache_seconds, MAX_CACHE_SECONDS)
        self._monotonic = monotonic
        self._tenants = TenantLookup(
            TenantStore(store.database), cache_seconds=self._cache_seconds, monotonic=monotonic
        )
        self._verified: OrderedDict[str, tuple[float, KeyRecord]] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}
        self._num_changes = 0

    async def authenticate(self, authorization: str | None, *, schemes: Schemes = Schemes.BEARER) -> Caller:
        """The caller of a header `Bearer sg_<id>_<secret>` or `Bearer <token>`, or of Basic credentials with a key
        where those are taken.

        Raises:
            UnauthenticatedError: no key, or one that is malformed, unknown, revoked or expired; no token, or one that
                is not good; it never says which.
            TenantDisabledError: the key or token is good, and nobody of its tenant is let in.
            IdentityProviderUnavailableError: a token was sent, and there are no keys to check it with.
        """
        scheme, _, credentials = (authorization or "").partition(" ")
        credentials = credentials.strip()
        if self._tokens is not None and scheme.lower() == "bearer" and is_token(credentials):
            return await self._caller_of_token(self._tokens, credentials)
        key = _sent_key(scheme, credentials, schemes)
        if key is None:
            raise UnauthenticatedError(missing=not authorization)
        now = datetime.now(UTC)
        record = await self._verify(key, now)
        if record is None or not record.is_live(now):
            raise UnauthenticatedError(missing=False)
        if record.tenant_disabled_at is not None:
            raise TenantDisabledError
        if self._uses is not None:
            self._uses.note(record.key_id)
        return Caller(
            tenant=record.tenant,
            key_id=record.key_id,
            partition=self._pepper.partition(record.tenant),
            actor=Actor(
                tenant=record.tenant,
                principal=record.principal,
                roles=record.roles,
                team=record.team,
                key_id=record.key_id,
            ),
            scopes=record.scopes,
        )

    def forget(self, key_id: KeyId) -> None:
        """The key was changed here: this replica need not wait until its cache is a second old."""
        self._num_changes += 1
        for digest in [digest for digest, (_, record) in self._verified.items() if record.key_id == key_id]:
            del self._verified[digest]

    def forget_tenant(self, tenant: TenantId) -> None:
        """Likewise for all keys and tokens of a tenant."""
        self._num_changes += 1
        self._tenants.forget(tenant)
        for digest in [digest for digest, (_, record) in self._verified.items() if record.tenant == tenant]:
            del self._verified[digest]

    async def _verify(self, key: ApiKey, now: datetime) -> KeyRecord | None:
        digest = self._pepper.digest(key)
        kept = self._fresh(digest)
        if kept is None:
            # One question for all that wait: at the turn of the second, all requests under a key come together.
            lock = self._locks.setdefault(digest, asyncio.Lock())
            try:
                async with lock:
                    kept = self._fresh(digest)
                    if kept is None:
                        return await self._ask(key, digest, now)
            finally:
                if not lock.locked():
                    self._locks.pop(digest, None)
        self._renew_ahead(key, digest, now)
        # The overlap of a rotation may have ended since the key was read.
        return kept if self._accepts(kept, key, digest, now) else None

    def _renew_ahead(self, key: ApiKey, digest: str, now: datetime) -> None:
        """Ask for a key in use again before it is too old to be believed, beside the requests that use it."""
        until, _ = self._verified.get(digest, (math.inf, None))
        is_young = self._monotonic() < until - self._cache_seconds / 2
        if self._tasks is None or is_young or digest in self._locks:
            return
        self._locks[digest] = asyncio.Lock()
        self._tasks.start(self._renew(key, digest, now), name="key in use")

    async def _renew(self, key: ApiKey, digest: str, now: datetime) -> None:
        lock = self._locks.setdefault(digest, asyncio.Lock())
        try:
            async with lock:
                await self._ask(key, digest, now)
        except StoreUnavailableError as error:
            # What is kept holds to its end; then whoever comes asks, and is told.
            _log.warning("a key could not be renewed", why=error.reason)
        finally:
            if not lock.locked():
                self._locks.pop(digest, None)

    def _fresh(self, digest: str) -> KeyRecord | None:
        cached = self._verified.get(digest)
        return None if cached is None or self._monotonic() >= cached[0] else cached[1]

    async def _ask(self, key: ApiKey, digest: str, now: datetime) -> KeyRecord | None:
        # What was changed here meanwhile, the answer may not know.
        asked_at, num_changes = self._monotonic(), self._num_changes
        record = await self._store.find(key.key_id)
        matches = self._accepts(_NOBODY if record is None else record, key, digest, now)
        if record is None or not matches:
            self._verified.pop(digest, None)
            return None
        if num_changes != self._num_changes:
            return record
        self._verified[digest] = (asked_at + self._cache_seconds, record)
        self._verified.move_to_end(digest)
        while len(self._verified) > _MAX_CACHED_KEYS:
            self._verified.popitem(last=False)
        return record

    def _accepts(self, record: KeyRecord, key: ApiKey, digest: str, now: datetime) -> bool:
        is_present = record.accepts(digest, now)
        former = self._pepper.former_digest(key)
        if former is None:
            return is_present
        is_former = record.accepts(former, now)
        if is_former and self._uses is not None:
            self._uses.note_former_pepper(record.key_id, old=former, new=digest)
        return is_present or is_former

    async def _caller_of_token(self, tokens: TokenVerifier, text: str) -> Caller:
        try:
            identity = await tokens.verify(text)
            tenant = await self._tenants.find(identity.tenant)
            if tenant is None:
                raise TokenFaultError(TokenFault.UNKNOWN_TENANT)
        except TokenFaultError as error:
            _log.info("a token was refused", why=str(error.fault))
            raise UnauthenticatedError(missing=False, is_token=True) from error
        if tenant.disabled_at is not None:
            raise TenantDisabledError
        return Caller(
            tenant=identity.tenant,
            key_id=identity.key_id,
            partition=self._pepper.partition(identity.tenant),
            actor=Actor(
                tenant=identity.tenant,
                principal=identity.principal,
                roles=identity.roles,
                team=identity.team,
                key_id=identity.key_id,
            ),
            scopes=identity.scopes,
        )


def _sent_key(scheme: str, credentials: str, schemes: Schemes) -> ApiKey | None:
    match scheme.lower():
        case "bearer":
            return ApiKey.read(credentials)
        case "basic" if schemes is Schemes.BEARER_OR_BASIC:
            return ApiKey.read_basic(credentials)
        case _:
            return None
