"""The issuer's public keys (JSON Web Key Set, RFC 7517), each bound to the one algorithm that it may be used with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import Algorithm, ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

from registry.errors import ContractRejectedError
from registry.parsing import parse_json

ALGORITHMS: Final = ("RS256", "ES256", "EdDSA")
"""All that there are here. None takes a secret, so a public key can never be taken for one."""

MAX_KEYS: Final = 64
MAX_KID_CHARACTERS: Final = 256
_MAX_MEMBER_CHARACTERS: Final = 4_096
_MAX_NESTING: Final = 8
_RSA_BITS: Final = range(2_048, 8_193)
"""Below, it can be factored; above, verifying takes everybody's time."""

_VERIFIERS: Final[Mapping[str, Algorithm]] = {
    "RS256": RSAAlgorithm(RSAAlgorithm.SHA256),
    "ES256": ECAlgorithm(ECAlgorithm.SHA256),
    "EdDSA": OKPAlgorithm(),
}
_BINDINGS: Final[Mapping[tuple[str, str | None], str]] = {
    ("RSA", None): "RS256",
    ("EC", "P-256"): "ES256",
    ("OKP", "Ed25519"): "EdDSA",
}
"""By `kty` and `crv`."""
_PRIVATE_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


class KeySetError(Exception):
    """The document is no set of keys; the message is for whoever runs the gateway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyingKey:
    """A public key and the algorithm it is for."""

    kid: str | None
    algorithm: str
    key: RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey = field(repr=False)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Whether the holder of the private half has signed these bytes."""
        try:
            return bool(_VERIFIERS[self.algorithm].verify(message, self.key, signature))
        except (PyJWTError, ValueError):
            return False


def read_key_set(data: bytes, *, max_bytes: int) -> tuple[VerifyingKey, ...]:
    """The keys that tokens may be signed with; those for other purposes and algorithms are passed over.

    Raises:
        KeySetError: it is no set of keys, or has more than `MAX_KEYS`.
    """
    try:
        document = parse_json(data, max_bytes=max_bytes, max_nesting=_MAX_NESTING)
    except ContractRejectedError as error:
        raise KeySetError(f"the set of keys is not JSON: {error.rejections[0].code}") from error
    members = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(members, list):
        raise KeySetError("the set of keys has no list `keys`")
    if len(members) > MAX_KEYS:
        raise KeySetError(f"the set has {len(members)} keys; at most {MAX_KEYS} are read")
    found = (_key(member) for member in members if isinstance(member, dict))
    return tuple(key for key in found if key is not None)


def _key(member: Mapping[str, Any]) -> VerifyingKey | None:
    texts = {name: value for name, value in member.items() if isinstance(value, str)}
    algorithm = _BINDINGS.get((texts.get("kty", ""), texts.get("crv")))
    kid = texts.get("kid")
    if algorithm is None or not _is_for_verifying(member, algorithm):
        return None
    # A private half in a public document is everybody's by now.
    if _PRIVATE_MEMBERS & set(member) or any(len(value) > _MAX_MEMBER_CHARACTERS for value in texts.values()):
        return None
    if ("kid" in member and kid is None) or len(kid or "") > MAX_KID_CHARACTERS:
        return None
    try:
        key = _VERIFIERS[algorithm].from_jwk(
            {name: texts[name] for name in ("kty", "crv", "n", "e", "x", "y") if name in texts}
        )
    except (PyJWTError, ValueError, UnsupportedAlgorithm):
        return None
    match key:
        case RSAPublicKey() if key.key_size in _RSA_BITS:
            return VerifyingKey(kid=kid, algorithm=algorithm, key=key)
        case EllipticCurvePublicKey() | Ed25519PublicKey():
            return VerifyingKey(kid=kid, algorithm=algorithm, key=key)
        case _:
            return None


def _is_for_verifying(member: Mapping[str, Any], algorithm: str) -> bool:
    operations = member.get("key_ops")
    return (
        member.get("use", "sig") == "sig"
        and member.get("alg", algorithm) == algorithm
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
    )
