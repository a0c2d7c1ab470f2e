"""Whatever stands in a path, a query or a member: a typed refusal, on either database, and never a failure."""

from pathlib import Path
from typing import Any

from tests.gateway.contracts.world import registry

TEXTS_IN_PATHS = (
    "%00", "a%00b", "%ED%A0%80", "%F0%9F%98%80", "%FF", "..", "%2e%2e", "inv%0aoice", "%25", "%25%73", "x" * 5000,
    "'--", "%5C", "%22", "1%27%20OR%20%271", "sha256:", "@", "@@", "a@b@c",
)  # fmt: skip
IN_PATHS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/v1/contracts/{}", None),
    ("GET", "/v1/contracts/invoice@{}", None),
    ("GET", "/v1/contracts/{}/revisions", None),
    ("GET", "/v1/contracts/{}/aliases", None),
    ("GET", "/v1/contracts/invoice/aliases/{}", None),
    ("GET", "/v1/contracts/{}/usage", None),
    ("GET", "/v1/contracts/invoice/revisions/{}/signatures", None),
    ("GET", "/v1/promotions/{}", None),
    ("GET", "/v1/contracts?q={}", None),
    ("GET", "/v1/contracts?team={}", None),
    ("GET", "/v1/contracts?owner={}", None),
    ("GET", "/v1/contracts?cursor={}", None),
    ("GET", "/v1/contracts?limit={}", None),
    ("GET", "/v1/contracts/invoice?owner={}", None),
    ("GET", "/v1/contracts/invoice/revisions?cursor={}", None),
    ("GET", "/v1/promotions?cursor={}", None),
    ("GET", "/v1/promotions?state={}", None),
    ("GET", "/v1/audit?after={}", None),
    ("POST", "/v1/signing-keys/{}/revoke", {}),
    ("POST", "/v1/promotions/{}/approve", {}),
    ("PUT", "/v1/contracts/invoice/aliases/{}", {"revision": 1}),
    ("PATCH", "/v1/contracts/{}", {"description": "x"}),
    ("DELETE", "/v1/contracts/{}", None),
    ("POST", "/v1/contracts/invoice/revisions/{}/state", {"state": "active"}),
)
KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
TEXTS = ("\x00", "a\x00b", "\ud800", "\U0001f600", "x" * 1001, "", "\u202e", "\x1b[31m")
NUMBERS: tuple[Any, ...] = (0, -1, 2**31, 2**63, 2**64, 10**30, True, 1.5, "1", None, [], {})


def bodies(text: Any) -> list[tuple[str, str, Any]]:
    return [
        ("POST", "/v1/contracts", {"name": "z", "schema": {}, "message": text, "dry_run": True}),
        ("POST", "/v1/contracts", {"name": "z", "schema": {}, "description": text, "dry_run": True}),
        ("POST", "/v1/contracts", {"name": "z", "schema": {}, "team": text, "dry_run": True}),
        ("POST", "/v1/contracts", {"name": text, "schema": {}, "dry_run": True}),
        ("POST", "/v1/contracts", {"name": "z", "schema": {}, "dialect": text, "dry_run": True}),
        ("POST", "/v1/contracts", {"name": "z", "schema": {}, "kind": text}),
        ("POST", "/v1/contracts", {"name": "r", "kind": "regex", "definition": text}),
        ("POST", "/v1/contracts", {"name": "q", "schema": {"const": text}}),
        ("POST", "/v1/contracts", {"name": "q", "schema": {"title": text, "type": "null"}}),
        ("POST", "/v1/contracts/check", {"name": "q", "schema": {"$ref": text}}),
        ("POST", "/v1/contracts/check", {"name": text, "schema": {}}),
        ("POST", "/v1/contracts/diff", {"old": text, "new": text}),
        ("POST", "/v1/contracts/diff", {"old": {"schema": text}, "new": {"definition": text}}),
        ("POST", "/v1/contracts/explain", {"contract": text}),
        ("PATCH", "/v1/contracts/invoice", {"description": text}),
        ("PATCH", "/v1/contracts/invoice", {"team": text}),
        ("PUT", "/v1/contracts/invoice/aliases/prod", {"revision": 1, "reason": text}),
        ("PUT", "/v1/contracts/invoice/aliases/prod", {"revision": text}),
        ("POST", "/v1/contracts/invoice/revisions/1/state", {"state": "active", "reason": text}),
        ("POST", "/v1/contracts/invoice/revisions/1/state", {"state": text}),
        ("POST", "/v1/contracts/invoice/revisions/1/signatures", {"key_id": text, "signature": text}),
        ("POST", "/v1/signing-keys", {"public_key": text}),
        ("POST", "/v1/signing-keys", {"public_key": KEY, "label": text}),
        ("POST", "/v1/signing-keys", {"public_key": KEY, "principal": text}),
        ("POST", "/v1/signing-keys", {"public_key": KEY, "expires_at": text}),
        ("POST", f"/v1/signing-keys/ed25519:{'0' * 32}/revoke", {"reason": text}),
        ("PUT", "/v1/policy", {"protected_aliases": [text]}),
        ("PUT", "/v1/policy", {"compatibility": text}),
        ("DELETE", "/v1/contracts/absent", {"reason": text}),
    ]


async def test_texts_in_paths_and_queries(database_url: str, tmp_path: Path) -> None:
    async with registry(tmp_path, database_url=database_url) as here:
        await here.register()
        for text in TEXTS_IN_PATHS:
            for method, path, body in IN_PATHS:
                response = await here.ask(method, path.replace("{}", text), body)
                assert response.status_code < 500, (method, path, text, response.text)
                assert response.status_code < 300 or isinstance(response.json()["error"]["code"], str)
        ended = await here.ask("GET", "/v1/contracts/invoice@1")
    assert ended.status_code == 200


async def test_values_in_bodies(database_url: str, tmp_path: Path) -> None:
    async with registry(tmp_path, database_url=database_url) as here:
        await here.register()
        for value in (*TEXTS, *NUMBERS):
            for method, path, body in bodies(value):
                response = await here.ask(method, path, body)
                assert response.status_code < 500, (method, path, body, response.text)
                assert response.status_code < 300 or isinstance(response.json()["error"]["code"], str)
        export = await here.ask("GET", "/v1/audit/export")
    assert export.status_code == 200


async def test_moments_and_versions_at_the_ends_of_their_ranges(database_url: str, tmp_path: Path) -> None:
    async with registry(tmp_path, database_url=database_url) as here:
        await here.register()
        for moment in ("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2030-02-31T00:00:00Z", "2030-W01"):
            body = {"public_key": KEY, "expires_at": moment}
            response = await here.ask("POST", "/v1/signing-keys", body)
            assert 400 <= response.status_code < 500, (moment, response.text)
        for version in ("0", "2147483648", "999999999999999999", "99999999999999999999999"):
            response = await here.ask(
                "PUT", "/v1/contracts/invoice/aliases/prod", {"revision": 1}, if_match=f'"{version}"'
            )
            assert response.status_code in {400, 412}, (version, response.text)
        for after in (2**31 - 1, 2**31, 2**63):
            response = await here.ask("GET", f"/v1/audit?after={after}")
            assert response.status_code in {200, 400}, (after, response.text)
