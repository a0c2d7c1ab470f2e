"""Whatever stands in an `Authorization` header, it lets in who holds a good credential and nobody else, and it never
ends as anything but a typed refusal."""

import asyncio
import base64
import hmac
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.auth.authenticator import Authenticator, Caller, Schemes
from gateway.auth.issue import issue_key
from gateway.auth.keys import ApiKey, Pepper
from gateway.auth.oidc.key_source import KeySource
from gateway.auth.oidc.verifier import TokenVerifier
from gateway.auth.operator import AT_HAND
from gateway.auth.store import KeyStore
from gateway.auth.tenant_store import TenantStore
from gateway.errors import TenantDisabledError, UnauthenticatedError
from policy.roles import Role
from registry.identifiers import TenantId
from tests.gateway.auth.issuer import Issuer, claims, oidc, segment

PEPPER = Pepper("a pepper only for tests")
NUM_EXAMPLES = int(os.environ.get("SCHEMAGATE_FORGERIES", "300"))
FEW = settings(max_examples=NUM_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
ISSUED_BY, STRANGER = Issuer(), Issuer()
GOOD = ISSUED_BY.token()
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@dataclass(slots=True)
class World:
    """An authenticator with one good key, one disabled tenant's key, and an issuer."""

    runner: asyncio.Runner
    gate: Authenticator
    key: ApiKey
    disabled: ApiKey

    def sent(self, header: str | None, schemes: Schemes = Schemes.BEARER) -> Caller | None:
        """Who is let in; anything but the two typed refusals is the test's failure."""
        try:
            return self.runner.run(self.gate.authenticate(header, schemes=schemes))
        except (UnauthenticatedError, TenantDisabledError):
            return None


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory: Path = tmp_path_factory.mktemp("forged")

    async def fetch() -> bytes:
        return ISSUED_BY.document()

    async def make() -> tuple[KeyStore, Authenticator, ApiKey, ApiKey]:
        store, at = await KeyStore.open(f"sqlite+aiosqlite:///{directory / 'keys.db'}"), datetime.now(UTC)
        key = await issue_key(store, PEPPER, tenant=TenantId("acme"), label="", at=at)
        disabled = await issue_key(store, PEPPER, tenant=TenantId("gone"), label="", at=at)
        await TenantStore(store.database).change(TenantId("gone"), disabled=True, by=AT_HAND, at=at)
        chosen = oidc()
        return (
            store,
            Authenticator(store, PEPPER, tokens=TokenVerifier(chosen, KeySource(fetch, chosen))),
            key,
            disabled,
        )

    with asyncio.Runner() as runner:
        store, gate, key, disabled = runner.run(make())
        yield World(runner, gate, key, disabled)
        runner.run(store.close())


@FEW
@given(header=st.none() | st.text(max_size=300) | st.binary(max_size=300).map(lambda data: data.decode("latin-1")))
def test_any_text_at_all_is_refused(world: World, header: str | None) -> None:
    for schemes in Schemes:
        assert world.sent(header, schemes) is None


SCHEMES = st.sampled_from(["Bearer", "bearer", "BEARER", "Basic", "Digest", "Token", "", "Bearer Bearer"])


@FEW
@given(
    scheme=SCHEMES,
    place=st.integers(0, 62),
    put=st.text(alphabet=ALPHABET + ". \t\0é", max_size=3),
    cut=st.integers(0, 3),
)
def test_a_key_that_is_changed_anywhere_is_refused(world: World, scheme: str, place: int, put: str, cut: int) -> None:
    text = world.key.text
    changed = text[:place] + put + text[place + cut :]
    caller = world.sent(f"{scheme} {changed}", Schemes.BEARER_OR_BASIC)
    encoded = base64.b64encode(f"user:{changed}".encode()).decode()
    by_basic = world.sent(f"Basic {encoded}", Schemes.BEARER_OR_BASIC)
    if changed.strip() != text:
        assert caller is None
    if changed != text:
        assert by_basic is None
    if caller is not None:
        assert (scheme.lower(), caller.key_id) == ("bearer", world.key.key_id)


def test_a_key_of_a_disabled_tenant_and_a_key_of_nobody_are_refused(world: World) -> None:
    assert world.sent(f"Bearer {world.key.text}") is not None
    with pytest.raises(TenantDisabledError):
        world.runner.run(world.gate.authenticate(f"Bearer {world.disabled.text}"))
    with pytest.raises(UnauthenticatedError):  # the secret first: that a tenant is disabled is told to nobody else
        world.runner.run(world.gate.authenticate(f"Bearer sg_{world.disabled.key_id}_{'A' * 43}"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
CLAIMS = st.sampled_from(["iss", "aud", "sub", "exp", "iat", "nbf", "tenant", "team", "roles", "jti", "x"])


@FEW
@given(name=CLAIMS, value=JSON)
def test_a_rightly_signed_token_with_any_claim_is_refused_or_says_what_it_says(
    world: World, name: str, value: Any
) -> None:
    sent = claims() | {name: value}
    token = ISSUED_BY.signed({"alg": "RS256", "kid": "RS256"}, json.dumps(sent).encode())
    caller = world.sent(f"Bearer {token}")
    if caller is not None:
        assert caller.tenant == sent["tenant"] == "acme"
        assert caller.actor.principal == sent["sub"]
        assert sent["aud"] == "schemagate" or "schemagate" in sent["aud"]
        named = sent["roles"].split() if isinstance(sent["roles"], str) else sent["roles"]
        assert caller.actor.roles == ({role for role in Role if role in named} if named is not None else {Role.CALLER})
    if name in {"iss", "tenant"} and value != claims()[name]:
        assert caller is None


@FEW
@given(header=st.dictionaries(st.sampled_from(["alg", "kid", "typ", "cty", "crit", "b64", "jwk", "jku", "zip"]), JSON))
def test_a_stranger_with_any_header_is_refused(world: World, header: dict[str, Any]) -> None:
    for algorithm in ("RS256", "ES256", "EdDSA"):
        named = {"alg": algorithm, "kid": algorithm} | header
        payload = json.dumps(claims()).encode()
        assert world.sent(f"Bearer {STRANGER.signed(named, payload, algorithm=algorithm)}") is None


@FEW
@given(
    algorithm=st.sampled_from(["RS256", "ES256", "EdDSA"]),
    where=st.tuples(st.integers(0, 2), st.floats(0, 1), st.integers(0, 3)),
    put=st.text(alphabet=ALPHABET + ".= ", max_size=3),
)
def test_a_token_that_is_changed_anywhere_is_refused(
    world: World, algorithm: str, where: tuple[int, float, int], put: str
) -> None:
    part, place, cut = where
    token = ISSUED_BY.token(algorithm=algorithm)
    parts = token.split(".")
    at = int(place * len(parts[part]))
    parts[part] = parts[part][:at] + put + parts[part][at + cut :]
    changed = ".".join(parts)
    if changed.strip() != token:
        assert world.sent(f"Bearer {changed}") is None


@FEW
@given(
    parts=st.lists(
        st.sampled_from(
            [
                segment({"alg": "none"}),
                segment({"alg": "HS256", "kid": "RS256"}),
                segment({"alg": "RS256", "kid": "RS256"}),
                segment({"alg": "ES256", "kid": "RS256"}),
                segment(claims()),
                *GOOD.split("."),
                *STRANGER.token().split("."),
                "",
                "AA",
                "e30",
            ]
        ),
        max_size=6,
    )
)
def test_parts_put_together_otherwise_are_refused(world: World, parts: list[str]) -> None:
    token = ".".join(parts)
    assert world.sent(f"Bearer {token}") is None or token == GOOD


@FEW
@given(secret=st.sampled_from([*ISSUED_BY.public_texts(), b"", b"secret"]), algorithm=st.text(max_size=10), kid=JSON)
def test_a_shared_secret_signs_nothing(world: World, secret: bytes, algorithm: str, kid: Any) -> None:
    for name in ("HS256", algorithm):
        message = f"{segment({'alg': name, 'kid': kid})}.{segment(claims())}"
        forged = f"{message}.{segment(hmac.digest(secret, message.encode(), sha256))}"
        assert world.sent(f"Bearer {forged}") is None
