"""An identity provider for tests: real keys, tokens signed by a library that the verifier does not use for it."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from gateway.auth.oidc.settings import OidcSettings

ISSUER = "https://id.example/realms/acme"
AUDIENCE = "schemagate"


def now() -> int:
    return int(datetime.now(UTC).timestamp())


def claims(**changes: Any) -> dict[str, Any]:
    """Those of a good token; a change to None leaves the claim out."""
    made = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "user-1",
        "exp": now() + 600,
        "iat": now(),
        "tenant": "acme",
        "roles": ["author", "offline_access"],
    } | changes
    return {name: value for name, value in made.items() if value is not None}


def oidc(**changes: Any) -> OidcSettings:
    """Settings for this issuer, whose keys come from wherever the test says."""
    return OidcSettings(
        **{"issuer": ISSUER, "audiences": (AUDIENCE,), "jwks_url": "https://id.example/keys", **changes}
    )


def segment(value: Any) -> str:
    """A part of a token: JSON, or bytes as they are."""
    data = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass(slots=True)
class Issuer:
    """One key for each algorithm, by its key id."""

    rsa_key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    ec_key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    ed_key: ed25519.Ed25519PrivateKey = field(default_factory=ed25519.Ed25519PrivateKey.generate)

    def keys(self) -> dict[str, Any]:
        """By algorithm."""
        return {"RS256": self.rsa_key, "ES256": self.ec_key, "EdDSA": self.ed_key}

    def jwks(self) -> list[dict[str, Any]]:
        """The public halves."""
        made: list[dict[str, Any]] = []
        for algorithm, key in self.keys().items():
            library: Any = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}[algorithm]
            made.append({**library.to_jwk(key.public_key(), as_dict=True), "kid": algorithm, "use": "sig"})
        return made

    def document(self) -> bytes:
        """What the issuer publishes."""
        return json.dumps({"keys": self.jwks()}).encode()

    def token(
        self,
        sent: Mapping[str, Any] | None = None,
        *,
        algorithm: str = "RS256",
        headers: Mapping[str, Any] | None = None,
    ) -> str:
        """A signed token."""
        header = {"kid": algorithm, **(headers or {})}
        return jwt.encode(
            dict(claims() if sent is None else sent),
            self.keys()[algorithm],
            algorithm=algorithm,
            headers={name: value for name, value in header.items() if value is not None},
        )

    def signed(self, header: Mapping[str, Any], payload: bytes, *, algorithm: str = "RS256") -> str:
        """A token with whatever header and payload, rightly signed."""
        message = f"{segment(dict(header))}.{segment(payload)}"
        library: Any = {
            "RS256": RSAAlgorithm(RSAAlgorithm.SHA256),
            "ES256": ECAlgorithm(ECAlgorithm.SHA256),
            "EdDSA": OKPAlgorithm(),
        }[algorithm]
        return f"{message}.{segment(library.sign(message.encode(), self.keys()[algorithm]))}"

    def public_texts(self) -> list[bytes]:
        """Every spelling of the public keys that somebody may take for a shared secret."""
        texts = [self.document()]
        for key in self.keys().values():
            public = key.public_key()
            texts.extend(
                public.public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
                for encoding in (Encoding.PEM, Encoding.DER)
            )
        return texts


def private_pem(key: Any) -> bytes:
    """A private key as a file would hold it."""
    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem
