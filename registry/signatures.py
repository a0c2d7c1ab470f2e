"""Signatures of revisions: what is signed, byte for byte, and what the signatures of a revision amount to now.

A signature says: the content of these digests, read under this policy, is this number of this name. It names no
installation, so it stays good through export and import, and no other number, so it cannot be moved to one. The
private key never reaches the product; `sign` is for the command line of whoever holds it.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from registry.contract import JsonValue
from registry.errors import InvalidSignatureError
from registry.identifiers import SigningKeyId
from registry.revision import Revision, Signature, SignatureStatus, SigningKey
from registry.text import canonical_json

PAYLOAD_HEADER: Final = "schemagate signature 1\n"
"""Separates these signatures from whatever else the same key may sign."""
MAX_PRIVATE_KEY_BYTES: Final = 4096

_SIGNATURE: Final = re.compile(r"[A-Za-z0-9+/]{86}==", re.ASCII)


def signing_payload(revision: Revision) -> bytes:
    """The bytes that are signed: a header line, then canonical JSON with its members in this order."""
    signed: dict[str, JsonValue] = {
        "annotation_digest": revision.annotation_digest,
        "digest": revision.digest,
        "kind": revision.kind.value,
        "name": revision.name,
        "number": revision.number,
        "policy_digest": revision.policy.digest,
        "tenant": revision.tenant,
    }
    return f"{PAYLOAD_HEADER}{canonical_json(signed)}".encode()


def sign(private_key: Ed25519PrivateKey, payload: bytes) -> str:
    """Base64 of the 64 bytes of a signature."""
    return b64encode(private_key.sign(payload)).decode()


def read_private_key(pem: bytes, *, password: bytes | None = None) -> Ed25519PrivateKey:
    """A private key from PEM (PKCS #8). For the holder's own machine. Raises `InvalidSignatureError`."""
    if len(pem) > MAX_PRIVATE_KEY_BYTES:
        raise InvalidSignatureError(f"a private key has at most {MAX_PRIVATE_KEY_BYTES} bytes")
    try:
        key = load_pem_private_key(pem, password)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        # TypeError: a password where none is needed, or none where one is.
        raise InvalidSignatureError("the private key is not readable PEM, or its password is wrong") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidSignatureError("the private key is of another algorithm; signatures here are Ed25519")
    return key


def verify(public_key: bytes, payload: bytes, signature: str) -> None:
    """Raises `InvalidSignatureError` unless `signature` is the base64 of a signature of `payload`.

    `public_key` is the 32 raw bytes, as `registry.public_keys` has let them through. The library refuses the second
    scalar that would fit (RFC 8032, 5.1.7), and a second spelling in base64 is refused here.
    """
    if _SIGNATURE.fullmatch(signature) is None:
        raise InvalidSignatureError("a signature is base64 of 64 bytes")
    raw = b64decode(signature, validate=True)
    if b64encode(raw).decode() != signature:
        raise InvalidSignatureError("the signature is not the one base64 spelling of its bytes")
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(raw, payload)
    except (InvalidSignature, ValueError) as error:
        raise InvalidSignatureError("the signature does not verify over this revision's signing payload") from error


def is_live(key: SigningKey, at: datetime) -> bool:
    """Neither revoked nor expired."""
    return key.revoked_at is None and (key.expires_at is None or at < key.expires_at)


def status_of(
    revision: Revision, signatures: Iterable[tuple[Signature, SigningKey]], at: datetime
) -> tuple[SignatureStatus, SigningKeyId | None]:
    """What the signatures amount to at a time, and by which key.

    Each is verified again: a row of a database is no proof, and the check costs about 0.1 ms. When a key is revoked all
    of its signatures die, whenever they were made: nobody knows since when a stolen key was in other hands.
    """
    status = SignatureStatus.UNSIGNED
    payload = signing_payload(revision)
    for signature, key in signatures:
        if not _is_over(payload, revision, signature, key):
            continue
        if is_live(key, at):
            return SignatureStatus.SIGNED, key.key_id
        status = SignatureStatus.REVOKED
    return status, None


def _is_over(payload: bytes, revision: Revision, signature: Signature, key: SigningKey) -> bool:
    """Whether the signature is one of this revision by this key, which its own tenant trusts or trusted."""
    if key.tenant != revision.tenant or key.key_id != signature.key_id:
        return False
    try:
        verify(b64decode(key.public_key, validate=True), payload, signature.signature)
    except (InvalidSignatureError, ValueError):
        return False
    return True
