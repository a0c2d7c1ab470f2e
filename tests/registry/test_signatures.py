"""What is signed, and what signatures amount to."""

from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from policy.enforcement import EnforcementPolicy
from registry.contract import ContractKind
from registry.errors import InvalidSignatureError
from registry.identifiers import PrincipalId, TenantId
from registry.public_keys import public_key_text, signing_key_id
from registry.revision import Revision, Signature, SignatureStatus, SigningKey
from registry.signatures import read_private_key, sign, signing_payload, status_of, verify
from tests.registry.revisions import NOON, a_revision

L = 2**252 + 27742317777372353535851937790883648493


def raw_public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def key_of(key: Ed25519PrivateKey, **changes: Any) -> SigningKey:
    raw = raw_public(key)
    trusted = SigningKey(
        key_id=signing_key_id(raw),
        tenant=TenantId("acme"),
        public_key=public_key_text(raw),
        label="release",
        principal=PrincipalId("bea"),
        added_at=NOON,
    )
    return replace(trusted, **changes)


def signature_of(key: Ed25519PrivateKey, revision: Revision) -> Signature:
    return Signature(
        revision_id=revision.revision_id,
        key_id=signing_key_id(raw_public(key)),
        signature=sign(key, signing_payload(revision)),
        signed_by=PrincipalId("bea"),
        signed_at=NOON,
    )


def test_the_payload_is_these_bytes() -> None:
    assert signing_payload(a_revision()) == (
        b"schemagate signature 1\n"
        b'{"annotation_digest":"sha256:' + b"2" * 64 + b'","digest":"sha256:' + b"1" * 64 + b'",'
        b'"kind":"json_schema","name":"invoice","number":7,'
        b'"policy_digest":"' + EnforcementPolicy().digest.encode() + b'","tenant":"acme"}'
    )


@pytest.mark.parametrize(
    "change",
    [
        {"tenant": "other"},
        {"name": "invoices"},
        {"number": 8},
        {"digest": "sha256:" + "4" * 64},
        {"annotation_digest": "sha256:" + "4" * 64},
        {"kind": ContractKind.REGEX},
        {"policy": EnforcementPolicy(allow_checked_after=True)},
    ],
)
def test_a_signature_holds_for_one_number_of_one_name_with_one_content_and_policy(change: dict[str, Any]) -> None:
    key = Ed25519PrivateKey.generate()
    signature = sign(key, signing_payload(a_revision()))
    verify(raw_public(key), signing_payload(a_revision()), signature)
    with pytest.raises(InvalidSignatureError):
        verify(raw_public(key), signing_payload(a_revision(**change)), signature)


def test_a_signature_has_one_scalar_and_one_spelling() -> None:
    key = Ed25519PrivateKey.generate()
    payload = signing_payload(a_revision())
    raw = b64decode(sign(key, payload))
    second = raw[:32] + (int.from_bytes(raw[32:], "little") + L).to_bytes(32, "little")
    with pytest.raises(InvalidSignatureError):
        verify(raw_public(key), payload, b64encode(second).decode())
    spelled = b64encode(raw).decode()
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    respelled = spelled[:85] + alphabet[alphabet.index(spelled[85]) + 1] + "=="
    assert b64decode(respelled) == raw
    with pytest.raises(InvalidSignatureError, match="spelling"):
        verify(raw_public(key), payload, respelled)


@pytest.mark.parametrize("signature", ["", "A" * 86, "A" * 88, "é" * 88, "A" * 100_000, "A" * 86 + "==\n"])
def test_what_is_no_signature_is_refused(signature: str) -> None:
    key = Ed25519PrivateKey.generate()
    with pytest.raises(InvalidSignatureError):
        verify(raw_public(key), b"payload", signature)


def test_nothing_is_unsigned_and_a_live_signature_signs() -> None:
    key, revision = Ed25519PrivateKey.generate(), a_revision()
    assert status_of(revision, [], NOON) == (SignatureStatus.UNSIGNED, None)
    trusted = key_of(key)
    assert status_of(revision, [(signature_of(key, revision), trusted)], NOON) == (
        SignatureStatus.SIGNED,
        trusted.key_id,
    )


def test_a_revoked_or_expired_key_takes_its_signatures_along() -> None:
    key, revision = Ed25519PrivateKey.generate(), a_revision()
    signature = signature_of(key, revision)
    revoked = key_of(key, revoked_at=NOON, revocation_reason="laptop stolen")
    assert status_of(revision, [(signature, revoked)], NOON) == (SignatureStatus.REVOKED, None)
    expiring = key_of(key, expires_at=NOON + timedelta(days=1))
    assert status_of(revision, [(signature, expiring)], NOON)[0] is SignatureStatus.SIGNED
    assert status_of(revision, [(signature, expiring)], NOON + timedelta(days=1))[0] is SignatureStatus.REVOKED


def test_one_live_signature_among_dead_ones_is_enough() -> None:
    old, new, revision = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate(), a_revision()
    pairs = [
        (signature_of(old, revision), key_of(old, revoked_at=NOON)),
        (signature_of(new, revision), key_of(new)),
    ]
    assert status_of(revision, pairs, NOON) == (SignatureStatus.SIGNED, signing_key_id(raw_public(new)))


def test_rows_that_do_not_verify_count_for_nothing() -> None:
    key, other, revision = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate(), a_revision()
    moved = signature_of(key, a_revision(number=8))
    assert status_of(revision, [(moved, key_of(key))], NOON)[0] is SignatureStatus.UNSIGNED
    good = signature_of(key, revision)
    assert status_of(revision, [(good, key_of(other))], NOON)[0] is SignatureStatus.UNSIGNED
    foreign = key_of(key, tenant=TenantId("other"))
    assert status_of(revision, [(good, foreign)], NOON)[0] is SignatureStatus.UNSIGNED
    garbled = key_of(key, public_key="not base64")
    assert status_of(revision, [(good, garbled)], NOON)[0] is SignatureStatus.UNSIGNED


def test_private_keys_are_read_from_pem_with_their_password() -> None:
    key = Ed25519PrivateKey.generate()
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    assert raw_public(read_private_key(plain)) == raw_public(key)
    assert raw_public(read_private_key(locked, password=b"secret")) == raw_public(key)
    for pem, password in [(locked, None), (locked, b"wrong"), (plain, b"secret"), (b"", None), (b"x" * 5000, None)]:
        with pytest.raises(InvalidSignatureError):
            read_private_key(pem, password=password)
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    with pytest.raises(InvalidSignatureError, match="algorithm"):
        read_private_key(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
