"""Ed25519 public keys as people send them, and which of the encodings are keys at all (RFC 8032, section 5.1).

A key that is no generator of the prime-order group is refused: under the eight points of small order one signature
fits many messages, and under a point with a component of small order two verifiers may disagree.
"""

import re
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from registry.errors import InvalidSignatureError
from registry.identifiers import SigningKeyId

MAX_KEY_TEXT_CHARACTERS: Final = 1024
"""An Ed25519 key is 113 characters as PEM; other algorithms' keys are longer and refused anyway."""

_PEM_START: Final = "-----BEGIN PUBLIC KEY-----"
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{43}=", re.ASCII)

_P: Final = 2**255 - 19
_L: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, _P) % _P
_SQRT_OF_MINUS_1: Final = pow(2, (_P - 1) // 4, _P)

_Point = tuple[int, int, int, int]
"""Extended coordinates (X, Y, Z, T): x = X/Z, y = Y/Z, x·y = T/Z."""


def read_public_key(text: str) -> bytes:
    """The 32 raw bytes of a key sent as PEM (SubjectPublicKeyInfo) or as base64 of the raw bytes.

    Raises `InvalidSignatureError`.
    """
    if len(text) > MAX_KEY_TEXT_CHARACTERS:
        raise InvalidSignatureError(f"a public key has at most {MAX_KEY_TEXT_CHARACTERS} characters")
    stripped = text.strip()
    raw = _from_pem(stripped) if stripped.startswith(_PEM_START) else _from_base64(stripped)
    if not generates_prime_order_group(raw):
        raise InvalidSignatureError("the public key is not a point of the curve's prime-order group")
    return raw


def signing_key_id(raw: bytes) -> SigningKeyId:
    """The name of a key: made of its content, so that nobody can give one key another's name."""
    return SigningKeyId(f"ed25519:{sha256(raw).hexdigest()[:32]}")


def public_key_text(raw: bytes) -> str:
    """Base64 of the raw bytes: how a key is kept."""
    return b64encode(raw).decode()


def generates_prime_order_group(raw: bytes) -> bool:
    """Whether 32 bytes are the canonical encoding of a point, other than the neutral one, of order L."""
    point = _decompressed(raw)
    return point is not None and not _is_neutral(point) and _is_neutral(_multiplied(point, _L))


def _from_pem(text: str) -> bytes:
    try:
        key = load_pem_public_key(text.encode("ascii"))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InvalidSignatureError("the public key is not readable PEM (SubjectPublicKeyInfo)") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidSignatureError("the public key is of another algorithm; signatures here are Ed25519")
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _from_base64(text: str) -> bytes:
    if _BASE64.fullmatch(text) is None:
        raise InvalidSignatureError("a public key is PEM (SubjectPublicKeyInfo), or base64 of the 32 raw bytes")
    raw = b64decode(text)
    if public_key_text(raw) != text:
        raise InvalidSignatureError("the public key is not the one base64 spelling of its bytes")
    return raw


def _decompressed(raw: bytes) -> _Point | None:
    """RFC 8032, 5.1.3; an encoding of y that is not below p is refused there too."""
    if len(raw) != 32:
        return None
    encoded = int.from_bytes(raw, "little")
    sign, y = encoded >> 255, encoded & (2**255 - 1)
    if y >= _P:
        return None
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(x_squared, (_P + 3) // 8, _P)
    if (x * x - x_squared) % _P:
        x = x * _SQRT_OF_MINUS_1 % _P
    if (x * x - x_squared) % _P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _added(p: _Point, q: _Point) -> _Point:
    """RFC 8032, 5.1.4: the complete formula, good for doubling too."""
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiplied(point: _Point, factor: int) -> _Point:
    result: _Point = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            result = _added(result, point)
        point = _added(point, point)
        factor >>= 1
    return result


def _is_neutral(point: _Point) -> bool:
    return point[0] % _P == 0 and (point[1] - point[2]) % _P == 0
