"""The issuer's keys: which are used, how often they are fetched, and how long they are believed."""

import asyncio
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from pydantic import ValidationError

from gateway.auth.oidc.key_set import MAX_KEYS, KeySetError, read_key_set
from gateway.auth.oidc.key_source import KeySource, fetch_file, fetch_url
from gateway.auth.oidc.settings import OidcSettings
from gateway.auth.oidc.token import TokenFault, TokenFaultError
from gateway.auth.oidc.verifier import TokenVerifier
from gateway.errors import IdentityProviderUnavailableError
from tests.gateway.auth.issuer import Issuer, oidc

ISSUED_BY = Issuer()
MAX_BYTES = 262_144


def read(*keys: dict[str, Any]) -> list[tuple[str | None, str]]:
    found = read_key_set(json.dumps({"keys": list(keys)}).encode(), max_bytes=MAX_BYTES)
    return [(key.kid, key.algorithm) for key in found]


def test_each_key_is_bound_to_the_algorithm_of_its_kind() -> None:
    assert read(*ISSUED_BY.jwks()) == [("RS256", "RS256"), ("ES256", "ES256"), ("EdDSA", "EdDSA")]


def test_keys_for_other_things_are_passed_over() -> None:
    rsa_key, ec_key, ed_key = ISSUED_BY.jwks()
    private = RSAAlgorithm.to_jwk(ISSUED_BY.rsa_key, as_dict=True)
    weak = RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key(), as_dict=True)  # noqa: S505 - to be refused
    other_curve = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()).public_key(), as_dict=True)
    ed448_key = OKPAlgorithm.to_jwk(ed448.Ed448PrivateKey.generate().public_key(), as_dict=True)
    unusable: list[dict[str, Any]] = [
        {**rsa_key, "use": "enc"},
        {**rsa_key, "alg": "RS512"},
        {**rsa_key, "alg": "HS256"},
        {**rsa_key, "key_ops": ["encrypt"]},
        {**rsa_key, "key_ops": "verify"},
        {**rsa_key, "kid": 7},
        {**rsa_key, "kid": "x" * 257},
        {**rsa_key, "n": "!!"},
        {**rsa_key, "n": ""},
        {**rsa_key, "n": 7},
        {**rsa_key, "n": "A" * 5_000},
        {**rsa_key, "kty": "EC"},
        {**rsa_key, "e": "AA"},
        {**ec_key, "crv": "P-384"},
        {**ec_key, "y": ec_key["x"]},
        {**ed_key, "x": "AA"},
        {"kty": "oct", "kid": "RS256", "k": "c2VjcmV0"},
        {"kty": "oct"},
        {},
        {**private, "kid": "private"},
        weak,
        other_curve,
        ed448_key,
    ]
    for each in unusable:
        assert read(each) == [], each
    assert read(*unusable, ed_key) == [("EdDSA", "EdDSA")]
    assert read({**rsa_key, "alg": "RS256", "key_ops": ["verify"]}) == [("RS256", "RS256")]


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"keys":{}}',
        b'{"keys":"x"}',
        b"\xff",
        b"<html>",
        b"[" * 100_000,
        b'{"keys":[],"keys":[]}',
    ],
)
def test_what_is_no_set_of_keys_is_an_error(document: bytes) -> None:
    with pytest.raises(KeySetError):
        read_key_set(document, max_bytes=MAX_BYTES)


def test_a_set_has_bounds() -> None:
    key = ISSUED_BY.jwks()[2]
    assert len(read(*[{**key, "kid": str(number)} for number in range(MAX_KEYS)])) == MAX_KEYS
    with pytest.raises(KeySetError, match="at most 64"):
        read(*[key] * (MAX_KEYS + 1))
    with pytest.raises(KeySetError):
        read_key_set(ISSUED_BY.document(), max_bytes=100)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for happens in the code that is tested
        await asyncio.sleep(0.01)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Published:
    """What the issuer publishes now; None: it does not answer."""

    def __init__(self, document: bytes | None) -> None:
        self.document = document
        self.num_fetched = 0

    async def fetch(self) -> bytes:
        self.num_fetched += 1
        await asyncio.sleep(0)
        if self.document is None:
            raise httpx.ConnectError("refused")
        return self.document


async def test_keys_are_fetched_once_for_all_who_wait() -> None:
    published = Published(ISSUED_BY.document())
    source = KeySource(published.fetch, oidc(), monotonic=Clock())
    found = await asyncio.gather(*(source.matching("RS256", "RS256") for _ in range(50)))
    assert all(len(each) == 1 for each in found)
    assert published.num_fetched == 1


async def test_unknown_key_ids_cause_one_fetch_in_ten_seconds_however_many_there_are() -> None:
    clock, published = Clock(), Published(ISSUED_BY.document())
    source = KeySource(published.fetch, oidc(), monotonic=clock)
    await source.matching("RS256", "RS256")
    for number in range(100):
        assert await source.matching(f"unknown-{number}", "RS256") == ()
    assert published.num_fetched == 1
    clock.now += 10
    await asyncio.gather(*(source.matching(f"unknown-{number}", "RS256") for number in range(100)))
    assert published.num_fetched == 2


