"""The same write twice is one write with one answer; another write under the same key is refused."""

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.contracts.world import INVOICE, NARROWER, WIDER, error_of, registry

REGISTER = "/v1/contracts"
BODY = {"name": "invoice", "schema": INVOICE}
PROD = "/v1/contracts/invoice/aliases/prod"


async def test_the_first_answer_is_given_again(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        first = await here.ask("POST", REGISTER, BODY, idempotency_key="one")
        again = await here.ask("POST", REGISTER, BODY, idempotency_key="one")
        keyless = await here.ask("POST", REGISTER, BODY)
        metrics = (await here.client.get("/metrics")).text
    assert (first.status_code, again.status_code, keyless.status_code) == (201, 201, 200)
    assert again.content == first.content
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert 'schemagate_gateway_idempotent_replays_total{result="replayed"} 1.0' in metrics


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", REGISTER, {"name": "invoice", "schema": WIDER}, {}),
        ("POST", REGISTER, BODY | {"state": "draft"}, {}),
        ("DELETE", "/v1/contracts/invoice", None, {}),
        ("PUT", PROD, {"revision": 1}, {}),
        ("POST", REGISTER, BODY, {"if_match": '"1"'}),
        ("POST", REGISTER + "?", BODY, {}),
    ],
    ids=["another body", "another member", "another method", "another path", "another precondition", "the same"],
)
async def test_another_request_under_the_same_key_is_refused(
    tmp_path: Path, method: str, path: str, body: Any, headers: dict[str, str]
) -> None:
    is_same = path.endswith("?")
    async with registry(tmp_path) as here:
        await here.ask("POST", REGISTER, BODY, idempotency_key="one")
        other = await here.ask(method, path, body, idempotency_key="one", **headers)
        contract = (await here.ask("GET", "/v1/contracts/invoice")).json()
    if is_same:
        assert other.headers["idempotent-replayed"] == "true"
    else:
        assert error_of(other) == (409, "idempotency_conflict")
        assert other.headers["x-should-retry"] == "false"
    assert (contract["contract"]["latest"], contract["aliases"]) == (1, [])


async def test_a_refusal_is_an_answer_that_is_given_again(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register(compatibility="BACKWARD")
        body = {"name": "invoice", "schema": NARROWER}
        first = await here.ask("POST", REGISTER, body, idempotency_key="two")
        await here.ask("PATCH", "/v1/contracts/invoice", {"compatibility": "NONE"})
        again = await here.ask("POST", REGISTER, body, idempotency_key="two")
        fresh = await here.ask("POST", REGISTER, body, idempotency_key="three")
    assert error_of(first) == error_of(again) == (409, "incompatible")
    assert again.content == first.content
    assert again.headers["x-should-retry"] == "false"
    assert fresh.status_code == 201


async def test_what_was_dropped_once_is_dropped_once(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.register()
        await here.promote(1)
        first = await here.ask("DELETE", PROD, idempotency_key="drop")
        again = await here.ask("DELETE", PROD, idempotency_key="drop")
        another = await here.ask("DELETE", PROD, idempotency_key="drop-again")
    assert (first.status_code, again.status_code) == (204, 204)
    assert again.content == b""
    assert another.status_code == 404


async def test_one_of_many_at_once_does_the_work(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        answers = await asyncio.gather(*(here.ask("POST", REGISTER, BODY, idempotency_key="many") for _ in range(8)))
        contract = (await here.ask("GET", "/v1/contracts/invoice")).json()
        events = (await here.ask("GET", "/v1/audit?limit=100")).json()["data"]
    done = [each for each in answers if each.status_code == 201]
    waiting = [each for each in answers if each.status_code != 201]
    assert done
    assert {each.content for each in done} == {done[0].content}
    assert {error_of(each) for each in waiting} <= {(409, "idempotency_in_progress")}
    assert all(each.headers["retry-after"] == "1" for each in waiting)
    assert contract["contract"]["latest"] == 1
    assert [event["action"] for event in events].count("revision.registered") == 1


async def test_keys_are_a_principals_own_and_only_their_digests_are_kept(tmp_path: Path) -> None:
    async with registry(tmp_path) as here, here.holding(principal="caller", roles=["caller"]) as caller:
        await here.ask("POST", REGISTER, BODY, idempotency_key="a-telling-key")
        theirs = await caller.ask("POST", REGISTER, BODY, idempotency_key="a-telling-key")
    assert error_of(theirs) == (403, "forbidden")
    with sqlite3.connect(tmp_path / "gateway.db") as database:
        rows = database.execute("SELECT * FROM idempotency_records").fetchall()
    database.close()
    assert len(rows) == 2
    assert "a-telling-key" not in repr(rows)


@pytest.mark.parametrize("key", ["", "with space", "x" * 256, "caf\u00e9"])
async def test_a_key_is_printable_and_short(tmp_path: Path, key: str) -> None:
    async with registry(tmp_path) as here:
        headers = {b"Idempotency-Key": key.encode("latin-1")}
        response = await here.client.post(REGISTER, json=BODY, headers=headers)
        listed = (await here.ask("GET", REGISTER)).json()["data"]
    assert error_of(response) == (400, "invalid_value")
    assert response.json()["error"]["param"] == "idempotency-key"
    assert listed == []


async def test_a_request_that_is_not_even_read_takes_no_key(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        wrong = await here.ask("POST", REGISTER, {"name": "invoice"}, idempotency_key="one")
        right = await here.ask("POST", REGISTER, BODY, idempotency_key="one")
    assert error_of(wrong) == (400, "missing_parameter")
    assert right.status_code == 201


async def test_a_lease_whose_owner_died_ends(tmp_path: Path) -> None:
    async with registry(tmp_path) as here:
        await here.ask("POST", REGISTER, BODY, idempotency_key="one")
    with sqlite3.connect(tmp_path / "gateway.db") as database:
        # As it stands where the process died between its work and its answer: a lease, and no status.
        database.execute("UPDATE idempotency_records SET status = NULL, headers = NULL, body = NULL")
    database.close()
    async with registry(tmp_path) as here:
        busy = await here.ask("POST", REGISTER, BODY, idempotency_key="one")
    with sqlite3.connect(tmp_path / "gateway.db") as database:
        database.execute("UPDATE idempotency_records SET lease_expires_at = '2020-01-01 00:00:00.000000'")
    database.close()
    async with registry(tmp_path) as here:
        again = await here.ask("POST", REGISTER, BODY, idempotency_key="one")
        contract = (await here.ask("GET", "/v1/contracts/invoice")).json()
    # A new start means a new bootstrap key of the same principal, so that the record is found again.
    assert error_of(busy) == (409, "idempotency_in_progress")
    assert (again.status_code, again.json()["is_new"]) == (200, False)
    assert contract["contract"]["latest"] == 1
