"""Keys and tenants through two gateway processes on one database: what one is told, the other knows within a second."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.system.gateways import make_key, start_gateway

pytestmark = pytest.mark.system

WITHIN_SECONDS = 1.0
"""What is promised; the machine may take its time to answer a question that was asked within it."""
KEYS = "/v1/admin/tenants/acme/keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two gateways; the clients hold a key of an operator of `acme`."""

    one: httpx.Client
    two: httpx.Client
    installation: dict[str, str]
    """Headers of an operator of the installation."""


@pytest.fixture
def pair(database_url: str, tmp_path: Path) -> Iterator[Pair]:
    """Both processes start at once, on a database that has its tables and nothing else."""
    with ExitStack() as stack:
        with ThreadPoolExecutor() as starting:
            started = list(starting.map(lambda _: start_gateway(database_url, tmp_path), range(2)))
        for gateway in started:
            stack.callback(gateway.kill)
        headers = {"Authorization": f"Bearer {make_key(database_url)}"}
        one, two = (
            stack.enter_context(httpx.Client(base_url=gateway.url, headers=headers, timeout=30)) for gateway in started
        )
        operator = make_key(database_url, tenant="local", principal="olga")
        yield Pair(one=one, two=two, installation={"Authorization": f"Bearer {operator}"})


def done(response: httpx.Response) -> Any:
    assert response.status_code in {200, 201}, response.text
    return response.json()


def status(client: httpx.Client, key: str, path: str = "/v1/contracts") -> int:
    return client.get(path, headers={"Authorization": f"Bearer {key}"}).status_code


def seen_within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether no question put later than that is answered from before.

    Asked as fast as it answers, so that the other gateway has it fresh in its memory all the time.
    """
    begun = time.monotonic()
    while True:
        asked = time.monotonic()
        if condition():
            return True
        if asked - begun > seconds:
            return False


def test_a_key_that_is_revoked_through_one_gateway_is_refused_by_the_other(pair: Pair) -> None:
    for writer, reader in ((pair.one, pair.two), (pair.two, pair.one)) * 2:
        key = done(writer.post(KEYS, json={}))
        assert status(reader, key["key"]) == 200
        done(writer.post(f"{KEYS}/{key['id']}/revoke"))
        assert status(writer, key["key"]) == 401  # the one that was told forgets at once
        assert seen_within(WITHIN_SECONDS, lambda: status(reader, key["key"]) == 401)  # noqa: B023 - used within


def test_a_key_that_was_not_there_is_taken_as_soon_as_it_is(pair: Pair) -> None:
    for _ in range(3):
        key = done(pair.one.post(KEYS, json={}))
        unknown = key["key"][:-4] + "AAAA"
        assert status(pair.two, unknown) == 401
        assert status(pair.two, key["key"]) == 200


def test_rotation_is_known_to_both_with_and_without_an_overlap(pair: Pair) -> None:
    first = done(pair.one.post(KEYS, json={}))
    path = f"{KEYS}/{first['id']}/rotate"
    assert status(pair.two, first["key"]) == 200
    second = done(pair.one.post(path, json={"overlap_seconds": 3}))
    until = datetime.fromisoformat(second["previous_secret_until"])
    assert status(pair.two, second["key"]) == 200
    while datetime.now(UTC) < until:
        asked = datetime.now(UTC)
        for client in (pair.one, pair.two):
            code = status(client, first["key"])
            assert code == 200 or datetime.now(UTC) >= until, (asked, until)
    assert [status(client, first["key"]) for client in (pair.one, pair.two)] == [401, 401]
    third = done(pair.one.post(path, json={"overlap_seconds": 0}))
    assert third["id"] == first["id"]
    assert status(pair.one, second["key"]) == 401
    assert seen_within(WITHIN_SECONDS, lambda: status(pair.two, second["key"]) == 401)
    assert [status(client, third["key"]) for client in (pair.one, pair.two)] == [200, 200]


def test_scopes_and_roles_that_were_taken_away_are_gone_for_both(pair: Pair) -> None:
    key = done(pair.one.post(KEYS, json={"roles": ["auditor"]}))
    assert status(pair.two, key["key"], "/v1/audit") == 200
    done(pair.one.patch(f"{KEYS}/{key['id']}", json={"roles": ["caller"]}))
    assert seen_within(WITHIN_SECONDS, lambda: status(pair.two, key["key"], "/v1/audit") == 403)
    done(pair.two.patch(f"{KEYS}/{key['id']}", json={"scopes": ["generate"]}))
    assert seen_within(WITHIN_SECONDS, lambda: status(pair.one, key["key"]) == 403)


def test_a_tenant_that_is_disabled_through_one_gateway_is_refused_by_the_other(pair: Pair) -> None:
    key = done(pair.one.post(KEYS, json={}))["key"]
    tenant = "/v1/admin/tenants/acme"
    for disabled, code in ((True, 403), (False, 200)):
        done(pair.one.patch(tenant, json={"disabled": disabled}, headers=pair.installation))
        assert status(pair.one, key) == code
        assert seen_within(WITHIN_SECONDS, lambda: status(pair.two, key) == code)  # noqa: B023 - used within


def test_a_request_that_made_a_key_makes_one_whichever_gateway_gets_it_again(pair: Pair) -> None:
    headers = {"Idempotency-Key": "once"}
    first = pair.one.post(KEYS, json={"label": "once"}, headers=headers)
    again = pair.two.post(KEYS, json={"label": "once"}, headers=headers)
    assert first.status_code == 201
    assert (again.status_code, again.json()["error"]["code"]) == (409, "secret_already_shown")
    assert again.json()["error"]["key_id"] == first.json()["id"]
    assert "key" not in again.json()
    assert [each["label"] for each in done(pair.two.get(KEYS))["data"]].count("once") == 1
