"""Keys through the admin API: a secret is shown once, rotated, and what is changed of a key."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from policy.roles import Role
from tests.gateway.admin.desk import TENANTS, desk
from tests.gateway.twins import NodeTwin, finish, says, strict, until


def contents(directory: Path) -> list[bytes]:
    """Every file of a gateway."""
    return [file.read_bytes() for file in directory.iterdir()]


async def test_a_secret_is_shown_once_and_kept_nowhere(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        path = f"{TENANTS}/acme/keys"
        once = {"idempotency_key": "issue-1"}
        status, key = await at.ask("POST", path, {"label": "a"}, **once)
        assert status == 201
        status, again = await at.ask("POST", path, {"label": "a"}, **once)
        assert (status, again["error"]["code"]) == (409, "secret_already_shown")
        assert again["error"]["key_id"] == key["id"]
        assert await at.refused("POST", path, {"label": "b"}, **once) == (409, "idempotency_conflict")
        turn = {"idempotency_key": "rotate-1"}
        status, rotated = await at.ask("POST", f"{path}/{key['id']}/rotate", {"overlap_seconds": 60}, **turn)
        assert (status, rotated["id"]) == (200, key["id"])
        assert rotated["previous_secret_until"] is not None
        assert await at.refused("POST", f"{path}/{key['id']}/rotate", {"overlap_seconds": 60}, **turn) == (
            409, "secret_already_shown",
        )  # fmt: skip
        assert len((await at.done("GET", path))["data"]) == 1
        # A refusal is the same again, word for word.
        gone = {"idempotency_key": "issue-2"}
        for _ in range(2):
            assert await at.refused("POST", f"{TENANTS}/nobody/keys", {}, **gone) == (404, "tenant_not_found")
        for secret in (key["key"], rotated["key"]):
            await at.done("GET", "/v1/models", key=secret)
            assert all(secret[20:].encode() not in content for content in contents(tmp_path))


async def test_rotation_through_the_api(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        first = await at.done("POST", f"{TENANTS}/acme/keys", {})
        path = f"{TENANTS}/acme/keys/{first['id']}"
        assert await at.refused("POST", f"{path}/rotate", {}) == (400, "missing_parameter")
        assert await at.refused("POST", f"{path}/rotate", {"overlap_seconds": -1}) == (400, "invalid_value")
        assert await at.refused("POST", f"{path}/rotate", {"overlap_seconds": 2_592_001}) == (400, "invalid_value")
        second = await at.done("POST", f"{path}/rotate", {"overlap_seconds": 3600})
        for each in (first, second):
            await at.done("GET", "/v1/models", key=each["key"])
        assert await at.refused("POST", f"{path}/rotate", {"overlap_seconds": 1}) == (409, "rotation_in_progress")
        third = await at.done("POST", f"{path}/rotate", {"overlap_seconds": 0})
        assert third["previous_secret_until"] is None
        for each in (first, second):
            assert await at.refused("GET", "/v1/models", key=each["key"]) == (401, "invalid_api_key")
        await at.done("GET", "/v1/models", key=third["key"])
        assert (await at.done("POST", f"{path}/revoke"))["state"] == "revoked"
        assert await at.refused("GET", "/v1/models", key=third["key"]) == (401, "invalid_api_key")
        assert (await at.done("POST", f"{path}/revoke"))["state"] == "revoked"
        assert await at.refused("POST", f"{path}/rotate", {"overlap_seconds": 0}) == (409, "key_not_live")
        assert await at.refused("PATCH", path, {"label": "x"}) == (409, "key_not_live")


async def test_a_key_is_changed_and_what_it_may_do_with_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        key = await at.done("POST", f"{TENANTS}/acme/keys", {"scopes": ["generate"]})
        path = f"{TENANTS}/acme/keys/{key['id']}"
        assert await at.refused("GET", "/v1/contracts", key=key["key"]) == (403, "insufficient_scope")
        await at.done("PATCH", path, {"scopes": ["contracts:read"]})
        await at.done("GET", "/v1/contracts", key=key["key"])
        assert await at.refused("POST", "/v1/chat/completions", strict({}), key=key["key"]) == (
            403, "insufficient_scope",
        )  # fmt: skip
        later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        changed = await at.done(
            "PATCH", path, {"scopes": None, "roles": ["auditor"], "expires_at": later, "label": "x"}
        )
        assert changed["allowed_scopes"] == ["audit:read", "contracts:read", "generate"]
        assert (changed["label"], changed["scopes"]) == ("x", None)
        await at.done("GET", "/v1/audit", key=key["key"])
        assert (await at.done("PATCH", path, {"expires_at": None}))["expires_at"] is None
        for body, code in (
            ({"roles": None}, "invalid_value"),
            ({"label": None}, "invalid_value"),
            ({"roles": []}, "invalid_value"),
            ({"roles": ["root"]}, "invalid_value"),
            ({"scopes": []}, "invalid_value"),
            ({"scopes": ["everything"]}, "invalid_value"),
            ({"scopes": "generate"}, "invalid_type"),
            ({"expires_at": "tomorrow"}, "invalid_value"),
            ({"expires_at": "2020-01-01T00:00:00Z"}, "invalid_value"),
            ({"expires_at": "2099-01-01T00:00:00"}, "invalid_value"),
            ({"expires_at": "0001-01-01T00:00:00+23:00"}, "invalid_value"),
            ({"label": "two\tcolumns"}, "invalid_value"),
            ({"label": "x" * 129}, "invalid_value"),
            ({"secret": "mine"}, "unknown_parameter"),
            ([], "invalid_type"),
        ):
            assert await at.refused("PATCH", path, body) == (400, code), body


async def test_a_stream_that_was_opened_with_the_secret_before_is_finished(tmp_path: Path) -> None:
    opened = asyncio.Event()
    events = says('"o', 'k"')
    node = NodeTwin(script=lambda _: [events[0], events[1], opened, events[2], finish("grammar_end", True, 2)])
    async with desk(tmp_path, node=node) as at:
        await at.done("POST", TENANTS, {"id": "acme"})
        key = await at.done("POST", f"{TENANTS}/acme/keys", {})
        headers = {"Authorization": f"Bearer {key['key']}"}

        async def streamed() -> str:
            body = strict({"enum": ["ok"]}, stream=True)
            answer = await at.client.post("/v1/chat/completions", json=body, headers=headers)
            return answer.text

        running = asyncio.ensure_future(streamed())
        await until(lambda: bool(node.requests))
        await at.done("POST", f"{TENANTS}/acme/keys/{key['id']}/rotate", {"overlap_seconds": 0})
        assert await at.refused("GET", "/v1/models", key=key["key"]) == (401, "invalid_api_key")
        opened.set()
        text = await running
    assert '"finish_reason":"stop"' in text.replace(": ", ":")
    assert text.rstrip().endswith("data: [DONE]")


async def test_a_key_is_ended_though_its_tenants_requests_are_used_up(tmp_path: Path) -> None:
    async with desk(tmp_path, requests_per_minute=2) as at:
        operator = await at.key("acme", Role.OPERATOR)
        stolen = await at.key("acme", Role.CALLER)
        key_id = stolen.split("_")[1]
        asked = [(await at.ask("GET", "/v1/policy", key=stolen))[0] for _ in range(3)]
        assert asked == [200, 200, 429]
        assert await at.refused("GET", f"{TENANTS}/acme/keys", key=operator) == (429, "rate_limit_exceeded")
        path = f"{TENANTS}/acme/keys/{key_id}"
        assert (await at.done("POST", f"{path}/rotate", {"overlap_seconds": 0}, key=operator))["id"] == key_id
        assert (await at.done("POST", f"{path}/revoke", key=operator))["state"] == "revoked"
