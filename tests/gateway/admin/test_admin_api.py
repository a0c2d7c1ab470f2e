"""The admin API: who may do what to whose tenants and keys, and how what is sent is read."""

import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from policy.roles import Role
from policy.scopes import Scope
from tests.gateway.admin.desk import TENANTS, desk
from tests.gateway.twins import strict


async def test_an_operator_makes_a_tenant_a_team_and_a_key_that_works(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        tenant = await at.done("POST", TENANTS, {"id": "acme", "name": "Acme Ltd"})
        assert (tenant["id"], tenant["name"], tenant["disabled_at"]) == ("acme", "Acme Ltd", None)
        team = await at.done("POST", f"{TENANTS}/acme/teams", {"name": "billing"})
        assert (team["tenant"], team["name"]) == ("acme", "billing")
        sent = {"label": "ci", "principal": "ada", "team": "billing", "roles": ["author", "caller"]}
        answer = await at.client.post(f"{TENANTS}/acme/keys", json=sent)
        assert (answer.status_code, answer.headers["cache-control"]) == (201, "no-store")
        key = answer.json()
        assert key["key"].startswith(f"sg_{key['id']}_")
        assert (key["roles"], key["scopes"], key["state"]) == (["author", "caller"], None, "live")
        assert key["allowed_scopes"] == ["contracts:read", "contracts:write", "generate"]
        contract = {"name": "invoice", "schema": {"type": "object"}, "team": "billing"}
        made = await at.done("POST", "/v1/contracts", contract, key=key["key"])
        assert made["revision"]["author"] == "ada"
        listed = (await at.done("GET", f"{TENANTS}/acme/keys"))["data"]
        assert [each["id"] for each in listed] == [key["id"]]
        shown = await at.done("GET", f"{TENANTS}/acme/keys/{key['id']}")
        assert shown == {name: value for name, value in key.items() if name != "key"}
        assert [each["id"] for each in (await at.done("GET", TENANTS))["data"]] == ["acme", "local"]


async def test_every_scope_opens_its_own_routes_only(tmp_path: Path) -> None:
    asked = {
        Scope.GENERATE: ("POST", "/v1/chat/completions", strict({"enum": ["ok"]})),
        Scope.CONTRACTS_READ: ("GET", "/v1/contracts", None),
        Scope.CONTRACTS_WRITE: ("POST", "/v1/contracts", {"name": "x", "schema": {"type": "object"}}),
        Scope.AUDIT_READ: ("GET", "/v1/audit", None),
        Scope.ADMIN: ("GET", TENANTS, None),
    }
    roles = (Role.CALLER, Role.AUTHOR, Role.AUDITOR, Role.OPERATOR)
    async with desk(tmp_path) as at:
        for held in Scope:
            key = await at.key("acme", *roles, scopes=frozenset({held}))
            for scope, (method, path, body) in asked.items():
                status, answer = await at.ask(method, path, body, key=key)
                if scope is held:
                    assert status < 300, answer
                    continue
                assert (status, answer["error"]["code"]) == (403, "insufficient_scope")
                assert scope.value in answer["error"]["message"]
        key = await at.key("acme", *roles, scopes=frozenset({Scope.GENERATE}))
        answer = await at.client.get("/v1/audit", headers={"Authorization": f"Bearer {key}"})
        assert answer.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="audit:read"'
        status, confluent = await at.ask("GET", "/subjects", key=key)
        assert (status, confluent["error_code"]) == (403, 40301)


async def test_operators_of_a_tenant_act_for_it_and_see_no_other(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for tenant in ("acme", "other"):
            await at.done("POST", TENANTS, {"id": tenant})
        theirs = await at.done("POST", f"{TENANTS}/other/keys", {})
        key = await at.key("acme", Role.OPERATOR)
        assert [each["id"] for each in (await at.done("GET", TENANTS, key=key))["data"]] == ["acme"]
        assert (await at.done("PATCH", f"{TENANTS}/acme", {"name": "Ours"}, key=key))["name"] == "Ours"
        await at.done("POST", f"{TENANTS}/acme/teams", {"name": "billing"}, key=key)
        mine = await at.done("POST", f"{TENANTS}/acme/keys", {"team": "billing"}, key=key)
        # What only operators of the installation may do.
        for method, path, body in (
            ("POST", TENANTS, {"id": "third"}),
            ("PATCH", f"{TENANTS}/acme", {"disabled": True}),
        ):
            assert await at.refused(method, path, body, key=key) == (403, "not_owner")
        # Another's, and nobody's, in the same words.
        for tenant in ("other", "nobody"):
            for method, path, sent in (
                ("GET", "", None),
                ("PATCH", "", {"name": "x"}),
                ("GET", "/teams", None),
                ("POST", "/teams", {"name": "x"}),
                ("GET", "/keys", None),
                ("POST", "/keys", {}),
                ("GET", f"/keys/{theirs['id']}", None),
                ("PATCH", f"/keys/{theirs['id']}", {"label": "x"}),
                ("POST", f"/keys/{theirs['id']}/rotate", {"overlap_seconds": 0}),
                ("POST", f"/keys/{theirs['id']}/revoke", None),
            ):
                refusal = await at.refused(method, f"{TENANTS}/{tenant}{path}", sent, key=key)
                assert refusal == (404, "tenant_not_found"), (method, path)
        for path in (f"{TENANTS}/acme/keys/{theirs['id']}", f"{TENANTS}/acme/keys/nothing"):
            assert await at.refused("GET", path, key=key) == (404, "key_not_found")
            assert await at.refused("POST", f"{path}/revoke", key=key) == (404, "key_not_found")
        await at.done("GET", "/v1/models", key=theirs["key"])
        await at.done("GET", "/v1/models", key=mine["key"])


async def test_nobody_else_administers_anything(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        some = await at.done("POST", f"{TENANTS}/acme/keys", {})
        keys = [
            await at.key("acme", role, scopes=scopes)
            for role in Role
            if role is not Role.OPERATOR
            for scopes in (None, frozenset({Scope.ADMIN}))
        ]
        for key in keys:
            for method, path, body in (
                ("GET", "", None),
                ("POST", "", {"id": "mine"}),
                ("PATCH", "/acme", {"disabled": True}),
                ("GET", "/acme/keys", None),
                ("POST", "/acme/keys", {"roles": ["operator"]}),
                ("PATCH", f"/acme/keys/{some['id']}", {"roles": ["operator"]}),
                ("POST", f"/acme/keys/{some['id']}/rotate", {"overlap_seconds": 0}),
                ("POST", f"/acme/keys/{some['id']}/revoke", None),
            ):
                assert await at.refused(method, f"{TENANTS}{path}", body, key=key) == (403, "forbidden")


async def test_the_tenant_of_the_installations_operators_is_a_setting(tmp_path: Path) -> None:
    async with desk(tmp_path, admin_tenant="ops") as at:
        assert await at.refused("POST", TENANTS, {"id": "acme"}) == (403, "not_owner")
        key = await at.key("ops", Role.OPERATOR)
        await at.done("POST", TENANTS, {"id": "acme"}, key=key)
        await at.done("PATCH", f"{TENANTS}/local", {"disabled": True}, key=key)
        assert await at.refused("GET", "/v1/models") == (403, "tenant_disabled")
        assert await at.refused("PATCH", f"{TENANTS}/ops", {"disabled": True}, key=key) == (409, "admin_tenant")


async def test_a_disabled_tenant_is_refused_at_once_and_let_in_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        key = (await at.done("POST", f"{TENANTS}/acme/keys", {"roles": ["author"]}))["key"]
        await at.done("POST", "/v1/contracts", {"name": "x", "schema": {"type": "object"}}, key=key)
        assert (await at.done("PATCH", f"{TENANTS}/acme", {"disabled": True}))["disabled_at"] is not None
        for method, path, body in (
            ("GET", "/v1/contracts", None),
            ("POST", "/v1/chat/completions", strict({"enum": ["ok"]})),
        ):
            assert await at.refused(method, path, body, key=key) == (403, "tenant_disabled")
        status, confluent = await at.ask("GET", "/subjects", key=key)
        assert (status, confluent["error_code"]) == (403, 40301)
        assert (await at.done("PATCH", f"{TENANTS}/acme", {"disabled": False}))["disabled_at"] is None
        assert len((await at.done("GET", "/v1/contracts", key=key))["data"]) == 1


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("", {}, "missing_parameter"),
        ("", {"id": ""}, "invalid_value"),
        ("", {"id": "a/b"}, "invalid_value"),
        ("", {"id": "-a"}, "invalid_value"),
        ("", {"id": "a\n"}, "invalid_value"),
        ("", {"id": "x" * 65}, "invalid_value"),
        ("", {"id": 7}, "invalid_type"),
        ("", {"id": "a", "name": "x" * 129}, "invalid_value"),
        ("", {"id": "a", "name": "a\u0000b"}, "invalid_value"),
        ("", {"id": "a", "admin": True}, "unknown_parameter"),
        ("/acme/teams", {"name": "no/team"}, "invalid_value"),
        ("/acme/keys", {"team": "billing "}, "invalid_value"),
        ("/acme/keys", {"roles": ["root"]}, "invalid_value"),
        ("/acme/keys", {"roles": []}, "invalid_value"),
        ("/acme/keys", {"roles": ["caller"] * 9}, "invalid_value"),
        ("/acme/keys", {"principal": "key:0123456789abcdef"}, "invalid_value"),
        ("/acme/keys", {"principal": " "}, "invalid_value"),
        ("/acme/keys", {"principal": ""}, "invalid_value"),
        ("/acme/keys", {"expires_at": "x" * 41}, "invalid_value"),
        ("/acme/keys", {"key": "sg_mine"}, "unknown_parameter"),
        ("/acme/keys?x=1", {}, "unknown_parameter"),
    ],
)
async def test_what_is_sent_is_read_strictly(tmp_path: Path, path: str, body: Any, code: str) -> None:
    async with desk(tmp_path) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        assert await at.refused("POST", f"{TENANTS}{path}", body) == (400, code)


async def test_what_is_there_already_and_what_is_not_there_has_its_word(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        await at.done("POST", f"{TENANTS}/acme/teams", {"name": "a"})
        assert await at.refused("POST", TENANTS, {"id": "acme"}) == (409, "known_tenant")
        assert await at.refused("POST", f"{TENANTS}/acme/teams", {"name": "a"}) == (409, "known_team")
        assert await at.refused("POST", f"{TENANTS}/acme/keys", {"team": "b"}) == (404, "team_not_found")
        for path in ("", "/teams", "/keys"):
            assert await at.refused("GET", f"{TENANTS}/nobody{path}") == (404, "tenant_not_found")
        assert await at.refused("GET", f"{TENANTS}/{'x' * 65}") == (404, "tenant_not_found")
        assert await at.refused("GET", f"{TENANTS}/a%00b") == (404, "tenant_not_found")
        assert await at.refused("PATCH", f"{TENANTS}/nobody", {"name": "x"}) == (404, "tenant_not_found")
        assert await at.refused("POST", f"{TENANTS}/nobody/teams", {"name": "x"}) == (404, "tenant_not_found")
        for cursor in ("x", "W10", "A" * 2000):
            assert (await at.refused("GET", f"{TENANTS}?cursor={cursor}"))[0] == 400


async def test_lists_are_read_page_by_page(tmp_path: Path) -> None:
    async with desk(tmp_path, requests_per_minute=100_000) as at:
        for number in range(5):
            await at.done("POST", TENANTS, {"id": f"t{number}"})
            await at.done("POST", f"{TENANTS}/t0/keys", {"label": str(number)})
        for path, member in ((TENANTS, "id"), (f"{TENANTS}/t0/keys", "label")):
            found: list[str] = []
            query = "?limit=2"
            while True:
                page = await at.done("GET", path + query)
                assert len(page["data"]) <= 2
                found += [each[member] for each in page["data"]]
                if page["next_cursor"] is None:
                    break
                query = f"?limit=2&cursor={page['next_cursor']}"
            assert found == (["local", "t0", "t1", "t2", "t3", "t4"] if member == "id" else ["0", "1", "2", "3", "4"])


async def test_two_authorization_headers_are_refused(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        good = f"Bearer {at.world.key}"
        headers = [("Authorization", good), ("Authorization", good)]
        request = httpx.Request("GET", "http://gateway/v1/models", headers=headers)
        answer = await at.client.send(request)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


async def test_what_an_operator_did_stands_in_the_audit_of_the_tenant(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        key = await at.done("POST", f"{TENANTS}/acme/keys", {"roles": ["auditor"]})
        await at.done("POST", f"{TENANTS}/acme/keys/{key['id']}/rotate", {"overlap_seconds": 60})
        await at.done("PATCH", f"{TENANTS}/acme/keys/{key['id']}", {"label": "x"})
        events = (await at.done("GET", "/v1/audit", key=key["key"]))["data"]
        assert [each["action"] for each in events] == ["tenant.created", "key.issued", "key.rotated", "key.changed"]
        assert {each["actor"] for each in events} == {"bootstrap"}
        assert {each["details"]["operator_of"] for each in events} == {"local"}
        assert all(each["key_id"] for each in events)
    with sqlite3.connect(tmp_path / "gateway.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert key["key"].split("_", 2)[2] not in dump
