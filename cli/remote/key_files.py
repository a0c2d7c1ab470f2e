"""Signing keys in files: the private half for whoever signs, the public half for whoever trusts it.

A private key never leaves this machine; a password for it comes from the environment, not from the command line.
"""

import os
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from cli.remote.exits import CommandError, Exit
from cli.remote.files import read_bytes, read_text, unusable, write_new
from registry.errors import InvalidSignatureError
from registry.public_keys import MAX_KEY_TEXT_CHARACTERS, read_public_key
from registry.signatures import MAX_PRIVATE_KEY_BYTES, read_private_key

PASSWORD_VARIABLE: Final = "SCHEMAGATE_SIGNING_KEY_PASSWORD"  # noqa: S105 - a name, not a password


def create_key_file(path: Path) -> Ed25519PrivateKey:
    """A new key in a file that only its owner may read; never over another file. Raises `CommandError`."""
    key = Ed25519PrivateKey.generate()
    password = _password()
    encryption = NoEncryption() if password is None else BestAvailableEncryption(password)
    write_new(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption), mode=0o600)
    return key


def load_key_file(path: Path) -> Ed25519PrivateKey:
    """The private key in a file. Raises `CommandError`."""
    pem = read_bytes(path, max_bytes=MAX_PRIVATE_KEY_BYTES)
    if b"-----BEGIN PUBLIC KEY-----" in pem:
        raise unusable(path, "it is a public key; signing takes the private one")
    try:
        return read_private_key(pem, password=_password())
    except InvalidSignatureError as error:
        raise unusable(path, f"{error} (a password is taken from {PASSWORD_VARIABLE})") from error


def load_public_key_file(path: Path) -> bytes:
    """The 32 raw bytes of the public key in a file. Raises `CommandError`: a private key above all."""
    text = read_text(path, max_bytes=4 * MAX_KEY_TEXT_CHARACTERS)
    if "PRIVATE KEY" in text:
        message = f"cannot use {path}: it is a private key; it stays with its holder, and nobody else is to see it"
        raise CommandError(message, exit_code=Exit.USAGE, code="private_key")
    try:
        return read_public_key(text)
    except InvalidSignatureError as error:
        raise unusable(path, str(error)) from error


def public_pem(key: Ed25519PrivateKey) -> str:
    """The public half as PEM."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def raw_public_key(key: Ed25519PrivateKey) -> bytes:
    """The public half as its 32 bytes."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def _password() -> bytes | None:
    text = os.environ.get(PASSWORD_VARIABLE)
    return text.encode(errors="surrogateescape") if text else None
