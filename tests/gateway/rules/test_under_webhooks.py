"""Chat completions under webhooks that are set through the API: a real service is asked."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.contracts.world import error_of
from tests.gateway.rules.ruled import RIGHT, WRONG, ask, results, under
from tests.gateway.twins import World
from tests.gateway.webhooks.target import Target, serving

SECRET = "a secret of the ledger's, 32 characters"


@asynccontextmanager
async def with_webhook(
    tmp_path: Path,
    service: Target,
    text: str = RIGHT,
    *,
    policy: dict[str, Any] | None = None,
    request_seconds: float = 300.0,
    **members: Any,
) -> AsyncIterator[World]:
    """A gateway that asks `service` about each answer."""
    webhook = {"name": "ledger", "kind": "semantic", "timeout_seconds": 5} | members
    async with serving(service) as url:
        settings: dict[str, Any] = {"webhook_origins": url, "webhook_secrets": {"local/ledger": [SECRET]}}
        settings["request_seconds"] = request_seconds
        rules = {"webhooks": [webhook | {"url": f"{url}/check"}]}
        async with under(tmp_path, rules, text, **settings) as world:
            if policy is not None:
                answered = await world.client.put("/v1/admin/tenants/local/serving-policy", json=policy)
                assert answered.status_code == 200, answered.text
            yield world


async def test_a_webhook_decides_about_the_object_that_was_made(tmp_path: Path) -> None:
    service = Target()

    async def decide(body: bytes) -> bytes:
        total = json.loads(body)["object"]["total"]
        return json.dumps({"valid": total == 12, "message": "the ledger has another total"}).encode()

    service.decide = decide
    async with with_webhook(tmp_path, service) as world:
        right = await ask(world)
    (tmp_path / "another").mkdir()
    async with with_webhook(tmp_path / "another", service, WRONG) as world:
        wrong = await ask(world)
    assert right.status_code == 200
    assert results(right.json()["schemagate"]) == [("ledger", "semantic", "passed")]
    assert right.json()["schemagate"]["validation"]["rules"][0]["source"] == "webhook"
    assert error_of(wrong) == (422, "output_failed_validation")
    assert wrong.json()["error"]["message"].endswith("`ledger`: the ledger has another total")
    sent = json.loads(service.bodies[0])
    assert sent["caller"]["tenant"] == "local"
    assert sent["request_id"] == right.headers["x-request-id"]
    assert "x-schemagate-signature" in service.sent_headers[0]
    assert SECRET not in repr(service.sent_headers)


async def test_a_webhook_that_authorises_has_the_code_of_authorisation(tmp_path: Path) -> None:
    service = Target(body=[b'{"valid": false}'])
    async with with_webhook(tmp_path, service, kind="authorisation") as world:
        answered = await ask(world)
    assert error_of(answered) == (422, "output_not_authorised")


@pytest.mark.parametrize("body", [b"", b'{"valid": "yes"}', b"<html>"])
async def test_a_webhook_that_does_not_answer_makes_nothing_complete(tmp_path: Path, body: bytes) -> None:
    async with with_webhook(tmp_path, Target(body=[body]), fail_open=True) as world:
        answered = await ask(world)
    assert error_of(answered) == (503, "backend_failed")
    assert answered.json()["error"]["rule"] == "ledger"


async def test_where_policy_names_it_silence_is_forgiven_and_reported(tmp_path: Path) -> None:
    service = Target(status=500)
    policy = {"fail_open_webhooks": ["ledger"]}
    async with with_webhook(tmp_path, service, policy=policy, fail_open=True) as world:
        answered = await ask(world)
    assert answered.status_code == 200, answered.text
    [rule] = answered.json()["schemagate"]["validation"]["rules"]
    assert (rule["verdict"], rule["message"]) == ("failed_open", "bad_answer")


async def test_rules_end_with_the_requests_own_time(tmp_path: Path) -> None:
    never = asyncio.Event()
    service = Target(body=[never])
    async with with_webhook(tmp_path, service, timeout_seconds=10, request_seconds=0.5) as world:
        async with asyncio.timeout(8):
            answered = await ask(world)
        never.set()
    assert error_of(answered) == (503, "backend_failed")
    assert answered.json()["error"]["reason"] == "rule_not_judged"