async def test_a_key_that_was_added_is_found_by_the_token_that_names_it() -> None:
    clock, other = Clock(), Issuer()
    published = Published(ISSUED_BY.document())
    source = KeySource(published.fetch, oidc(), monotonic=clock)
    await source.matching("RS256", "RS256")
    published.document = json.dumps({"keys": [{**other.jwks()[0], "kid": "new"}]}).encode()
    clock.now += 10
    verifier = TokenVerifier(oidc(), source)
    assert (await verifier.verify(other.token(headers={"kid": "new"}))).tenant == "acme"
    with pytest.raises(TokenFaultError) as refused:  # what was taken out is out
        await verifier.verify(ISSUED_BY.token())
    assert refused.value.fault is TokenFault.UNKNOWN_KEY


async def test_keys_outlive_an_issuer_that_does_not_answer_for_so_long_and_no_longer() -> None:
    clock, published = Clock(), Published(ISSUED_BY.document())
    source = KeySource(published.fetch, oidc(jwks_max_age_seconds=600, jwks_stale_seconds=3_600), monotonic=clock)
    await source.matching("RS256", "RS256")
    published.document = None
    clock.now += 4_199
    assert len(await source.matching("RS256", "RS256")) == 1
    clock.now += 20
    with pytest.raises(IdentityProviderUnavailableError):
        await source.matching("RS256", "RS256")
    published.document = ISSUED_BY.document()
    clock.now += 10
    assert len(await source.matching("RS256", "RS256")) == 1


async def test_without_keys_nobody_can_tell_and_garbage_is_no_keys() -> None:
    for document in (None, b"<html>", b"{}"):
        clock, published = Clock(), Published(document)
        source = KeySource(published.fetch, oidc(), monotonic=clock)
        for _ in range(20):
            with pytest.raises(IdentityProviderUnavailableError):
                await source.matching("RS256", "RS256")
        assert published.num_fetched == 1


async def test_a_fetch_that_hangs_is_given_up() -> None:
    async def hang() -> bytes:
        await asyncio.sleep(3600)
        raise AssertionError

    source = KeySource(hang, oidc(jwks_fetch_seconds=0.01))
    async with asyncio.timeout(10):
        with pytest.raises(IdentityProviderUnavailableError):
            await source.matching("RS256", "RS256")


async def test_keys_are_kept_fresh_beside_requests() -> None:
    published = Published(ISSUED_BY.document())
    source = KeySource(published.fetch, oidc(jwks_max_age_seconds=1, jwks_refetch_seconds=1))
    async with asyncio.timeout(30):
        running = asyncio.ensure_future(source.run())
        await until(lambda: published.num_fetched >= 2)
        running.cancel()


async def fetched(answer: bytes) -> bytes:
    """What is read of an answer that a server on this machine gives, byte for byte."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, httpx.AsyncClient(trust_env=False) as http:
        return await fetch_url(http, f"http://127.0.0.1:{port}/keys", max_bytes=1_000)()


async def test_an_answer_is_read_up_to_its_bound_and_no_redirect_is_followed() -> None:
    assert await fetched(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") == b"{}"
    for answer in (
        b"HTTP/1.1 302 Found\r\nLocation: https://evil.example/keys\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 204 Nothing\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 100_000,
    ):
        with pytest.raises(KeySetError):
            await fetched(answer)
    # Compressed although nobody asked for it: a small answer does not become a large one, and is no set of keys.
    packed = gzip.compress(b"{" + b" " * 10_000_000 + b"}", 9)
    header = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
    with pytest.raises(KeySetError):
        await fetched(header + packed)
    with pytest.raises(httpx.HTTPError):
        await fetched(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}")


async def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(ISSUED_BY.document())
    assert await fetch_file(path, max_bytes=MAX_BYTES)() == ISSUED_BY.document()
    source = KeySource(fetch_file(path, max_bytes=10), oidc(max_jwks_bytes=1024))
    with pytest.raises(IdentityProviderUnavailableError):
        await source.matching("RS256", "RS256")
    gone = KeySource(fetch_file(tmp_path / "none", max_bytes=10), oidc())
    with pytest.raises(IdentityProviderUnavailableError):
        await gone.matching("RS256", "RS256")


@pytest.mark.parametrize(
    "changes",
    [
        {"audiences": ()},
        {"jwks_url": ""},
        {"jwks_file": Path("keys.json")},
        {"jwks_url": "http://id.example/keys"},
        {"jwks_url": "https://user:password@id.example/keys"},
        {"jwks_url": "https://"},
        {"jwks_url": "file:///etc/passwd"},
        {"jwks_url": "http://127.0.0.1.evil.example/keys"},
        {"algorithms": ()},
        {"algorithms": ("RS256", "none")},
        {"algorithms": ("HS256",)},
        {"tenant_claim": ""},
    ],
)
def test_settings_that_would_let_anybody_in_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        oidc(**changes)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not OidcSettings().is_enabled
    for name, value in {
        "ISSUER": "https://id.example",
        "AUDIENCES": "a, b",
        "JWKS_URL": "http://127.0.0.1:9/keys",
        "ALGORITHMS": "ES256",
    }.items():
        monkeypatch.setenv(f"SCHEMAGATE_GATEWAY_OIDC_{name}", value)
    made = OidcSettings()
    assert made.is_enabled
    assert (made.audiences, made.algorithms) == (("a", "b"), ("ES256",))
