"""A gateway that is killed at random points of registrations and promotions loses nothing that it has acknowledged."""

import io
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry.audit_chain import Intact
from registry.audit_export import verify_export
from tests.system.gateways import make_key, start_gateway

pytestmark = pytest.mark.system

NUM_OPERATIONS = 200
NUM_KILLS = 12
NAMES = ("invoice", "order", "parcel")


def _schema(step: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"field_{step}": {"type": "integer"}}, "additionalProperties": False}


@dataclass(slots=True)
class Ledger:
    """What the gateway has acknowledged, and the one operation of which nobody knows."""

    digests: dict[tuple[str, int], str] = field(default_factory=dict)
    aliases: dict[str, int] = field(default_factory=dict)
    num_done: int = 0
    in_doubt: tuple[str, int | None] | None = None
    """The name that an unanswered operation was about, and where it would have moved the alias."""


def _work(
    client: httpx.Client, ledger: Ledger, seed: random.Random, *, before: int, kill: Callable[[], None] | None = None
) -> None:
    """Register and promote in turn; `kill` runs at some moment while operation number `before` is asked for."""
    while ledger.num_done < NUM_OPERATIONS:
        if ledger.num_done == before and kill is not None:
            # An operation takes some 10 to 40 ms here: the kill falls before, within or just after it.
            threading.Timer(seed.uniform(0, 0.05), kill).start()
            kill = None
        step = ledger.num_done
        name = NAMES[step // 2 % len(NAMES)]
        numbers = [number for known, number in ledger.digests if known == name]
        if step % 2 == 0 or not numbers:
            ledger.in_doubt = (name, None)
            response = client.post("/v1/contracts", json={"name": name, "schema": _schema(step)})
            assert response.status_code in {200, 201}, response.text
            revision = response.json()["revision"]
            ledger.digests[name, revision["number"]] = revision["digest"]
        else:
            number = seed.choice(numbers)
            ledger.in_doubt = (name, number)
            response = client.put(f"/v1/contracts/{name}/aliases/prod", json={"revision": number, "reason": "because"})
            assert response.status_code in {200, 201}, response.text
            ledger.aliases[name] = response.json()["alias"]["revision"]
        ledger.in_doubt = None
        ledger.num_done += 1


def _check(client: httpx.Client, ledger: Ledger) -> None:
    for (name, number), digest in ledger.digests.items():
        response = client.get(f"/v1/contracts/{name}@{number}")
        assert response.status_code == httpx.codes.OK, (name, number, response.text)
        assert response.json()["revision"]["digest"] == digest
    for name in NAMES:
        latest = max((number for known, number in ledger.digests if known == name), default=0)
        response = client.get(f"/v1/contracts/{name}")
        found = response.json()["contract"]["latest"] if response.status_code == httpx.codes.OK else 0
        # What was not acknowledged may have happened all the same, once and whole.
        may_be_ahead = ledger.in_doubt is not None and ledger.in_doubt[0] == name and ledger.in_doubt[1] is None
        assert found in ({latest, latest + 1} if may_be_ahead else {latest})
        response = client.get(f"/v1/contracts/{name}/aliases/prod")
        now = response.json()["alias"]["revision"] if response.status_code == httpx.codes.OK else None
        allowed = {ledger.aliases.get(name)}
        if ledger.in_doubt is not None and ledger.in_doubt[0] == name and ledger.in_doubt[1] is not None:
            allowed.add(ledger.in_doubt[1])
        assert now in allowed
        if now is not None:
            ledger.aliases[name] = now
    export = client.get("/v1/audit/export")
    verdict = verify_export(io.BytesIO(export.content))
    assert isinstance(verdict, Intact), verdict
    registered = export.text.count('"action":"revision.registered"')
    assert registered >= len(ledger.digests)
    for (name, number), digest in ledger.digests.items():
        assert any(digest in line and f'"number":{number}' in line for line in export.text.splitlines()), (name, number)


def test_nothing_that_was_acknowledged_is_lost_when_the_gateway_is_killed(database_url: str, tmp_path: Path) -> None:
    seed = random.Random(20_260)
    ledger = Ledger()
    kills = sorted(seed.sample(range(NUM_OPERATIONS - 5), NUM_KILLS))
    gateway = start_gateway(database_url, tmp_path)
    try:
        api_key = make_key(database_url)
        for before in [*kills, NUM_OPERATIONS]:
            with httpx.Client(
                base_url=gateway.url, headers={"Authorization": f"Bearer {api_key}"}, timeout=30, trust_env=False
            ) as client:
                _check(client, ledger)
                ledger.in_doubt = None
                if before == NUM_OPERATIONS:
                    _work(client, ledger, seed, before=before)
                    _check(client, ledger)
                    break
                with pytest.raises(httpx.TransportError):
                    _work(client, ledger, seed, before=max(before, ledger.num_done), kill=gateway.kill)
            gateway.kill()
            gateway = start_gateway(database_url, tmp_path)
    finally:
        gateway.kill()
    assert ledger.num_done == NUM_OPERATIONS
