"""`/v1/admin/tenants/…/rules`: who may set what, and what is refused with its place before it could fail an answer."""

import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.contracts.world import error_of, registry

RULES = "/v1/admin/tenants/local/rules"
RULE = {"name": "positive", "cel": "object.total > 0", "message": "not positive"}
WEBHOOK: dict[str, Any] = {"name": "ledger", "url": "https://rules.example/check", "kind": "semantic"}
SETTINGS: dict[str, Any] = {
    "webhook_origins": "https://rules.example",
    "webhook_secrets": {"local/ledger": ["a secret of the ledger's, 32 characters"]},
}


def place(response: httpx.Response) -> tuple[int, Any]:
    return response.status_code, response.json()["error"]["param"]


async def test_at_first_there_are_none(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        told = await here.ask("GET", RULES)
    assert (told.status_code, told.headers["etag"]) == (200, '"0"')
    body = told.json()
    assert body["rules"] == {"semantic": [], "authorisation": [], "webhooks": []}
    assert (body["version"], body["families"], body["changed_at"]) == (0, [], None)


async def test_what_was_set_is_told_and_written_in_the_audit(tmp_path: Path) -> None:
    mine = RULE | {"name": "mine", "on": "call", "cel": "call.name != 'x'"}
    webhook = WEBHOOK | {"timeout_seconds": 0.5, "fail_open": True}
    document = {"semantic": [RULE], "authorisation": [mine], "webhooks": [webhook]}
    async with registry(tmp_path, **SETTINGS) as here:
        set_ = await here.ask("PUT", RULES, document)
        family = await here.ask("PUT", f"{RULES}/invoice", {"semantic": [RULE]})
        told = (await here.ask("GET", RULES)).json()
        events = (await here.ask("GET", "/v1/audit")).json()["data"]
    assert set_.status_code == 200, set_.text
    assert set_.json() == told | {"families": []}
    assert told["rules"]["semantic"] == [RULE | {"on": "object"}]
    assert told["rules"]["webhooks"] == [WEBHOOK | {"timeout_seconds": 0.5, "fail_open": True, "on": "object"}]
    assert (told["version"], told["families"], family.json()["family"]) == (1, ["invoice"], "invoice")
    subjects = [event["subject"] for event in events if event["action"] == "setting.set"]
    assert subjects == [{"subject": "", "topic": "rules"}, {"subject": "family:invoice", "topic": "rules"}]
    assert "a secret of" not in str(events)


async def test_a_document_is_replaced_whole_and_under_its_version(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.ask("PUT", RULES, {"semantic": [RULE]}, if_match='"0"')
        stale = await here.ask("PUT", RULES, {}, if_match='"0"')
        fresh = await here.ask("PUT", RULES, {"authorisation": [RULE]}, if_match='"1"')
        dropped = await here.ask("DELETE", RULES, if_match='"2"')
    assert error_of(stale)[0] == 412
    assert fresh.json()["rules"]["semantic"] == []
    assert (dropped.status_code, dropped.json()["version"]) == (200, 0)


@pytest.mark.parametrize(
    ("document", "param", "words"),
    [
        ({"semantic": [RULE | {"cel": "object.total >"}]}, "semantic[0].cel", "(line 1, column 15)"),
        (
            {"semantic": [RULE], "authorisation": [RULE | {"name": "b", "cel": "a == 1"}]},
            "authorisation[0].cel",
            "'a' (line 1, column 1)",
        ),
        ({"semantic": [RULE | {"cel": "size(object.total)"}]}, "semantic[0].cel", "its value is int"),
        ({"semantic": [RULE | {"on": "call"}]}, "semantic[0].cel", "undeclared reference"),
        ({"semantic": [RULE, RULE | {"cel": "true"}]}, "semantic[1].name", "another rule of the name `positive`"),
        ({"semantic": [RULE], "webhooks": [WEBHOOK | {"name": "positive"}]}, "webhooks[0].name", "another rule"),
        ({"webhooks": [WEBHOOK | {"url": "https://other.example/"}]}, "webhooks[0].url", "not among those"),
        ({"webhooks": [WEBHOOK | {"url": "http://rules.example/"}]}, "webhooks[0].url", "not among those"),
        ({"webhooks": [WEBHOOK | {"url": "https://rules.example@evil/"}]}, "webhooks[0].url", "not among those"),
        ({"webhooks": [WEBHOOK | {"name": "stock"}]}, "webhooks[0].name", "no secret"),
        ({"webhooks": [WEBHOOK | {"timeout_seconds": 60}]}, "webhooks[0].timeout_seconds", ""),
        ({"webhooks": [WEBHOOK | {"kind": "any"}]}, "webhooks[0].kind", ""),
        ({"semantic": [RULE | {"name": "a b"}]}, "semantic[0].name", ""),
        ({"semantic": [RULE | {"cel": ""}]}, "semantic[0].cel", ""),
        ({"semantic": [RULE | {"cel": "true || " * 600 + "true"}]}, "semantic[0].cel", ""),
        ({"semantic": [RULE | {"when": "x"}]}, "semantic[0].when", ""),
        ({"semantics": [RULE]}, "semantics", ""),
        ({"semantic": [RULE | {"name": f"r{number}"} for number in range(65)]}, "semantic", ""),
        ({"semantic": RULE}, "semantic", ""),
    ],
)
async def test_a_document_under_which_answers_could_only_fail_is_refused_with_its_place(
    tmp_path: Path, document: Any, param: str, words: str
) -> None:
    async with registry(tmp_path, **SETTINGS) as here:
        refused = await here.ask("PUT", RULES, document)
        told = (await here.ask("GET", RULES)).json()
    assert place(refused) == (400, param), refused.text
    assert words in refused.json()["error"]["message"]
    assert told["version"] == 0


async def test_only_operators_set_rules_and_only_their_own_tenants(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        async with here.holding(roles=["author"]) as author:
            read = await author.ask("GET", RULES)
            written = await author.ask("PUT", RULES, {})
        async with here.holding(roles=["caller"]) as caller:
            seen = await caller.ask("GET", RULES)
        async with here.holding(tenant="acme") as other:
            foreign = [await other.ask(method, RULES) for method in ("GET", "DELETE")]
            own = await other.ask("PUT", "/v1/admin/tenants/acme/rules", {"semantic": [RULE]})
        by_installation = await here.ask("GET", "/v1/admin/tenants/acme/rules")
        nobodys = await here.ask("PUT", "/v1/admin/tenants/nobody/rules", {})
        async with here.holding(roles=["author"]) as author:
            curious = await author.ask("GET", "/v1/admin/tenants/acme/rules")
    assert read.status_code == 200
    assert {written.status_code, seen.status_code, curious.status_code} == {403}
    assert {each.status_code for each in (*foreign, nobodys)} == {404}
    assert own.status_code == 200
    assert by_installation.json()["version"] == 1


@pytest.mark.parametrize("path", [RULES + "/a/b/c", RULES + "/*"])
async def test_what_names_no_level_is_refused(tmp_path: Path, path: str) -> None:
    async with registry(tmp_path) as here:
        refused = await here.ask("PUT", path, {})
    assert refused.status_code == 400


async def test_a_document_of_a_newer_gateway_lets_no_answer_past(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.ask("PUT", RULES, {"semantic": [RULE]})
        with sqlite3.connect(tmp_path / "gateway.db") as connection:
            newer = '{"semantic":[],"unheard_of":[]}'
            connection.execute("UPDATE tenant_settings SET document = ? WHERE topic = 'rules'", (newer,))
        connection.close()
        async with registry(tmp_path) as again:
            schema = {"name": "x", "strict": True, "schema": {"type": "string"}}
            body = {
                "model": "twin-135m",
                "messages": [{"role": "user", "content": "hi"}],
                "response_format": {"type": "json_schema", "json_schema": schema},
            }
            refused = await again.ask("POST", "/v1/chat/completions", body)
            told = await again.ask("GET", RULES)
    assert error_of(refused) == (503, "rules_unreadable")
    assert error_of(told) == (503, "rules_unreadable")
