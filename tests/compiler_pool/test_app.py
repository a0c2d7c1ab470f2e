"""The real service: a process of its own on a local port, with real workers and a real tokenizer."""

import asyncio
import base64
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from compiler_pool.artifact import TokenizerDigest
from compiler_pool.client import PoolClient
from compiler_pool.errors import PoolUnavailableError
from compiler_pool.frame import KeyRing, open_frame
from compiler_pool.protocol import Busy, Compiled, CompileRequest, Crashed, Rejected, TimedOut, UsesReport
from tests.compiler_pool.running_pool import KEYS, free_port, running_pool, until_ready

SLOW = '{"allOf":[' + ",".join(f'{{"pattern":"[a-f]{{3,60}}.*{at}.*x"}}' for at in range(40)) + "]}"
"""Takes more than any budget."""


async def test_a_contract_is_compiled_once_and_answered_from_the_cache_afterwards(tmp_path: Path) -> None:
    async with running_pool(tmp_path) as service:
        first = await service.client.compile(service.request())
        second = await service.client.compile(service.request())
        assert isinstance(first, Compiled)
        assert isinstance(second, Compiled)
        assert (first.cache, second.cache) == ("miss", "hit")
        assert first.frame == second.frame
        assert first.cost.cpu_ms > 0
        assert second.cost.cpu_ms == 0
        assert 0 < first.cost.num_trial_steps <= 256
        artifact = open_frame(base64.b64decode(first.frame), KeyRing.from_text(KEYS))
        assert artifact.key == first.artifact_key
        assert artifact.address.tokenizer_digest == TokenizerDigest(service.digest)
        assert [entry.pointer for entry in artifact.report] == [entry.pointer for entry in first.report]
        assert await service.metric('schemagate_compile_requests_total{cache="hit",outcome="compiled"}') == 1


async def test_tenants_policies_and_limits_do_not_share_artifacts(tmp_path: Path) -> None:
    async with running_pool(tmp_path) as service:
        requests = [
            service.request(),
            service.request(partition="other"),
            service.request(checked=True),
            service.request(limits="governed"),
        ]
        outcomes = [await service.client.compile(request) for request in requests]
        assert len({outcome.artifact_key for outcome in outcomes if isinstance(outcome, Compiled)}) == 4


async def test_a_refusal_names_pointer_and_keyword_and_is_remembered(tmp_path: Path) -> None:
    async with running_pool(tmp_path) as service:
        request = service.request('{"properties":{"a":{"uniqueItems":true}}}')
        outcomes = [await service.client.compile(request) for _ in range(2)]
        for outcome in outcomes:
            assert isinstance(outcome, Rejected)
            rejection = outcome.rejections[0]
            assert (rejection.code, rejection.pointer) == ("unsupported_keyword", "/properties/a/uniqueItems")
        assert await service.metric('schemagate_compile_requests_total{cache="hit",outcome="rejected"}') == 1
        costs = [outcome.cost.cpu_ms for outcome in outcomes if isinstance(outcome, Rejected) and outcome.cost]
        assert costs[0] > 0
        assert costs[1:] == [0]
        checked = await service.client.compile(service.request(request.canonical_text, checked=True))
        assert isinstance(checked, Compiled)
        assert {"/properties/a/uniqueItems": "checked_after"}.items() <= {
            entry.pointer: entry.status for entry in checked.report
        }.items()


async def test_many_at_once_for_one_contract_cost_one_compile(tmp_path: Path) -> None:
    async with running_pool(tmp_path) as service:
        outcomes = await asyncio.gather(*(service.client.compile(service.request()) for _ in range(16)))
        assert len({outcome.frame for outcome in outcomes if isinstance(outcome, Compiled)}) == 1
        assert await service.metric("schemagate_compile_queue_seconds_count") == 1
        paid = [outcome.cache for outcome in outcomes if isinstance(outcome, Compiled) and outcome.cost.cpu_ms > 0]
        assert paid == ["miss"]


async def test_many_contracts_at_once_are_each_their_own(tmp_path: Path) -> None:
    async with running_pool(tmp_path) as service:
        texts = [f'{{"const":{at}}}' for at in range(24)]
        outcomes = await asyncio.gather(*(service.client.compile(service.request(text)) for text in texts))
        for at, outcome in enumerate(outcomes):
            assert isinstance(outcome, Compiled)
            artifact = open_frame(base64.b64decode(outcome.frame), KeyRing.from_text(KEYS))
            assert f'"{at}"' in artifact.grammar


