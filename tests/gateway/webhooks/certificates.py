"""A certificate authority for a test, and certificates by it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LIFE = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """`file` holds its certificate."""

    file: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    @classmethod
    def made(cls, directory: Path) -> "Authority":
        directory.mkdir()
        key, name = ec.generate_private_key(ec.SECP256R1()), _name(directory.name)
        builder = _builder(subject=name, issuer=name, key=key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        file = directory / "ca.pem"
        file.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return cls(file=file, key=key, name=name)

    def certificate(self, host: str) -> tuple[Path, Path]:
        """Certificate and key of a server."""
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            alternative: x509.GeneralName = x509.IPAddress(ip_address(host))
        except ValueError:
            alternative = x509.DNSName(host)
        builder = _builder(subject=_name(host), issuer=self.name, key=key).add_extension(
            x509.SubjectAlternativeName([alternative]), critical=False
        )
        certificate, key_file = (self.file.parent / f"{host}.{end}" for end in ("pem", "key"))
        certificate.write_bytes(builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, key_file


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(*, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LIFE)
        .not_valid_after(now + _LIFE)
    )
