"""Which encodings are Ed25519 public keys."""

from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import InvalidSignatureError
from registry.public_keys import (
    MAX_KEY_TEXT_CHARACTERS,
    generates_prime_order_group,
    public_key_text,
    read_public_key,
    signing_key_id,
)

P = 2**255 - 19
ORDER_8_Y = 55188659117513257062467267217118295137698188065244968500265048394206261417927
"""The y of L times the point with y = 3: a point of order 8."""


def pem_of(
    key: ed25519.Ed25519PublicKey | rsa.RSAPublicKey | ec.EllipticCurvePublicKey | x25519.X25519PublicKey,
) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@given(st.binary(min_size=32, max_size=32))
def test_every_generated_key_is_read_from_either_spelling(seed: bytes) -> None:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(seed).public_key()
    raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    assert read_public_key(pem_of(key)) == raw
    assert read_public_key(f"  {public_key_text(raw)}\n") == raw


def test_a_key_is_named_by_its_content() -> None:
    raw = (
        ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
        .public_key()
        .public_bytes(Encoding.Raw, PublicFormat.Raw)
    )
    other = (
        ed25519.Ed25519PrivateKey.from_private_bytes(bytes([1] * 32))
        .public_key()
        .public_bytes(Encoding.Raw, PublicFormat.Raw)
    )
    # sha256 of the raw key of RFC 8032's all-zero seed
    assert signing_key_id(raw) == "ed25519:139e3940e64b5491722088d9a0d741628fc826e09475d341a780acde3c4b8070"[:40]
    assert signing_key_id(other) != signing_key_id(raw)


def test_keys_of_other_algorithms_are_refused_by_name() -> None:
    others: list[rsa.RSAPublicKey | ec.EllipticCurvePublicKey | x25519.X25519PublicKey] = [
        rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key(),
        ec.generate_private_key(ec.SECP256R1()).public_key(),
        x25519.X25519PrivateKey.generate().public_key(),
    ]
    for key in others:
        with pytest.raises(InvalidSignatureError, match="another algorithm"):
            read_public_key(pem_of(key))


@pytest.mark.parametrize(
    ("why", "y", "sign"),
    [
        ("the neutral point", 1, 0),
        ("the point of order 2", P - 1, 0),
        ("a point of order 4", 0, 0),
        ("the other point of order 4", 0, 1),
        ("a point of order 8", ORDER_8_Y, 0),
        ("another point of order 8", ORDER_8_Y, 1),
        ("a third point of order 8", P - ORDER_8_Y, 0),
        ("the fourth point of order 8", P - ORDER_8_Y, 1),
        ("the neutral point, not reduced", P + 1, 0),
        ("order 4, not reduced", P, 0),
        ("the neutral point with a sign it cannot have", 1, 1),
        ("no point of the curve", 2, 0),
    ],
)
def test_points_under_which_signatures_prove_nothing_are_refused(why: str, y: int, sign: int) -> None:
    raw = (y | sign << 255).to_bytes(32, "little")
    assert not generates_prime_order_group(raw), why
    with pytest.raises(InvalidSignatureError, match="prime-order"):
        read_public_key(b64encode(raw).decode())


def test_a_good_key_with_a_component_of_small_order_is_refused() -> None:
    """Adding the point of order 2 to (x, y) gives (-x, -y): on the curve, and of order 2·L."""
    raw = ed25519.Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    encoded = int.from_bytes(raw, "little")
    sign, y = encoded >> 255, encoded & (2**255 - 1)
    mixed = ((P - y) | (1 - sign) << 255).to_bytes(32, "little")
    assert generates_prime_order_group(raw)
    assert not generates_prime_order_group(mixed)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A" * 43,
        "A" * 44,
        "A" * 43 + "é",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",
        b64encode(bytes(31)).decode(),
        b64encode(bytes(33)).decode(),
        b64encode(bytes(32)).decode().replace("=", ""),
        b64encode(bytes(32)).decode() + "\x00",
        "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        "-----BEGIN PUBLIC KEY-----\n\u00e9\n-----END PUBLIC KEY-----",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        "A" * (MAX_KEY_TEXT_CHARACTERS + 1),
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidSignatureError):
        read_public_key(text)


@given(st.text(max_size=100))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(InvalidSignatureError):
        read_public_key("-----BEGIN PUBLIC KEY-----" + text)