_HOSTILE = {
    "deep chain": '{"$ref":"#/$defs/d0","$defs":{'
    + ",".join(f'"d{at}":{{"items":{{"$ref":"#/$defs/d{at + 1}"}}}}' for at in range(4000))
    + ',"d4000":{}}}',
    "towers of anyOf": '{"anyOf":[' * 150 + "{}" + "]}" * 150,
    "nested repeats": '{"type":"string","pattern":"^((((a{1,90}){1,90}){1,90}){1,90}b){1,90}$"}',
    "wide alternation": '{"enum":[' + ",".join(f'{{"k{at}":[{at}]}}' for at in range(4000)) + "]}",
    "products": '{"allOf":['
    + ",".join('{"anyOf":[' + ",".join(f'{{"required":["a{i}b{j}"]}}' for j in range(6)) + "]}" for i in range(8))
    + "]}",
    "many patterns": '{"allOf":[' + ",".join(f'{{"pattern":"[a-f]{{3}}.*{at}.*x"}}' for at in range(60)) + "]}",
}


async def test_hostile_contracts_each_end_in_a_verdict_while_others_are_served(tmp_path: Path) -> None:
    async with running_pool(tmp_path) as service:
        hostile = {
            name: asyncio.ensure_future(service.client.compile(service.request(text)))
            for name, text in _HOSTILE.items()
        }
        for at in range(12):
            outcome = await service.client.compile(service.request(f'{{"const":"served {at}"}}'))
            assert isinstance(outcome, Compiled)
        for name, task in hostile.items():
            outcome = await task
            assert isinstance(outcome, Rejected | TimedOut | Crashed | Compiled), name
        await until_ready(service.url, service.http)
        assert len(service.workers()) == 2


async def test_a_flood_costs_another_tenant_neither_an_answer_nor_a_place_in_the_line(tmp_path: Path) -> None:
    async with running_pool(tmp_path, SCHEMAGATE_POOL_MAX_QUEUED="16") as service:
        texts = [SLOW.replace("]}", f',{{"const":{number}}}]}}') for number in range(40)]
        flood = [
            asyncio.ensure_future(service.client.compile(service.request(text, partition="hostile", seconds=20)))
            for text in texts
        ]
        await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)  # the line is full: some were turned away
        for at in range(12):
            outcome = await service.client.compile(service.request(f'{{"const":"served {at}"}}', partition="quiet"))
            assert isinstance(outcome, Compiled)
            assert sum(task.done() for task in flood) < len(flood)
        busy = [task.result() for task in flood if task.done() and isinstance(task.result(), Busy)]
        assert len(busy) >= 10
        assert all(0 < outcome.retry_after_seconds <= 60 for outcome in busy if isinstance(outcome, Busy))
        for task in flood:
            task.cancel()
        await asyncio.gather(*flood, return_exceptions=True)


async def test_a_killed_worker_costs_one_answer_and_readiness_says_so(tmp_path: Path) -> None:
    async with running_pool(tmp_path, num_workers=1) as service:
        service.workers()[0].kill()
        assert isinstance(await service.client.compile(service.request()), Compiled | Crashed)
        assert isinstance(await service.client.compile(service.request('{"const":2}')), Compiled)
        await until_ready(service.url, service.http)


async def test_a_wrong_digest_an_unknown_tokenizer_and_a_malformed_body_are_faults_of_the_request(
    tmp_path: Path,
) -> None:
    async with running_pool(tmp_path, num_workers=1, SCHEMAGATE_POOL_MAX_BODY_BYTES="4096") as service:
        good = service.request().model_dump()

        async def post(body: dict[str, Any] | bytes) -> tuple[int, str]:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            response = await service.http.post(f"{service.url}/v1/compile", content=content)
            return response.status_code, response.json()["code"]

        assert await post(good | {"contract_digest": "sha256:" + "0" * 64}) == (400, "digest_mismatch")
        assert await post(good | {"tokenizer_digest": "sha256:x"}) == (400, "unknown_tokenizer")
        assert await post(good | {"surprise": 1}) == (400, "malformed_request")
        assert await post(good | {"deadline_seconds": 0}) == (400, "malformed_request")
        assert await post(b"{") == (400, "malformed_request")
        assert await post(b"[" * 4000) == (400, "malformed_request")
        assert await post(b"x" * 5000) == (413, "body_too_large")
        with pytest.raises(PoolUnavailableError, match="unknown_tokenizer"):
            await service.client.compile(CompileRequest(**good | {"tokenizer_digest": "sha256:x"}))


