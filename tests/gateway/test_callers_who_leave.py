"""A caller who goes away frees the node and the budget, over real connections."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.auth.bootstrap import BOOTSTRAP_TENANT
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from tests.gateway.serving import served_gateway
from tests.gateway.twins import NodeTwin, PoolTwin, chat, says, strict, until

CHAT = "/v1/chat/completions"
EXPLAIN = "/v1/contracts/explain"


def ledger() -> MemoryBudgetLedger:
    return MemoryBudgetLedger()


def never_ending() -> NodeTwin:
    start, token, *_ = says("hello", end="end_of_sequence", accepting=None)
    return NodeTwin(script=lambda _: [start, token, token, asyncio.Event()])


async def metrics(http: httpx.AsyncClient) -> str:
    return (await http.get("/metrics")).text


async def test_leaving_a_stream_ends_the_sequence_and_settles_what_it_used(tmp_path: Path) -> None:
    node, budget = never_ending(), ledger()
    async with (
        served_gateway(tmp_path, node=node, ledger=budget) as (url, key),
        httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}) as http,
    ):
        async with http.stream("POST", CHAT, json=chat(stream=True)) as response:
            assert response.status_code == 200
            lines = response.aiter_lines()
            while "hello" not in await anext(lines):
                pass
            assert node.num_open == 1
        await until(lambda: node.num_open == 0)
        await until(lambda: not budget.state_of(BOOTSTRAP_TENANT).held)

        async def is_counted() -> bool:
            return 'completion="cancelled",route="chat_completions",status="200"} 1.0' in await metrics(http)

        await until(is_counted)
        assert "schemagate_gateway_requests_in_flight 1.0" in await metrics(http)  # this very request
    assert budget.spent_of(BOOTSTRAP_TENANT).tokens == 7


async def test_leaving_an_unstreamed_request_ends_the_sequence_too(tmp_path: Path) -> None:
    node, budget = never_ending(), ledger()
    async with served_gateway(tmp_path, node=node, ledger=budget) as (url, key):
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=url, headers=headers) as impatient:
            asked = asyncio.ensure_future(impatient.post(CHAT, json=chat(), timeout=30))
            await until(lambda: node.num_open == 1)
            asked.cancel()
        await until(lambda: node.num_open == 0)
        await until(lambda: not budget.state_of(BOOTSTRAP_TENANT).held)
        async with httpx.AsyncClient(base_url=url, headers=headers) as http:
            assert 'completion="cancelled",route="chat_completions",status="499"} 1.0' in await metrics(http)


async def test_leaving_while_a_contract_is_compiled_drops_the_compile(tmp_path: Path) -> None:
    budget, pool = ledger(), PoolTwin(gate=asyncio.Event())
    async with served_gateway(tmp_path, node=NodeTwin(), pool=pool, ledger=budget) as (url, key):
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}) as http:
            asked = asyncio.ensure_future(http.post(CHAT, json=strict({"type": "string"}), timeout=30))
            await until(lambda: len(pool.requests) == 1)
            asked.cancel()
        await until(lambda: not budget.state_of(BOOTSTRAP_TENANT).held)
    assert (
        budget.spent_of(BOOTSTRAP_TENANT).compile_cpu_us == 500_000
    )  # all that it was given: the work was done or killed


@pytest.mark.parametrize(("path", "route"), [(CHAT, "chat_completions"), (EXPLAIN, "contracts_explain")])
async def test_leaving_in_the_middle_of_a_body_costs_nothing(tmp_path: Path, path: str, route: str) -> None:
    node, budget = NodeTwin(), ledger()
    async with served_gateway(tmp_path, node=node, ledger=budget) as (url, key):
        host, _, port = url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: 100\r\n\r\n{{"
        writer.write(head.encode())
        await writer.drain()
        writer.close()
        async with httpx.AsyncClient(base_url=url) as http:

            async def is_counted() -> bool:
                return f'completion="cancelled",route="{route}",status="499"}} 1.0' in await metrics(http)

            await until(is_counted)
    assert budget.state_of(BOOTSTRAP_TENANT).windows == {}


async def test_a_caller_who_stops_reading_counts_as_gone(tmp_path: Path) -> None:
    start, token, *_ = says("x" * 60_000, end="end_of_sequence", accepting=None)
    node, budget = NodeTwin(script=lambda _: [start, *[token] * 2000]), ledger()
    async with served_gateway(tmp_path, node=node, ledger=budget, silence_seconds=0.3) as (url, key):
        host, _, port = url.removeprefix("http://").partition(":")
        body = httpx.Request("POST", url, json=chat(stream=True)).content
        _, writer = await asyncio.open_connection(host, int(port), limit=1024)
        head = (
            f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await until(lambda: node.num_open == 1)
        await until(lambda: node.num_open == 0)  # without a byte having been read here
        await until(lambda: not budget.state_of(BOOTSTRAP_TENANT).held)
        writer.close()


async def test_a_request_over_its_time_is_ended_and_typed(tmp_path: Path) -> None:
    node = never_ending()
    async with (
        served_gateway(tmp_path, node=node, request_seconds=0.2) as (url, key),
        httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}) as http,
    ):
        whole = await http.post(CHAT, json=chat())
        streamed: Any = await http.post(CHAT, json=chat(stream=True))
    assert (whole.status_code, whole.json()["error"]["reason"]) == (504, "deadline_passed")
    assert '"reason":"deadline_passed"' in streamed.text
    assert streamed.text.endswith("data: [DONE]\n\n")
    assert node.num_open == 0


async def test_a_gateway_that_is_told_to_stop_ends_what_is_in_progress(tmp_path: Path) -> None:
    node, budget = never_ending(), ledger()
    async with httpx.AsyncClient() as http, asyncio.timeout(20):
        async with served_gateway(tmp_path, node=node, ledger=budget) as (url, key):
            request = http.build_request(
                "POST", url + CHAT, json=chat(stream=True), headers={"Authorization": f"Bearer {key}"}
            )
            response = await http.send(request, stream=True)
            assert node.num_open == 1
        await response.aclose()
    assert node.num_open == 0
    assert not budget.state_of(BOOTSTRAP_TENANT).held
