"""Tokens of an identity provider: which are taken, and that every other is refused in the same words."""

import base64
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gateway.auth.authenticator import Authenticator, Schemes
from gateway.auth.keys import Pepper
from gateway.auth.oidc.claims import token_key_id
from gateway.auth.oidc.key_source import KeySource
from gateway.auth.oidc.token import TokenFault, TokenFaultError
from gateway.auth.oidc.verifier import TokenVerifier
from gateway.auth.operator import AT_HAND
from gateway.auth.store import KeyStore
from gateway.auth.tenant_store import TenantStore
from gateway.errors import TenantDisabledError, UnauthenticatedError
from policy.roles import Role
from policy.scopes import Scope
from registry.identifiers import PrincipalId, TeamName, TenantId
from registry.revision import Actor
from tests.gateway.auth.issuer import AUDIENCE, ISSUER, Issuer, claims, now, oidc, segment

PEPPER = Pepper("a pepper only for tests")
ISSUED_BY = Issuer()
STRANGER = Issuer()


def verifier(**settings: Any) -> TokenVerifier:
    async def fetch() -> bytes:
        return ISSUED_BY.document()

    chosen = oidc(**settings)
    return TokenVerifier(chosen, KeySource(fetch, chosen))


async def fault(token: str, **settings: Any) -> TokenFault:
    with pytest.raises(TokenFaultError) as refused:
        await verifier(**settings).verify(token)
    return refused.value.fault


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
async def test_a_good_token_says_who_calls(algorithm: str) -> None:
    sent = claims(team="billing", roles="author auditor somebody-elses")
    identity = await verifier().verify(ISSUED_BY.token(sent, algorithm=algorithm))
    assert (identity.tenant, identity.principal, identity.team) == ("acme", "user-1", "billing")
    assert identity.roles == {Role.AUTHOR, Role.AUDITOR}
    assert identity.scopes is None
    assert identity.key_id == token_key_id(ISSUER, "user-1")


async def test_the_id_is_the_same_with_every_token_of_a_subject_and_no_other_subjects() -> None:
    one = await verifier().verify(ISSUED_BY.token())
    again = await verifier().verify(ISSUED_BY.token(claims(jti="other", iat=now() - 5), algorithm="EdDSA"))
    other = await verifier().verify(ISSUED_BY.token(claims(sub="user-2")))
    assert one.key_id == again.key_id != other.key_id
    assert "user-1" not in one.key_id
    assert token_key_id("https://a", "bc") != token_key_id("https://ab", "c")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"iss": None}, TokenFault.ISSUER),
        ({"iss": ISSUER + "/"}, TokenFault.ISSUER),
        ({"iss": [ISSUER]}, TokenFault.ISSUER),
        ({"aud": None}, TokenFault.AUDIENCE),
        ({"aud": "another"}, TokenFault.AUDIENCE),
        ({"aud": []}, TokenFault.AUDIENCE),
        ({"aud": [["schemagate"]]}, TokenFault.AUDIENCE),
        ({"aud": {"schemagate": 1}}, TokenFault.AUDIENCE),
        ({"exp": None}, TokenFault.NO_EXPIRY),
        ({"exp": "2099-01-01"}, TokenFault.NO_EXPIRY),
        ({"exp": True}, TokenFault.NO_EXPIRY),
        ({"exp": now() - 31}, TokenFault.EXPIRED),
        ({"exp": -1}, TokenFault.EXPIRED),
        ({"exp": 10**30}, TokenFault.LIVES_TOO_LONG),
        ({"exp": now() + 86_400 + 3600}, TokenFault.LIVES_TOO_LONG),
        ({"nbf": now() + 3600}, TokenFault.NOT_YET),
        ({"nbf": "now"}, TokenFault.NOT_YET),
        ({"iat": now() + 3600}, TokenFault.NOT_YET),
        ({"iat": [1]}, TokenFault.NOT_YET),
        ({"sub": None}, TokenFault.SUBJECT),
        ({"sub": ""}, TokenFault.SUBJECT),
        ({"sub": 7}, TokenFault.SUBJECT),
        ({"sub": "x" * 256}, TokenFault.SUBJECT),
        ({"sub": "key:0123456789abcdef"}, TokenFault.PRINCIPAL),
        ({"sub": "two\nlines"}, TokenFault.PRINCIPAL),
        ({"sub": " "}, TokenFault.PRINCIPAL),
        ({"tenant": None}, TokenFault.TENANT),
        ({"tenant": ""}, TokenFault.TENANT),
        ({"tenant": ["acme"]}, TokenFault.TENANT),
        ({"tenant": "x" * 65}, TokenFault.TENANT),
        ({"team": "no/team"}, TokenFault.TEAM),
        ({"team": 3}, TokenFault.TEAM),
        ({"roles": 3}, TokenFault.ROLES),
        ({"roles": ["author", 3]}, TokenFault.ROLES),
    ],
)
async def test_a_claim_that_is_not_right_refuses_the_token(changes: dict[str, Any], expected: TokenFault) -> None:
    payload = json.dumps(claims(**changes)).encode()
    assert await fault(ISSUED_BY.signed({"alg": "RS256", "kid": "RS256"}, payload)) is expected


