"""Reserved before any work, settled however it ends, and never anybody else's."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from compiler_pool.protocol import Busy, Crashed, TimedOut
from gateway.auth.bootstrap import BOOTSTRAP_TENANT
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from inference_node.protocol import NodeFault
from policy.budget import Amounts
from registry.store.contracts import ContractStore
from tests.gateway.twins import Broken, NodeTwin, PoolTwin, chat, gateway_with, says, strict, until

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("pool", "node"),
    [
        (PoolTwin(), NodeTwin()),
        (PoolTwin(), NodeTwin(script=lambda _: says("1", end="dead_end", accepting=False))),
        (PoolTwin(), NodeTwin(script=lambda _: [says("1")[0], Broken])),
        (PoolTwin(), NodeTwin(fault=NodeFault(code="overloaded", message=""))),
        (PoolTwin(answer=lambda _: TimedOut(limit_name="cpu_seconds", limit_seconds=1)), NodeTwin()),
        (PoolTwin(answer=lambda _: Crashed(reason="memory")), NodeTwin()),
        (PoolTwin(answer=lambda _: Busy(retry_after_seconds=1)), NodeTwin()),
        (PoolTwin(is_down=True), NodeTwin()),
    ],
    ids=["complete", "impossible", "lost", "overloaded", "timed out", "crashed", "busy", "no pool"],
)
async def test_a_reservation_is_settled_however_the_request_ends(
    tmp_path: Path, *, pool: PoolTwin, node: NodeTwin, stream: bool
) -> None:
    ledger = MemoryBudgetLedger()
    async with gateway_with(tmp_path, pool=pool, node=node, ledger=ledger) as world:
        for _ in range(3):
            await world.client.post(CHAT, json=strict({"type": "string"}, stream=stream))
    state = ledger.state_of(BOOTSTRAP_TENANT)
    assert state.held == {}
    assert 1 <= state.windows["60"].num_requests <= 3


async def test_what_was_used_replaces_what_was_reserved(tmp_path: Path) -> None:
    ledger = MemoryBudgetLedger()
    node = NodeTwin(script=lambda _: says('"', "a", '"'))
    async with gateway_with(tmp_path, node=node, ledger=ledger) as world:
        await world.client.post(CHAT, json=strict({"type": "string"}))
        cold = ledger.spent_of(BOOTSTRAP_TENANT)
        await world.client.post(CHAT, json=strict({"type": "string"}))
        warm = ledger.spent_of(BOOTSTRAP_TENANT)
    assert (cold.tokens, cold.compile_cpu_us) == (8, 6_000)
    assert (warm.tokens, warm.compile_cpu_us) == (16, 6_000)
    assert len(ledger.state_of(BOOTSTRAP_TENANT).windows["60"].digests) == 1


async def test_a_contract_that_took_a_worker_down_costs_the_whole_budget_of_the_worker(tmp_path: Path) -> None:
    ledger = MemoryBudgetLedger()
    pool = PoolTwin(answer=lambda _: Crashed(reason="memory"))
    async with gateway_with(tmp_path, pool=pool, ledger=ledger) as world:
        await world.client.post(CHAT, json=strict({"type": "string"}))
    assert ledger.spent_of(BOOTSTRAP_TENANT).compile_cpu_us == 500_000


async def test_only_who_started_a_compile_pays_for_it(tmp_path: Path) -> None:
    ledger = MemoryBudgetLedger()
    pool = PoolTwin(gate=asyncio.Event())
    async with gateway_with(tmp_path, pool=pool, ledger=ledger) as world:
        asked = [asyncio.ensure_future(world.client.post(CHAT, json=strict({"type": "string"}))) for _ in range(4)]
        await until(lambda: len(ledger.state_of(BOOTSTRAP_TENANT).held) == 4 and bool(pool.requests))
        assert pool.gate is not None
        pool.gate.set()
        await asyncio.gather(*asked)
    assert ledger.spent_of(BOOTSTRAP_TENANT).compile_cpu_us == 6_000


async def test_a_rate_that_is_used_up_is_429_with_true_numbers_and_no_work(tmp_path: Path) -> None:
    node, pool = NodeTwin(), PoolTwin()
    async with gateway_with(
        tmp_path, node=node, pool=pool, ledger=MemoryBudgetLedger(), requests_per_minute=2
    ) as world:
        first = await world.client.post(CHAT, json=strict({"type": "string"}))
        await world.client.post(CHAT, json=strict({"type": "string"}))
        refused = await world.client.post(CHAT, json=strict({"type": "null"}, stream=True))
        metrics = (await world.client.get("/metrics")).text
    assert first.headers["x-ratelimit-remaining-requests"] == "1"
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["limit_name"]) == (429, "rate_limit_exceeded", "requests")
    assert (error["limit"], error["observed"], error["level"], error["window"]) == (2, 3, "tenant", "60")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.headers["x-should-retry"] == "true"
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"
    assert len(node.requests) == 2
    assert len(pool.requests) == 1
    assert 'schemagate_gateway_budget_refusals_total{budget="requests"} 1.0' in metrics


async def test_a_request_that_no_window_can_hold_is_not_to_be_sent_again(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says("hi", end="end_of_sequence", accepting=None))
    async with gateway_with(tmp_path, node=node, ledger=MemoryBudgetLedger(), tokens_per_minute=100) as world:
        large = await world.client.post(CHAT, json=chat(max_tokens=500))
        small = await world.client.post(CHAT, json=chat(max_tokens=5))
    assert (large.status_code, large.json()["error"]["code"]) == (429, "insufficient_quota")
    assert large.headers["x-should-retry"] == "false"
    assert "retry-after" not in large.headers
    assert small.status_code == 200


async def test_one_tenant_at_its_limit_of_concurrent_requests_waits_for_nobody_else(tmp_path: Path) -> None:
    gate = asyncio.Event()
    node = NodeTwin(script=lambda _: [says()[0], gate, *says("hi", end="end_of_sequence", accepting=None)[1:]])
    async with gateway_with(tmp_path, node=node, max_concurrent_requests=1) as world:
        running = asyncio.ensure_future(world.client.post(CHAT, json=chat()))
        await until(lambda: node.num_open == 1)
        refused = await world.client.post(CHAT, json=chat())
        gate.set()
        assert (await running).status_code == 200
        assert (await world.client.post(CHAT, json=chat())).status_code == 200
    assert (refused.status_code, refused.json()["error"]["limit_name"]) == (429, "concurrent_requests")
    assert refused.headers["retry-after"] == "1"


async def test_explaining_costs_compile_time_and_no_tokens(tmp_path: Path) -> None:
    ledger = MemoryBudgetLedger()
    async with gateway_with(tmp_path, ledger=ledger) as world:
        body = {"contract": {"kind": "json_schema", "schema": {"type": "string"}}}
        assert (await world.client.post("/v1/contracts/explain", json=body)).status_code == 200
    state = ledger.state_of(BOOTSTRAP_TENANT)
    assert (state.windows["60"].spent, state.held) == (Amounts(compile_cpu_us=6_000), {})


async def test_a_request_to_the_registry_counts_among_those_at_one_moment_until_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing, gate, began = ContractStore.contracts, asyncio.Event(), asyncio.Event()

    async def held(self: ContractStore, *asked: Any, **said: Any) -> Any:
        began.set()
        await gate.wait()
        return await listing(self, *asked, **said)

    monkeypatch.setattr(ContractStore, "contracts", held)
    ledger = MemoryBudgetLedger()
    async with gateway_with(tmp_path, ledger=ledger, max_concurrent_requests=1) as world:
        first = asyncio.get_running_loop().create_task(world.client.get("/v1/contracts"))
        await began.wait()
        native, facade = await world.client.get("/v1/policy"), await world.client.get("/subjects")
        gate.set()
        assert (await first).status_code == 200
        assert (await world.client.get("/v1/policy")).status_code == 200
        assert (await world.client.get("/v1/contracts/none")).status_code == 404
        assert (await world.client.get("/subjects")).status_code == 200
        assert not ledger.state_of(BOOTSTRAP_TENANT).held
    assert (native.status_code, native.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert (facade.status_code, facade.json()["error_code"]) == (429, 42901)