async def test_uses_are_counted_and_nonsense_is_refused(tmp_path: Path) -> None:
    async with running_pool(tmp_path, num_workers=1) as service:
        compiled = await service.client.compile(service.request())
        assert isinstance(compiled, Compiled)
        await service.client.report_uses(UsesReport(uses={compiled.artifact_key: 3, "0" * 64: 1}))
        bodies = ["", "{}", '{"uses":{"x":1}}', '{"uses":{"' + "0" * 64 + '":0}}', '{"uses":[]}']
        many = {f"{at:064x}": 1 for at in range(1001)}
        for body in [*bodies, json.dumps({"uses": many})]:
            answer = await service.http.post(f"{service.url}/v1/uses", content=body)
            assert (answer.status_code, answer.json()["code"]) == (400, "malformed_request")


async def test_a_kind_that_nobody_knows_is_rejected(tmp_path: Path) -> None:
    async with running_pool(tmp_path, num_workers=1) as service:
        request = service.request().model_copy(update={"kind": "poem"})
        outcome = await service.client.compile(request)
        assert isinstance(outcome, Rejected)
        assert outcome.rejections[0].code == "unsupported_kind"


async def test_a_caller_who_leaves_frees_the_worker(tmp_path: Path) -> None:
    async with running_pool(tmp_path, num_workers=1) as service:
        worker = service.workers()[0]
        text = '{"allOf":[' + ",".join(f'{{"pattern":"[a-f]{{3,60}}.*{at}.*x"}}' for at in range(40)) + "]}"
        leaving = asyncio.ensure_future(service.client.compile(service.request(text, limits="none")))
        await asyncio.sleep(0.3)
        if leaving.done():
            pytest.fail("the contract was meant to take long")
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        psutil.wait_procs([worker], timeout=20)
        assert not worker.is_running()
        assert isinstance(await service.client.compile(service.request()), Compiled)


async def test_a_full_line_is_busy_with_a_time_to_come_back(tmp_path: Path) -> None:
    async with running_pool(tmp_path, num_workers=1, SCHEMAGATE_POOL_MAX_QUEUED="0") as service:
        text = '{"allOf":[' + ",".join(f'{{"pattern":"[a-f]{{3,60}}.*{at}.*x"}}' for at in range(40)) + "]}"
        slow = asyncio.ensure_future(service.client.compile(service.request(text, limits="none")))
        await asyncio.sleep(0.2)
        outcome = await service.client.compile(service.request())
        assert isinstance(outcome, Busy)
        assert outcome.retry_after_seconds > 0
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)


async def test_governed_contracts_come_first_and_what_nobody_waits_for_comes_last(tmp_path: Path) -> None:
    async with running_pool(tmp_path, num_workers=1) as service:
        ended: list[str] = []

        async def ask(name: str, **wishes: Any) -> None:
            await service.client.compile(service.request(f'{{"const":"{name}"}}', **wishes))
            ended.append(name)

        async def wait_for(urgency: str, number: int) -> None:
            for _ in range(2000):
                if await service.metric(f'schemagate_compile_waiting{{urgency="{urgency}"}}') == number:
                    return
                await asyncio.sleep(0.01)
            pytest.fail(f"never {number} of {urgency}")

        slow = asyncio.ensure_future(service.client.compile(service.request(SLOW, limits="none", partition="slow")))
        idle = [ask(f"idle {number}", urgency="precompile", limits="governed") for number in range(2)]
        asked = [asyncio.ensure_future(each) for each in idle]
        await wait_for("precompile", 2)
        tenants = [ask(f"tenant {number}", partition="tenant") for number in range(4)]
        asked += [asyncio.ensure_future(each) for each in tenants]
        await wait_for("tenant", 4)
        # Somebody comes to wait for what was nobody's: the same contract, under the same address.
        urgent = [ask("governed", limits="governed", partition="governed"), ask("idle 1", limits="governed")]
        asked += [asyncio.ensure_future(each) for each in urgent]
        await wait_for("governed", 2)
        assert await service.metric('schemagate_compile_waiting{urgency="precompile"}') == 1
        slow.cancel()
        await asyncio.gather(slow, *asked, return_exceptions=True)
        assert ended.index("governed") < ended.index("tenant 1")
        assert ended.index("idle 1") < ended.index("tenant 3")
        assert ended.count("idle 1") == 2
        assert ended[-1] == "idle 0"


