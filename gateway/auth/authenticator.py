"""From an `Authorization` header to a caller, with a cache short enough that revocation bites within a second."""

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.store import KeyRecord, KeyStore
from gateway.errors import UnauthenticatedError
from gateway.identifiers import KeyId, TenantPartition
from registry.identifiers import TenantId
from registry.revision import Actor

MAX_CACHE_SECONDS = 1.0
"""How long a revoked key may still be taken."""
_MAX_CACHED_KEYS = 4096

_NO_DIGEST = "0" * 64
"""Compared against when there is no such key, so that an unknown id takes as long as a wrong secret."""


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
    partition: TenantPartition
    actor: Actor


class Authenticator:
    """Checks keys against the store."""

    def __init__(
        self,
        store: KeyStore,
        pepper: Pepper,
        *,
        cache_seconds: float = MAX_CACHE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._pepper = pepper
        self._cache_seconds = min(cache_seconds, MAX_CACHE_SECONDS)
        self._monotonic = monotonic
        self._verified: OrderedDict[str, tuple[float, KeyRecord]] = OrderedDict()

    async def authenticate(self, authorization: str | None, *, schemes: Schemes = Schemes.BEARER) -> Caller:
        """The caller of a header `Bearer sg_<id>_<secret>`, or of Basic credentials where those are taken.

        Raises:
            UnauthenticatedError: no key, or one that is malformed, unknown, revoked or expired; it never says which.
        """
        key = _sent_key(authorization or "", schemes)
        if key is None:
            raise UnauthenticatedError(missing=not authorization)
        record = await self._verify(key)
        if record is None or not record.is_live(datetime.now(UTC)):
            raise UnauthenticatedError(missing=False)
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
        )

    async def _verify(self, key: ApiKey) -> KeyRecord | None:
        digest = self._pepper.digest(key)
        now = self._monotonic()
        cached = self._verified.get(digest)
        if cached is not None and now < cached[0]:
            return cached[1]
        record = await self._store.find(key.key_id)
        matches = hmac.compare_digest(digest, _NO_DIGEST if record is None else record.digest)
        if record is None or not matches:
            return None
        self._verified[digest] = (now + self._cache_seconds, record)
        self._verified.move_to_end(digest)
        while len(self._verified) > _MAX_CACHED_KEYS:
            self._verified.popitem(last=False)
        return record


def _sent_key(authorization: str, schemes: Schemes) -> ApiKey | None:
    scheme, _, credentials = authorization.partition(" ")
    match scheme.lower():
        case "bearer":
            return ApiKey.read(credentials.strip())
        case "basic" if schemes is Schemes.BEARER_OR_BASIC:
            return ApiKey.read_basic(credentials.strip())
        case _:
            return None
