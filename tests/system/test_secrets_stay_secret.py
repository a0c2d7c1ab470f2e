"""No secret that the product is given is found again: not in a log, a metric, an error, the audit or the database.

Everything that a caller or an operator may send in secret is sent, rightly and wrongly, and then every byte that the
product has written or answers is searched for it.
"""

import base64
import json
import os
import re
import secrets
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.auth.issuer import AUDIENCE, ISSUER, Issuer, claims, now, private_pem
from tests.system.product import free_ports

pytestmark = pytest.mark.system

PEPPER, FORMER_PEPPER = "pepper-" + secrets.token_hex(16), "former-" + secrets.token_hex(16)
WEBHOOK_SECRET = "webhook-" + secrets.token_hex(16)
PROMPT = "the-callers-own-words-" + secrets.token_hex(8)
ISSUED_BY = Issuer()
KEYS = "/v1/admin/tenants/acme/keys"
_START_SECONDS = 60.0


class Gateway:
    """One process with an issuer of tokens, and everything it has written and answered."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.answers: list[str] = []
        self.secrets: dict[str, str] = {
            "pepper": PEPPER,
            "former pepper": FORMER_PEPPER,
            "webhook's secret": WEBHOOK_SECRET,
            "prompt": PROMPT,
        }
        (port, nobody) = free_ports(2)
        (directory / "keys.json").write_bytes(ISSUED_BY.document())
        self.log = directory / "gateway.log"
        prefix = "SCHEMAGATE_GATEWAY_"
        environment = {
            **os.environ,
            f"{prefix}PORT": str(port),
            f"{prefix}DATABASE_URL": f"sqlite+aiosqlite:///{directory / 'gateway.db'}",
            f"{prefix}KEY_PEPPER": PEPPER,
            f"{prefix}FORMER_KEY_PEPPER": FORMER_PEPPER,
            f"{prefix}POOL_URL": f"http://127.0.0.1:{nobody}",
            f"{prefix}NODE_URLS": f"http://127.0.0.1:{nobody}",
            f"{prefix}NUM_VALIDATORS": "1",
            f"{prefix}WEBHOOK_SECRETS": json.dumps({"acme/w": [WEBHOOK_SECRET]}),
            f"{prefix}OIDC_ISSUER": ISSUER,
            f"{prefix}OIDC_AUDIENCES": AUDIENCE,
            f"{prefix}OIDC_JWKS_FILE": str(directory / "keys.json"),
        }
        operator = [
            sys.executable,
            "-m",
            "cli.main",
            "key",
            "issue",
            "local",
            "--role",
            "operator",
            "--role",
            "auditor",
        ]
        made = subprocess.run(operator, env=environment, capture_output=True, text=True, check=True)
        self.operator = made.stdout.strip()
        self.keep("operator's key", self.operator)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "gateway"], stdout=log, stderr=log, env=environment)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30)
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_up():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def _is_up(self) -> bool:
        try:
            return self.client.get("/healthz").status_code == 200
        except httpx.TransportError:
            return False

    def close(self) -> None:
        self.client.close()
        self.process.terminate()
        self.process.wait(30)

    def keep(self, name: str, credential: str) -> None:
        """Remember what must not be found: of a key its secret, of a token its signature and its payload."""
        if credential.startswith("sg_"):
            self.secrets[name] = credential.split("_", 2)[2]
        else:
            _, payload, signature = credential.split(".")
            self.secrets[f"{name} (payload)"], self.secrets[f"{name} (signature)"] = payload, signature

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None, **headers: str) -> Any:
        """An answer; what is in it is searched, unless it is the one that shows a secret."""
        sent = {"Authorization": f"Bearer {key or self.operator}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        answer = self.client.request(method, path, json=body, headers=sent)
        text = f"{answer.status_code}\n{answer.headers}\n{answer.text}"
        try:
            value = answer.json()
        except ValueError:
            value = {}
        if isinstance(value, dict) and "key" in value:
            self.keep(f"key {value['id']} {len(self.secrets)}", value["key"])
        else:
            self.answers.append(text)
        return value


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    running = Gateway(tmp_path)
    yield running
    running.close()


def use(gateway: Gateway) -> None:
    """Everything that holds a secret, rightly and wrongly."""
    gateway.ask("POST", "/v1/admin/tenants", {"id": "acme"})
    key = gateway.ask("POST", KEYS, {"roles": ["operator", "author"]}, idempotency_key="one")
    gateway.ask("POST", KEYS, {"roles": ["operator", "author"]}, idempotency_key="one")
    rotated = gateway.ask("POST", f"{KEYS}/{key['id']}/rotate", {"overlap_seconds": 60}, idempotency_key="two")
    gateway.ask("POST", f"{KEYS}/{key['id']}/rotate", {"overlap_seconds": 60}, idempotency_key="two")
    token = ISSUED_BY.token(claims(roles=["operator", "auditor"]))
    gateway.keep("token", token)
    chat = {"model": "none", "messages": [{"role": "user", "content": PROMPT}]}
    for credential in (key["key"], rotated["key"], token):
        gateway.ask("GET", "/v1/contracts", key=credential)
        gateway.ask("POST", "/v1/chat/completions", chat, key=credential)
        gateway.ask("POST", "/v1/chat/completions", {**chat, "stream": True}, key=credential)
        gateway.ask("POST", "/v1/contracts", {"name": "x", "schema": {"type": "object"}}, key=credential)
        gateway.ask("GET", "/v1/admin/tenants/acme/keys", key=credential)
        gateway.ask("GET", "/subjects", key=credential)
        gateway.ask("GET", "/v1/nothing", key=credential)
        basic = base64.b64encode(f"user:{credential}".encode()).decode()
        gateway.answers.append(gateway.client.get("/subjects", headers={"Authorization": f"Basic {basic}"}).text)
    _send_bad_ones(gateway, key["key"])
    _put_secrets_where_none_belong(gateway, rotated["key"])
    rules = {"webhooks": [{"name": "w", "url": "https://hooks.example/w", "kind": "semantic", "timeout_seconds": 1}]}
    gateway.ask("PUT", "/v1/admin/tenants/acme/rules", rules)
    gateway.ask("GET", "/v1/admin/tenants/acme/rules")
    for path in ("/metrics", "/healthz", "/readyz", "/v1/audit", "/v1/audit/export", KEYS):
        gateway.ask("GET", path)
        gateway.ask("GET", path, key=token)
        gateway.ask("GET", path, key=rotated["key"])


def _send_bad_ones(gateway: Gateway, good: str) -> None:
    wrong = f"{good[:20]}{secrets.token_urlsafe(32)}"
    stranger = Issuer().token()
    expired = ISSUED_BY.token(claims(exp=now() - 1_000))
    for name, credential in {"wrong secret": wrong, "stranger's token": stranger, "expired token": expired}.items():
        gateway.keep(name, credential)
        for path in ("/v1/contracts", "/v1/models", "/subjects", "/v1/admin/tenants"):
            gateway.ask("GET", path, key=credential)
    for header in (f"Basic {good}", f"Digest {good}", good, f"Bearer  {wrong} x", f"Bearer {expired}.x"):
        gateway.answers.append(gateway.client.get("/v1/models", headers={"Authorization": header}).text)


def _put_secrets_where_none_belong(gateway: Gateway, good: str) -> None:
    """What people do by mistake."""
    for method, path, body in (
        ("GET", f"{KEYS}/{good}", None),
        ("GET", f"/v1/contracts/{good}", None),
        ("GET", f"/v1/models?api_key={good}", None),
        ("POST", KEYS, {good: 1}),
        ("POST", KEYS, {"roles": good}),
        ("POST", "/v1/chat/completions", {"model": "none", "messages": [], "api_key": good}),
    ):
        answer = gateway.client.request(method, path, json=body, headers={"Authorization": f"Bearer {good}"})
        assert answer.status_code < 500, answer.text  # the caller is told what they sent; nobody else is


def written(gateway: Gateway) -> dict[str, bytes]:
    """What is left of it all: files, the tables as text, and the answers."""
    found = {path.name: path.read_bytes() for path in gateway.directory.iterdir() if path.is_file()}
    with sqlite3.connect(gateway.directory / "gateway.db") as connection:
        found["tables"] = "\n".join(connection.iterdump()).encode()
    connection.close()
    found["answers"] = "\n".join(gateway.answers).encode()
    return found


def test_no_secret_is_found_again(gateway: Gateway) -> None:
    use(gateway)
    # A process that goes down writes its last lines.
    gateway.close()
    places = written(gateway)
    assert len(gateway.secrets) > 12
    assert b'"route"' in places["gateway.log"]
    assert b"schemagate_gateway_requests_total" in places["answers"]
    assert len(places["tables"]) > 1_000
    searched = {name: secret for name, secret in gateway.secrets.items() if len(secret) >= 16}
    assert searched == gateway.secrets
    leaks = [
        (name, place)
        for place, content in places.items()
        for name, secret in searched.items()
        for spelling in {secret, base64.b64encode(secret.encode()).decode()}
        if spelling.encode() in content
    ]
    assert leaks == []
    pem = b"".join(private_pem(ISSUED_BY.rsa_key).splitlines()[1:-1])[:64]
    assert all(pem not in content for content in places.values())


def test_a_pepper_that_is_refused_is_not_printed() -> None:
    short = "s3cret-pepper"
    environment = {**os.environ, "SCHEMAGATE_GATEWAY_KEY_PEPPER": short, "SCHEMAGATE_GATEWAY_PORT": "no-port"}
    ended = subprocess.run([sys.executable, "-m", "gateway"], env=environment, capture_output=True, check=False)
    assert ended.returncode != 0
    assert b"SCHEMAGATE_GATEWAY_KEY_PEPPER" in ended.stderr
    assert short.encode() not in ended.stderr + ended.stdout


def test_a_record_that_is_printed_shows_no_secret() -> None:
    from gateway.auth.keys import ApiKey
    from gateway.auth.oidc.token import take_apart

    key, token = ApiKey.generate(), ISSUED_BY.token()
    assert key.secret not in repr(key)
    assert re.search(r"b'|payload|signature", repr(take_apart(token, max_bytes=8_192))) is None
    assert json.dumps(claims()["sub"])[1:-1] not in repr(take_apart(token, max_bytes=8_192))
