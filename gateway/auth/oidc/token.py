"""A JSON Web Token taken apart (RFC 7515, compact form), strictly: one spelling, no extensions, nothing believed."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from registry.contract import JsonValue
from registry.errors import ContractRejectedError
from registry.parsing import parse_json

_TOKEN: Final = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)", re.ASCII)
_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt", "application/jwt"})
"""What `typ` may say (RFC 8725, section 3.11): a logout token or a security event is no permission to call."""
_MAX_NESTING: Final = 16
_MAX_KID_CHARACTERS: Final = 256


class TokenFault(StrEnum):
    """Why a token is refused: for the log of whoever runs the gateway, never for who sent it."""

    TOO_LONG = "too_long"
    MALFORMED = "malformed"
    ALGORITHM = "algorithm"
    UNKNOWN_KEY = "unknown_key"
    SIGNATURE = "signature"
    ISSUER = "issuer"
    AUDIENCE = "audience"
    EXPIRED = "expired"
    NO_EXPIRY = "no_expiry"
    LIVES_TOO_LONG = "lives_too_long"
    NOT_YET = "not_yet"
    SUBJECT = "subject"
    PRINCIPAL = "principal"
    TEAM = "team"
    ROLES = "roles"
    TENANT = "tenant"
    UNKNOWN_TENANT = "unknown_tenant"


class TokenFaultError(Exception):
    """The token is not good; whoever catches it tells the caller no more than that."""

    def __init__(self, fault: TokenFault) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class UnverifiedToken:
    """What a token says of itself. `payload` is not read before the signature was found good."""

    algorithm: str
    kid: str | None
    signed: bytes = field(repr=False)
    signature: bytes = field(repr=False)
    payload: bytes = field(repr=False)

    def claims(self) -> Mapping[str, JsonValue]:
        """The claims, once the signature is good. Raises `TokenFaultError`."""
        return _object(self.payload)


def is_token(credentials: str) -> bool:
    """Whether this has the shape of a token at all; a key of ours has not."""
    return credentials.count(".") == 2 and not credentials.startswith("sg_")


def take_apart(text: str, *, max_bytes: int) -> UnverifiedToken:
    """The parts of a token. Raises `TokenFaultError`."""
    if len(text) > max_bytes:
        raise TokenFaultError(TokenFault.TOO_LONG)
    found = _TOKEN.fullmatch(text)
    if found is None:
        raise TokenFaultError(TokenFault.MALFORMED)
    header = _object(_bytes(found[1]))
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "jwt")
    if not isinstance(algorithm, str):
        raise TokenFaultError(TokenFault.ALGORITHM)
    # `crit` demands that extensions be understood, and none is; `b64` would change what was signed.
    is_extended = "crit" in header or "b64" in header
    if is_extended or not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise TokenFaultError(TokenFault.MALFORMED)
    if not (kid is None or (isinstance(kid, str) and 0 < len(kid) <= _MAX_KID_CHARACTERS)):
        raise TokenFaultError(TokenFault.MALFORMED)
    return UnverifiedToken(
        algorithm=algorithm,
        kid=kid,
        signed=f"{found[1]}.{found[2]}".encode(),
        signature=_bytes(found[3]),
        payload=_bytes(found[2]),
    )


def _bytes(segment: str) -> bytes:
    try:
        data = base64.b64decode(segment + "=" * (-len(segment) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as error:
        raise TokenFaultError(TokenFault.MALFORMED) from error
    # The last letter has bits that say nothing: set, they would be a second spelling of the same token.
    if base64.urlsafe_b64encode(data).rstrip(b"=") != segment.encode():
        raise TokenFaultError(TokenFault.MALFORMED)
    return data


def _object(data: bytes) -> Mapping[str, JsonValue]:
    try:
        value = parse_json(data, max_bytes=len(data), max_nesting=_MAX_NESTING)
    except ContractRejectedError as error:
        raise TokenFaultError(TokenFault.MALFORMED) from error
    if not isinstance(value, dict):
        raise TokenFaultError(TokenFault.MALFORMED)
    return value
