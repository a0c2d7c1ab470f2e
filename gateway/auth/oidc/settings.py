"""Settings of the identity provider, read once from the environment (prefix `SCHEMAGATE_GATEWAY_OIDC_`)."""

from pathlib import Path
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gateway.auth.oidc.key_set import ALGORITHMS

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class OidcSettings(BaseSettings):
    """One issuer. Without one, only keys are taken."""

    model_config = SettingsConfigDict(env_prefix="SCHEMAGATE_GATEWAY_OIDC_", frozen=True, extra="ignore")

    issuer: str = Field(default="", max_length=1_024)
    """What `iss` has to be, character by character; empty: no tokens are taken."""
    audiences: Annotated[tuple[str, ...], NoDecode] = ()
    """One of these has to be in `aud`, comma separated. Without a default: a token for another program is no token."""
    jwks_url: str = ""
    """Where the issuer publishes its keys; `https`, or `http` on this machine."""
    jwks_file: Path | None = None
    """A file with them instead; read again as often as the URL would be."""
    algorithms: Annotated[tuple[str, ...], NoDecode] = ALGORITHMS
    """Taken of RS256, ES256 and EdDSA (Ed25519), comma separated. There are no others: none with a shared secret."""
    leeway_seconds: float = Field(default=30.0, ge=0, le=300)
    """How far the issuer's clock and this one may be apart."""
    max_token_bytes: int = Field(default=8_192, ge=512, le=65_536)
    """A longer token is refused unread."""
    max_lifetime_seconds: float = Field(default=86_400.0, gt=0)
    """A token that is good for longer from now on is refused: it cannot be revoked here."""

    jwks_max_age_seconds: float = Field(default=600.0, ge=1, le=86_400)
    """How often the keys are fetched."""
    jwks_stale_seconds: float = Field(default=3_600.0, ge=0, le=604_800)
    """How much longer they are used while they cannot be fetched; then tokens are answered with 503."""
    jwks_refetch_seconds: float = Field(default=10.0, ge=1, le=3_600)
    """At most one attempt in this time, whatever unknown keys tokens name."""
    jwks_fetch_seconds: float = Field(default=3.0, gt=0, le=30)
    """For one attempt, from connecting to the last byte."""
    max_jwks_bytes: int = Field(default=262_144, ge=1_024, le=4_194_304)
    """A longer set of keys is refused."""

    tenant_claim: str = "tenant"
    """Whose caller it is. A claim within objects is written with dots: `resource.tenant`."""
    principal_claim: str = "sub"
    """Who it is, as audit and two-person rules know them."""
    team_claim: str = "team"
    """The caller's team; may be missing in a token."""
    roles_claim: str = "roles"
    """A list, or words in a text. Missing in a token: `caller`; names that are no roles of ours give nothing."""
    scopes_claim: str = ""
    """Likewise for scopes; empty: the roles alone decide. Named here and missing in a token: no scope at all."""

    @property
    def is_enabled(self) -> bool:
        """Whether tokens are taken."""
        return bool(self.issuer)

    @field_validator("audiences", "algorithms", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("algorithms")
    @classmethod
    def _known_algorithms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or not set(value) <= set(ALGORITHMS):
            raise ValueError(f"choose of {', '.join(ALGORITHMS)}")
        return value

    @field_validator("tenant_claim", "principal_claim", "team_claim", "roles_claim")
    @classmethod
    def _some_claim(cls, value: str) -> str:
        if not value:
            raise ValueError("name a claim")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if not self.issuer:
            return self
        if not self.audiences:
            raise ValueError("SCHEMAGATE_GATEWAY_OIDC_AUDIENCES: name at least one audience")
        if bool(self.jwks_url) == (self.jwks_file is not None):
            raise ValueError("set one of SCHEMAGATE_GATEWAY_OIDC_JWKS_URL and SCHEMAGATE_GATEWAY_OIDC_JWKS_FILE")
        if self.jwks_url:
            _check_url(self.jwks_url)
        return self


def _check_url(url: str) -> None:
    # Who can change what a plain connection says could put a key of their own into the set.
    parts = urlsplit(url)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname or parts.username is not None:
        raise ValueError("SCHEMAGATE_GATEWAY_OIDC_JWKS_URL: an https URL without a user, or http on this machine")
