"""API keys as text: `sg_<id>_<secret>`. The id may be logged; of the secret only a keyed digest is ever kept."""

import base64
import binascii
import hmac
import re
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from gateway.identifiers import KeyId, TenantPartition
from registry.identifiers import TenantId

_ID_BYTES = 8
_SECRET_BYTES = 32
_KEY = re.compile(r"sg_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
MIN_PEPPER_CHARACTERS = 16
_MAX_PARTITIONS = 4096
"""That are remembered, by tenant: each request asks for one."""
_MAX_BASIC_CHARACTERS = 1024
"""Of the credentials of Basic authentication: a key has 63 characters, and the user's name beside it may be any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key in clear: exists while it is made, shown, or checked."""

    key_id: KeyId
    secret: str = field(repr=False)

    @classmethod
    def generate(cls) -> "ApiKey":
        """A new key with 256 bits of secret."""
        return cls.rotated(KeyId(secrets.token_hex(_ID_BYTES)))

    @classmethod
    def rotated(cls, key_id: KeyId) -> "ApiKey":
        """Another secret for a key: who holds it, what it may do and what it has used stay the key's."""
        return cls(key_id=key_id, secret=secrets.token_urlsafe(_SECRET_BYTES))

    @classmethod
    def read(cls, text: str) -> "ApiKey | None":
        """The key that `text` spells, or None for anything else: the shape is checked before any look-up."""
        match = _KEY.fullmatch(text)
        return None if match is None else cls(key_id=KeyId(match[1]), secret=match[2])

    @classmethod
    def read_basic(cls, credentials: str) -> "ApiKey | None":
        """The key in the credentials of HTTP Basic authentication (RFC 7617), or None.

        The password is the whole key, whoever the user is said to be; or the user is `sg_<id>` and the password the
        secret, for clients that show the user's name and hide the password.
        """
        if len(credentials) > _MAX_BASIC_CHARACTERS:
            return None
        try:
            user, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            return None
        return cls.read(password) or cls.read(f"{user}_{password}")

    @property
    def text(self) -> str:
        """The one spelling a caller sends."""
        return f"sg_{self.key_id}_{self.secret}"


class Pepper:
    """The gateway's own secret. Each use derives its own key, so that one digest never serves as another."""

    def __init__(self, text: str, *, former: str | None = None) -> None:
        if min(len(each) for each in (text, former or text)) < MIN_PEPPER_CHARACTERS:
            raise ValueError(f"the key pepper needs at least {MIN_PEPPER_CHARACTERS} characters")
        self._key_digests = _digest_key(text)
        self._former_digests = None if former is None else _digest_key(former)
        self._partitions = hmac.digest(text.encode(), b"schemagate tenant partition v1", sha256)
        self._partition = lru_cache(maxsize=_MAX_PARTITIONS)(self._derived)

    def digest(self, key: ApiKey) -> str:
        """What the store keeps. The id is part of it: a digest cannot be moved to another row."""
        return hmac.digest(self._key_digests, f"{key.key_id}:{key.secret}".encode(), "sha256").hex()

    def former_digest(self, key: ApiKey) -> str | None:
        """What the store keeps of a key that has not been used since the pepper was changed; None: it was not."""
        if self._former_digests is None:
            return None
        return hmac.digest(self._former_digests, f"{key.key_id}:{key.secret}".encode(), "sha256").hex()

    def partition(self, tenant: TenantId) -> TenantPartition:
        """Where this tenant's artifacts live; says nothing to who does not hold the pepper."""
        return self._partition(tenant)

    def _derived(self, tenant: TenantId) -> TenantPartition:
        return TenantPartition(hmac.digest(self._partitions, tenant.encode(), "sha256").hex())


def _digest_key(pepper: str) -> bytes:
    return hmac.digest(pepper.encode(), b"schemagate api key digest v1", sha256)
