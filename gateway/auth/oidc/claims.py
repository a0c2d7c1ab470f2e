"""From the claims of a token whose signature is good to who calls, or to why nobody does."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Final

from gateway.auth.oidc.settings import OidcSettings
from gateway.auth.oidc.token import TokenFault, TokenFaultError
from gateway.auth.records import MAX_TENANT_CHARACTERS, MAX_TEXT_CHARACTERS
from gateway.identifiers import KeyId
from policy.roles import Role
from policy.scopes import Scope, read_scopes
from registry.contract import JsonValue
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.naming import read_team

_MAX_SUBJECT_CHARACTERS: Final = 255
"""OpenID Connect Core, section 2."""
_ROLES: Final[Mapping[str, Role]] = {role.value: role for role in Role}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a token is about. Whether the tenant exists, nobody has asked yet."""

    tenant: TenantId
    key_id: KeyId
    """Of issuer and subject: the same with every token, so that budget and audit stay the caller's."""
    principal: PrincipalId
    team: TeamName | None
    roles: frozenset[Role]
    scopes: frozenset[Scope] | None
    """None: tokens name none here."""


def read_identity(claims: Mapping[str, JsonValue], settings: OidcSettings, *, now: float) -> Identity:
    """Who it is, where the token is for us and for now. Raises `TokenFaultError`."""
    if claims.get("iss") != settings.issuer:
        raise TokenFaultError(TokenFault.ISSUER)
    audience = claims.get("aud")
    sent = audience if isinstance(audience, list) else [audience]
    if not any(isinstance(each, str) and each in settings.audiences for each in sent):
        raise TokenFaultError(TokenFault.AUDIENCE)
    _check_moments(claims, settings, now=now)
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT_CHARACTERS:
        raise TokenFaultError(TokenFault.SUBJECT)
    return Identity(
        tenant=_tenant(_claim(claims, settings.tenant_claim)),
        key_id=token_key_id(settings.issuer, subject),
        principal=_principal(_claim(claims, settings.principal_claim)),
        team=_team(_claim(claims, settings.team_claim)),
        roles=_roles(_claim(claims, settings.roles_claim)),
        scopes=_scopes(claims, settings),
    )


def token_key_id(issuer: str, subject: str) -> KeyId:
    """`jwt_<32 hex>`: names a subject of an issuer without saying who it is."""
    digest = sha256()
    for part in (issuer.encode(), subject.encode()):
        digest.update(len(part).to_bytes(8, "big") + part)
    return KeyId(f"jwt_{digest.hexdigest()[:32]}")


def _check_moments(claims: Mapping[str, JsonValue], settings: OidcSettings, *, now: float) -> None:
    leeway = settings.leeway_seconds
    if "exp" not in claims:
        raise TokenFaultError(TokenFault.NO_EXPIRY)
    expires = _moment(claims["exp"], TokenFault.NO_EXPIRY)
    if expires <= now - leeway:
        raise TokenFaultError(TokenFault.EXPIRED)
    if expires > now + settings.max_lifetime_seconds + leeway:
        raise TokenFaultError(TokenFault.LIVES_TOO_LONG)
    for name in ("nbf", "iat"):
        if name in claims and _moment(claims[name], TokenFault.NOT_YET) > now + leeway:
            raise TokenFaultError(TokenFault.NOT_YET)


def _moment(value: JsonValue, fault: TokenFault) -> int | Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise TokenFaultError(fault)
    return value


def _claim(claims: Mapping[str, JsonValue], name: str) -> JsonValue:
    """The claim of that very name, or the member that its dots lead to; null where there is none."""
    if name in claims:
        return claims[name]
    value: JsonValue = dict(claims)
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _tenant(value: JsonValue) -> TenantId:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TENANT_CHARACTERS or not value.isprintable():
        raise TokenFaultError(TokenFault.TENANT)
    return TenantId(value)


def _principal(value: JsonValue) -> PrincipalId:
    # `key:` is how keys are called that stand for themselves; nobody may pass for one.
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > MAX_TEXT_CHARACTERS
        or not value.isprintable()
        or value.startswith("key:")
    ):
        raise TokenFaultError(TokenFault.PRINCIPAL)
    return PrincipalId(value)


def _team(value: JsonValue) -> TeamName | None:
    if value is None:
        return None
    team = read_team(value) if isinstance(value, str) else None
    if team is None:
        raise TokenFaultError(TokenFault.TEAM)
    return team


def _roles(value: JsonValue) -> frozenset[Role]:
    if value is None:
        return frozenset({Role.CALLER})
    return frozenset(_ROLES[name] for name in _names(value) if name in _ROLES)


def _scopes(claims: Mapping[str, JsonValue], settings: OidcSettings) -> frozenset[Scope] | None:
    if not settings.scopes_claim:
        return None
    value = _claim(claims, settings.scopes_claim)
    return frozenset() if value is None else read_scopes(_names(value))


def _names(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return value.split()
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TokenFaultError(TokenFault.ROLES)
    return [each for each in value if isinstance(each, str)]