async def test_a_short_deadline_is_kept(tmp_path: Path) -> None:
    async with running_pool(tmp_path, num_workers=1) as service:
        text = '{"allOf":[' + ",".join(f'{{"pattern":"[a-f]{{3,60}}.*{at}.*x"}}' for at in range(40)) + "]}"
        outcome = await service.client.compile(service.request(text, limits="none", seconds=0.3))
        assert isinstance(outcome, Busy)  # the deadline is the caller's, and says nothing of the contract
        assert 0 < outcome.spent_seconds <= 0.3
        assert isinstance(await service.client.compile(service.request()), Compiled)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
async def test_no_worker_outlives_the_service(tmp_path: Path, number: signal.Signals) -> None:
    async with running_pool(tmp_path) as service:
        workers = service.workers()
        service.process.send_signal(number)
        await asyncio.wait_for(service.process.wait(), 20)
        _, alive = await asyncio.to_thread(psutil.wait_procs, workers, timeout=10)
        assert alive == []


async def test_a_pool_that_is_not_there_is_unavailable() -> None:
    async with httpx.AsyncClient() as http:
        client = PoolClient(f"http://127.0.0.1:{free_port()}", http)
        with pytest.raises(PoolUnavailableError):
            await client.identity()


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("SCHEMAGATE_POOL_TOKENIZERS", "SCHEMAGATE_POOL_TOKENIZERS"),
        ("SCHEMAGATE_ARTIFACT_KEYS", "SCHEMAGATE_ARTIFACT_KEYS"),
    ],
)
async def test_a_setting_without_default_is_asked_for_by_name(missing: str, named: str) -> None:
    environment = os.environ | {"SCHEMAGATE_POOL_TOKENIZERS": "x", "SCHEMAGATE_ARTIFACT_KEYS": KEYS}
    del environment[missing]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "compiler_pool", env=environment, stderr=asyncio.subprocess.PIPE
    )
    _, stderr = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 2
    assert named in stderr.decode()


async def test_a_redis_url_that_cannot_be_used_is_named_and_not_repeated() -> None:
    environment = os.environ | {
        "SCHEMAGATE_POOL_TOKENIZERS": "x",
        "SCHEMAGATE_ARTIFACT_KEYS": KEYS,
        "SCHEMAGATE_REDIS_URL": "redis://user:hunter2@host/0?nonsense=1",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "compiler_pool", env=environment, stderr=asyncio.subprocess.PIPE
    )
    _, stderr = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 2
    assert "SCHEMAGATE_REDIS_URL" in stderr.decode()
    assert "hunter2" not in stderr.decode()


async def test_tokenizers_that_do_not_load_keep_the_pool_from_being_ready(tmp_path: Path) -> None:
    port = free_port()
    environment = os.environ | {
        "SCHEMAGATE_POOL_TOKENIZERS": str(tmp_path / "nothing.json"),
        "SCHEMAGATE_ARTIFACT_KEYS": KEYS,
        "SCHEMAGATE_POOL_PORT": str(port),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "compiler_pool", env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with httpx.AsyncClient() as http:
            deadline = time.monotonic() + 60
            reasons = ""
            while "TokenizerError" not in reasons and time.monotonic() < deadline:
                try:
                    response = await http.get(f"http://127.0.0.1:{port}/readyz")
                    assert response.status_code == 503
                    reasons = str(response.json()["reasons"])
                    assert (await http.get(f"http://127.0.0.1:{port}/healthz")).status_code == 200
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.05)
            assert "TokenizerError" in reasons
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 20)
