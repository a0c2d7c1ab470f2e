"""Compiled once, kept by tenant, and every outcome of the pool told apart."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from compiler_pool.protocol import (
    Busy,
    Compiled,
    CompileRequest,
    Crashed,
    PoolIdentity,
    Rejected,
    RejectionWire,
    TimedOut,
)
from gateway.auth.issue import issue_key
from gateway.auth.keys import Pepper
from gateway.auth.store import KeyStore
from registry.identifiers import TenantId
from tests.gateway.twins import PEPPER, PoolTwin, compiled, gateway_with, strict, until

CHAT = "/v1/chat/completions"
SCHEMA = {"type": "string"}


def answers(outcome: Any) -> PoolTwin:
    return PoolTwin(answer=lambda _: outcome)


async def test_a_contract_is_compiled_once_and_then_found_here(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        caches = [(await world.client.post(CHAT, json=strict(SCHEMA))).json()["schemagate"]["cache"] for _ in range(3)]
    assert caches == ["compiled", "l1", "l1"]
    assert len(pool.requests) == 1


async def test_all_who_wait_for_one_contract_share_one_compile(tmp_path: Path) -> None:
    pool = PoolTwin(gate=asyncio.Event())
    async with gateway_with(tmp_path, pool=pool) as world:
        asked = [asyncio.ensure_future(world.client.post(CHAT, json=strict(SCHEMA))) for _ in range(5)]
        await until(lambda: len(pool.requests) == 1)
        assert pool.gate is not None
        pool.gate.set()
        responses = await asyncio.gather(*asked)
    assert [response.status_code for response in responses] == [200] * 5
    assert len(pool.requests) == 1


async def test_two_tenants_never_share_an_artifact(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        store = await KeyStore.open(world.settings.database_url)
        other = await issue_key(
            store, Pepper(PEPPER), tenant=TenantId("other"), label="", at=(await store.records())[0].created_at
        )
        await store.close()
        mine = await world.client.post(CHAT, json=strict(SCHEMA))
        theirs = await world.client.post(CHAT, json=strict(SCHEMA), headers={"Authorization": f"Bearer {other.text}"})
    one, two = (response.json()["schemagate"] for response in (mine, theirs))
    assert one["contract"]["digest"] == two["contract"]["digest"]
    assert one["artifact_key"] != two["artifact_key"]
    assert len({request.tenant_partition for request in pool.requests}) == 2
    assert "other" not in pool.requests[1].model_dump_json()


async def test_another_policy_is_another_artifact(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        sent = {"kind": "json_schema", "schema": SCHEMA}
        keys = [
            (await world.client.post("/v1/contracts/explain", json={"contract": sent, "strict": strictness})).json()
            for strictness in (True, False)
        ]
    assert keys[0]["digest"] == keys[1]["digest"]
    assert keys[0]["artifact_key"] != keys[1]["artifact_key"]


async def test_a_warm_contract_needs_no_pool_and_a_cold_one_is_503(tmp_path: Path) -> None:
    pool = PoolTwin()
    async with gateway_with(tmp_path, pool=pool) as world:
        await world.client.post(CHAT, json=strict(SCHEMA))
        pool.is_down = True
        warm = await world.client.post(CHAT, json=strict(SCHEMA))
        cold = await world.client.post(CHAT, json=strict({"type": "null"}))
        pool.is_down = False
        healed = await world.client.post(CHAT, json=strict({"enum": ["ok"]}))
    assert warm.status_code == 200
    assert (cold.status_code, cold.json()["error"]["code"]) == (503, "compiler_unavailable")
    assert cold.headers["retry-after"] == "1"
    assert healed.status_code == 200


async def test_a_pool_that_was_never_seen_is_503_and_served_when_it_comes(tmp_path: Path) -> None:
    pool = PoolTwin(is_down=True)
    async with gateway_with(tmp_path, pool=pool) as world:
        early = await world.client.post(CHAT, json=strict(SCHEMA))
        pool.is_down = False

        async def is_served() -> bool:
            return (await world.client.post(CHAT, json=strict(SCHEMA))).status_code == 200

        await until(is_served)
    assert (early.status_code, early.json()["error"]["code"]) == (503, "compiler_unavailable")


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [
        (TimedOut(limit_name="cpu_seconds", limit_seconds=0.5), 400, "compile_timed_out"),
        (TimedOut(limit_name="wall_seconds", limit_seconds=2), 503, "compile_timed_out"),
        (Crashed(reason="signal SIGSEGV"), 503, "compiler_crashed"),
        (Busy(retry_after_seconds=2.5), 503, "compiler_unavailable"),
    ],
)
async def test_every_outcome_of_the_pool_has_its_own_answer_and_is_not_remembered(
    tmp_path: Path, *, outcome: Any, status: int, code: str
) -> None:
    pool = answers(outcome)
    async with gateway_with(tmp_path, pool=pool) as world:
        failed = await world.client.post(CHAT, json=strict(SCHEMA, stream=True))
        pool.answer = compiled
        repeated = await world.client.post(CHAT, json=strict(SCHEMA))
    assert (failed.status_code, failed.json()["error"]["code"]) == (status, code)
    assert "SIGSEGV" not in failed.text
    assert repeated.status_code == 200


async def test_a_busy_pool_says_when_to_come_back(tmp_path: Path) -> None:
    async with gateway_with(tmp_path, pool=answers(Busy(retry_after_seconds=2.5))) as world:
        response = await world.client.post(CHAT, json=strict(SCHEMA))
    assert (response.headers["retry-after"], response.headers["retry-after-ms"]) == ("3", "2500")


async def test_a_refusal_points_into_what_the_caller_wrote(tmp_path: Path) -> None:
    """The pool sees the canonical form, in which references are renamed; the caller sees their own places."""

    def refuses(request: CompileRequest) -> Rejected:
        assert "Unique" not in request.canonical_text
        name = request.canonical_text.partition('"#/$defs/')[2].partition('"')[0]
        pointer = f"/$defs/{name}/uniqueItems"
        return Rejected(
            rejections=[
                RejectionWire(code="unsupported_keyword", message="no", pointer=pointer, keyword="uniqueItems"),
                RejectionWire(code="limit_exceeded", message="no", limit_name="max_items", limit=3.0, observed=4.0),
                RejectionWire(code="a_reason_of_tomorrow", message="no"),
            ]
        )

    reference = {"$ref": "#/$defs/Unique"}
    schema = {
        "$defs": {"Unique": {"type": "array", "uniqueItems": True, "items": reference}},
        "type": "object",
        "properties": {"a": reference, "b": reference},
    }
    async with gateway_with(tmp_path, pool=PoolTwin(answer=refuses)) as world:
        response = await world.client.post(CHAT, json=strict(schema))
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "unsupported_keyword")
    assert error["pointer"] == "/$defs/Unique/uniqueItems"
    assert error["param"] == "response_format.json_schema.schema.$defs.Unique.uniqueItems"
    assert (error["errors"][1]["limit"], error["errors"][1]["observed"]) == (3, 4)
    assert error["errors"][2]["code"] == "compile_refused"


async def test_an_artifact_under_another_key_is_never_used(tmp_path: Path) -> None:
    def lies(request: CompileRequest) -> Compiled:
        return compiled(request).model_copy(update={"artifact_key": "0" * 64})

    async with gateway_with(tmp_path, pool=PoolTwin(answer=lies)) as world:
        response = await world.client.post(CHAT, json=strict(SCHEMA))
    assert (response.status_code, response.json()["error"]["code"]) == (503, "compiler_unavailable")


async def test_an_artifact_that_cannot_be_read_is_never_used(tmp_path: Path) -> None:
    def garbles(request: CompileRequest) -> Compiled:
        return compiled(request).model_copy(update={"frame": "not base64!"})

    async with gateway_with(tmp_path, pool=PoolTwin(answer=garbles)) as world:
        response = await world.client.post(CHAT, json=strict(SCHEMA))
    assert response.status_code == 503


async def test_a_model_whose_tokenizer_the_pool_has_not_is_503(tmp_path: Path, monkeypatch: Any) -> None:
    bare = PoolIdentity(engine="llguidance", engine_version="1.9.1", lowering_version="1", tokenizers=[])
    monkeypatch.setattr("tests.gateway.twins.POOL", bare)
    async with gateway_with(tmp_path) as world:
        response = await world.client.post(CHAT, json=strict(SCHEMA))
        ready = await world.client.get("/readyz")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "compiler_unavailable")
    assert ready.json()["status"] == "degraded"


async def test_a_compile_that_takes_longer_than_the_caller_waits_is_503(tmp_path: Path) -> None:
    pool = PoolTwin(gate=asyncio.Event())
    async with gateway_with(tmp_path, pool=pool, compile_seconds=0.05) as world:
        response = await world.client.post(CHAT, json=strict(SCHEMA))
    assert (response.status_code, response.json()["error"]["code"]) == (503, "compiler_unavailable")