async def test_clocks_may_be_a_little_apart() -> None:
    sent = claims(exp=now() - 20, nbf=now() + 20, iat=now() + 20)
    assert (await verifier().verify(ISSUED_BY.signed({"alg": "RS256"}, json.dumps(sent).encode()))).tenant == "acme"
    assert await fault(ISSUED_BY.token(sent), leeway_seconds=0) is TokenFault.EXPIRED


async def test_one_audience_of_several_is_enough() -> None:
    assert (await verifier().verify(ISSUED_BY.token(claims(aud=["a", AUDIENCE])))).tenant == "acme"
    assert (await verifier(audiences=("a", "b")).verify(ISSUED_BY.token(claims(aud="b")))).tenant == "acme"


async def test_without_roles_a_token_is_a_callers_and_foreign_roles_give_nothing() -> None:
    bare = await verifier().verify(ISSUED_BY.token(claims(roles=None)))
    assert bare.roles == {Role.CALLER}
    foreign = await verifier().verify(ISSUED_BY.token(claims(roles=["Operator", "admin", "root"])))
    assert foreign.roles == frozenset()


async def test_claims_may_have_other_names_and_lie_deeper() -> None:
    names = {
        "tenant_claim": "https://acme.example/tenant",
        "roles_claim": "realm_access.roles",
        "scopes_claim": "scope",
    }
    sent = claims(
        tenant=None, roles=None, realm_access={"roles": ["operator"]}, scope="openid generate profile",
        **{"https://acme.example/tenant": "acme"},
    )  # fmt: skip
    identity = await verifier(**names).verify(ISSUED_BY.token(sent))
    assert identity.roles == {Role.OPERATOR}
    assert identity.scopes == frozenset({Scope.GENERATE})
    without = await verifier(**names).verify(ISSUED_BY.token({**sent, "scope": None}))
    assert without.scopes == frozenset()


def _with_header(**header: Any) -> Callable[[], str]:
    return lambda: ISSUED_BY.signed({"alg": "RS256", "kid": "RS256", **header}, json.dumps(claims()).encode())


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (_with_header(crit=["exp"]), TokenFault.MALFORMED),
        (_with_header(crit=[]), TokenFault.MALFORMED),
        (_with_header(b64=False), TokenFault.MALFORMED),
        (_with_header(typ="logout+jwt"), TokenFault.MALFORMED),
        (_with_header(typ=1), TokenFault.MALFORMED),
        (_with_header(kid=""), TokenFault.MALFORMED),
        (_with_header(kid=["RS256"]), TokenFault.MALFORMED),
        (_with_header(kid="x" * 257), TokenFault.MALFORMED),
        (_with_header(kid="../../etc/passwd"), TokenFault.UNKNOWN_KEY),
        (_with_header(kid="ES256"), TokenFault.UNKNOWN_KEY),
        (_with_header(alg="ES256", kid="ES256"), TokenFault.SIGNATURE),
        (_with_header(alg="rs256"), TokenFault.ALGORITHM),
        (_with_header(alg="RS512"), TokenFault.ALGORITHM),
        (_with_header(alg="PS256"), TokenFault.ALGORITHM),
        (_with_header(alg="none"), TokenFault.ALGORITHM),
        (_with_header(alg=None), TokenFault.ALGORITHM),
        (_with_header(alg=["RS256"]), TokenFault.ALGORITHM),
    ],
)
async def test_a_header_that_is_not_right_refuses_the_token(make: Callable[[], str], expected: TokenFault) -> None:
    assert await fault(make()) is expected


async def test_what_a_header_says_of_keys_elsewhere_is_not_followed() -> None:
    stranger = STRANGER.jwks()[0]
    for extra in ({"jwk": stranger}, {"jku": "https://evil.example/keys"}, {"x5u": "https://evil.example/cert"}):
        header = {"alg": "RS256", "kid": "RS256", **extra}
        forged = STRANGER.signed(header, json.dumps(claims()).encode())
        assert await fault(forged) is TokenFault.SIGNATURE
        assert (await verifier().verify(ISSUED_BY.signed(header, json.dumps(claims()).encode()))).tenant == "acme"


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_a_public_key_is_never_taken_for_a_shared_secret(algorithm: str) -> None:
    for kid in ("RS256", "ES256", "EdDSA", None):
        header = {"alg": algorithm} | ({} if kid is None else {"kid": kid})
        message = f"{segment(header)}.{segment(claims())}"
        for secret in ISSUED_BY.public_texts():
            forged = f"{message}.{segment(hmac.digest(secret, message.encode(), sha256))}"
            assert await fault(forged) is TokenFault.ALGORITHM


async def test_unsigned_tokens_are_refused_whatever_they_call_it() -> None:
    for name in ("none", "None", "NONE", "nOnE", ""):
        message = f"{segment({'alg': name})}.{segment(claims())}"
        assert await fault(message + ".") is TokenFault.MALFORMED
        assert await fault(message + ".AA") is TokenFault.ALGORITHM
    message = f"{segment({'alg': 'RS256', 'kid': 'RS256'})}.{segment(claims())}"
    assert await fault(message + ".AA") is TokenFault.SIGNATURE


async def test_a_token_that_names_no_key_means_the_one_that_there_is() -> None:
    assert (await verifier().verify(ISSUED_BY.token(headers={"kid": None}))).tenant == "acme"
    two = [*ISSUED_BY.jwks(), {**STRANGER.jwks()[0], "kid": "other"}]

    async def fetch() -> bytes:
        return json.dumps({"keys": two}).encode()

    ambiguous = TokenVerifier(oidc(), KeySource(fetch, oidc()))
    with pytest.raises(TokenFaultError) as refused:
        await ambiguous.verify(ISSUED_BY.token(headers={"kid": None}))
    assert refused.value.fault is TokenFault.UNKNOWN_KEY


async def test_two_keys_of_one_id_are_both_tried() -> None:
    async def fetch() -> bytes:
        return json.dumps({"keys": [*STRANGER.jwks(), *ISSUED_BY.jwks()]}).encode()

    both = TokenVerifier(oidc(), KeySource(fetch, oidc()))
    for issuer in (ISSUED_BY, STRANGER):
        assert (await both.verify(issuer.token())).tenant == "acme"


async def test_only_the_algorithms_that_are_listed_count() -> None:
    assert await fault(ISSUED_BY.token(), algorithms=("ES256",)) is TokenFault.ALGORITHM
    assert (await verifier(algorithms=("ES256",)).verify(ISSUED_BY.token(algorithm="ES256"))).tenant == "acme"


async def test_a_second_spelling_of_a_good_token_is_refused() -> None:
    header, payload, signature = ISSUED_BY.token().split(".")
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    other = signature[:-1] + last[last.index(signature[-1]) ^ 1]  # 256 bytes end in four bits that say nothing
    assert base64.urlsafe_b64decode(other + "==") == base64.urlsafe_b64decode(signature + "==")
    for spelling in (
        f"{header}.{payload}.{other}",
        f"{header}.{payload}.{signature}==",
        f"{header}.{payload}.{signature}\n",
        f"{header}.{payload}.{signature[:50]} {signature[50:]}",
        f"{header}.{payload}.{signature}.",
        f"{header}.{payload}",
        f" {header}.{payload}.{signature}",
    ):
        assert await fault(spelling) is TokenFault.MALFORMED


async def test_json_that_two_readers_may_read_differently_is_refused() -> None:
    good = json.dumps(claims())
    for payload in (
        good[:-1] + ',"tenant":"other"}',
        "[" * 2000 + "]" * 2000,
        good[:-1] + ',"x":' + "[" * 20 + "]" * 20 + "}",
        '{"exp":NaN}',
        '{"exp":1e999999999}',
        "[]",
        "null",
        "",
        good + " x",
        '{"sub":"\\ud800"}',
    ):
        token = ISSUED_BY.signed({"alg": "RS256", "kid": "RS256"}, payload.encode() or b" ")
        assert await fault(token) is TokenFault.MALFORMED
    doubled = base64.urlsafe_b64encode(b'{"alg":"none","alg":"RS256"}').rstrip(b"=").decode()
    assert await fault(f"{doubled}.{segment(claims())}.AA") is TokenFault.MALFORMED


async def test_a_long_token_is_refused_unread() -> None:
    long = ISSUED_BY.token(claims(padding="x" * 8_000))
    assert len(long) > 8_192
    assert await fault(long) is TokenFault.TOO_LONG
    assert (await verifier(max_token_bytes=20_000).verify(long)).tenant == "acme"


@asynccontextmanager
async def gate(directory: Path, **options: Any) -> AsyncIterator[tuple[Authenticator, TenantStore]]:
    store = await KeyStore.open(f"sqlite+aiosqlite:///{directory / 'keys.db'}")
    tenants = TenantStore(store.database)
    await tenants.create(TenantId("acme"), name="Acme", by=AT_HAND, at=datetime.now(UTC))
    yield Authenticator(store, PEPPER, tokens=verifier(), **options), tenants
    await store.close()


async def test_a_token_makes_a_caller_of_its_tenant(tmp_path: Path) -> None:
    async with gate(tmp_path) as (authenticator, _):
        caller = await authenticator.authenticate(f"Bearer {ISSUED_BY.token(claims(team='billing'))}")
    assert (caller.tenant, caller.partition) == ("acme", PEPPER.partition(TenantId("acme")))
    assert caller.actor == Actor(
        tenant=TenantId("acme"),
        principal=PrincipalId("user-1"),
        team=TeamName("billing"),
        roles=frozenset({Role.AUTHOR}),
        key_id=caller.key_id,
    )


async def test_every_bad_token_is_refused_in_the_same_words_and_unknown_tenants_too(tmp_path: Path) -> None:
    async with gate(tmp_path) as (authenticator, _):
        words = set()
        for token in (
            ISSUED_BY.token(claims(tenant="nobody")),
            ISSUED_BY.token(claims(exp=now() - 100)),
            ISSUED_BY.token(claims(aud="another")),
            STRANGER.token(),
            "a.b.c",
            "..",
        ):
            with pytest.raises(UnauthenticatedError) as refused:
                await authenticator.authenticate(f"Bearer {token}")
            words.add(str(refused.value))
        assert len(words) == 1
        with pytest.raises(UnauthenticatedError):
            await authenticator.authenticate(f"Basic {ISSUED_BY.token()}", schemes=Schemes.BEARER_OR_BASIC)


async def test_a_disabled_tenants_tokens_are_refused_within_a_second_and_taken_again(tmp_path: Path) -> None:
    time = 100.0
    async with gate(tmp_path, monotonic=lambda: time) as (authenticator, tenants):
        header = f"Bearer {ISSUED_BY.token()}"
        await authenticator.authenticate(header)
        await tenants.change(TenantId("acme"), disabled=True, by=AT_HAND, at=datetime.now(UTC))
        time = 101.0
        with pytest.raises(TenantDisabledError):
            await authenticator.authenticate(header)
        await tenants.change(TenantId("acme"), disabled=False, by=AT_HAND, at=datetime.now(UTC))
        time = 102.0
        await authenticator.authenticate(header)


async def test_without_an_issuer_a_token_is_no_key(tmp_path: Path) -> None:
    store = await KeyStore.open(f"sqlite+aiosqlite:///{tmp_path / 'keys.db'}")
    with pytest.raises(UnauthenticatedError, match="API key"):
        await Authenticator(store, PEPPER).authenticate(f"Bearer {ISSUED_BY.token()}")
    await store.close()
