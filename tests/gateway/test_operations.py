"""What machines and operators see: probes, models, metrics, audit lines, spans, and a process that stops."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import structlog
import uvicorn
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway import telemetry
from gateway.__main__ import GatewayServer
from gateway.__main__ import main as serve_gateway
from gateway.budgets.memory_ledger import MemoryBudgetLedger
from gateway.stages import Stage
from inference_node.protocol import NodeFault
from tests.gateway.twins import (
    MODEL,
    PEPPER,
    JudgeHere,
    NodeTwin,
    PoolTwin,
    chat,
    gateway_with,
    says,
    strict,
    until,
)

CHAT = "/v1/chat/completions"


async def test_models_are_what_live_nodes_serve(tmp_path: Path) -> None:
    node = NodeTwin()
    async with gateway_with(tmp_path, node=node) as world:
        models = (await world.client.get("/v1/models")).json()
        one = (await world.client.get(f"/v1/models/{MODEL}")).json()
        node.is_down = True

        async def is_gone() -> bool:
            return not (await world.client.get("/v1/models")).json()["data"]

        await until(is_gone)
    assert models["object"] == "list"
    assert models["data"] == [one]
    assert one["object"] == "model"
    assert one["schemagate"]["context_tokens"] == 2048


async def test_liveness_asks_nobody_and_readiness_tells_what_is_missing(tmp_path: Path) -> None:
    node, pool = NodeTwin(is_down=True), PoolTwin(is_down=True)
    async with gateway_with(tmp_path, node=node, pool=pool) as world:

        async def state() -> tuple[int, str]:
            response = await world.client.get("/readyz")
            return response.status_code, response.json()["status"]

        async def is_ready() -> bool:
            return await state() == (200, "ready")

        async def is_degraded() -> bool:
            return await state() == (200, "degraded")

        assert await state() == (503, "unavailable")
        assert (await world.client.get("/healthz")).json() == {"status": "ok"}
        node.is_down = pool.is_down = False
        await until(is_ready)
        pool.is_down = True
        await until(is_degraded)
        reasons = (await world.client.get("/readyz")).json()["reasons"]
    assert [reason.partition(":")[0] for reason in reasons] == ["compiler pool"]


async def test_a_gateway_without_a_judge_is_not_ready(tmp_path: Path) -> None:
    class Nobody(JudgeHere):
        num_ready = 0

    async with gateway_with(tmp_path, validator=Nobody()) as world:
        response = await world.client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["reasons"] == ["validator: no process is ready"]


async def test_metrics_count_by_class_stage_cache_and_verdict(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('"a"'))
    async with gateway_with(tmp_path, node=node) as world:
        for _ in range(2):
            await world.client.post(CHAT, json=strict({"type": "string"}))
        await world.client.post(CHAT, json=strict({"maxLenght": 1}))
        await world.client.get("/nowhere")
        text = (await world.client.get("/metrics")).text
    for line in (
        'schemagate_gateway_requests_total{completion="complete",route="chat_completions",status="200"} 2.0',
        'schemagate_gateway_requests_total{completion="none",route="chat_completions",status="400"} 1.0',
        'schemagate_gateway_requests_total{completion="none",route="unknown",status="404"} 1.0',
        'schemagate_gateway_artifact_cache_total{result="hit",tier="l1"} 1.0',
        'schemagate_gateway_artifact_cache_total{result="miss",tier="pool"} 1.0',
        'schemagate_gateway_compile_outcomes_total{outcome="compiled"} 1.0',
        'schemagate_gateway_contract_refusals_total{code="unknown_keyword"} 1.0',
        'schemagate_gateway_validations_total{verdict="valid"} 2.0',
        'schemagate_gateway_tokens_total{kind="prompt"} 10.0',
        'schemagate_gateway_tokens_total{kind="completion"} 2.0',
        'schemagate_gateway_nodes{state="live"} 1.0',
        "schemagate_gateway_pool_live 1.0",
    ):
        assert line in text, line
    for stage in Stage:
        assert f'schemagate_gateway_stage_duration_seconds_count{{stage="{stage}"}}' in text
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in samples if re.search(r"tenant|local|sg_|sha256", line)]


async def test_the_audit_line_names_who_and_what_and_holds_no_content(tmp_path: Path) -> None:
    node = NodeTwin(script=lambda _: says('"the secret answer"'))
    async with gateway_with(tmp_path, node=node) as world:
        with structlog.testing.capture_logs() as lines:
            body = strict({"type": "string", "description": "a secret schema"})
            body["messages"] = [{"role": "user", "content": "a secret prompt"}]
            response = await world.client.post(CHAT, json=body)
            await world.client.get("/healthz")
        key = world.key
    audit = [line for line in lines if line["event"] == "request"]
    assert len(audit) == 1
    line: dict[str, Any] = dict(audit[0])
    assert line["request_id"] == response.headers["x-request-id"]
    assert (line["tenant"], line["key_id"], line["completion"]) == ("local", key.split("_")[1], "complete")
    assert line["contract_digest"] == response.json()["schemagate"]["contract"]["digest"]
    assert "secret" not in str(lines)
    assert key not in str(lines)


async def test_a_bug_is_500_with_an_id_and_no_detail(tmp_path: Path) -> None:
    class Explodes(JudgeHere):
        async def validate(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("internal detail")

    async with gateway_with(tmp_path, node=NodeTwin(script=lambda _: says('"a"')), validator=Explodes()) as world:
        whole = await world.client.post(CHAT, json=strict({"type": "string"}))
        streamed = await world.client.post(CHAT, json=strict({"type": "string"}, stream=True))
    error = whole.json()["error"]
    assert (whole.status_code, error["code"], error["request_id"]) == (
        500,
        "internal_error",
        whole.headers["x-request-id"],
    )
    assert streamed.text.endswith("data: [DONE]\n\n")
    assert '"code":"internal_error"' in streamed.text
    assert 'finish_reason":"stop' not in streamed.text
    assert "internal detail" not in whole.text + streamed.text


async def test_a_bug_in_what_the_framework_routes_is_told_in_the_same_words(tmp_path: Path) -> None:
    class Explodes(MemoryBudgetLedger):
        async def standings(self, *_: Any) -> Any:
            raise RuntimeError("internal detail")

    async with gateway_with(tmp_path, ledger=Explodes()) as world:
        answer = await world.client.get("/v1/usage")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/json")
    error = answer.json()["error"]
    assert (error["code"], error["request_id"]) == ("internal_error", answer.headers["x-request-id"])
    assert "internal detail" not in answer.text


async def test_a_span_speaks_the_genai_conventions_and_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", trace.get_tracer("test", tracer_provider=provider))
    node = NodeTwin(script=lambda _: says('"a"'))
    async with gateway_with(tmp_path, node=node) as world:
        await world.client.post(CHAT, json=strict({"type": "string"}))
        body = {"name": "letter", "schema": {"type": "string"}}
        registered = await world.client.post("/v1/contracts", json=body)
        await world.client.post(CHAT, json=chat(contract="letter@1"))
        node.fault = NodeFault(code="overloaded", message="")
        await world.client.post(CHAT, json=chat())
    answered, _, named, failed = [
        dict(span.attributes or {}) | {"name": span.name} for span in exporter.get_finished_spans()
    ]
    assert answered["name"] == f"chat {MODEL}"
    assert answered["gen_ai.operation.name"] == "chat"
    assert answered["gen_ai.usage.output_tokens"] == 1
    assert answered["gen_ai.response.finish_reasons"] == ("stop",)
    assert answered["schemagate.completion.class"] == "complete"
    assert str(answered["schemagate.contract.digest"]).startswith("sha256:")
    assert "schemagate.contract.revision" not in answered
    assert named["schemagate.contract.revision"] == registered.json()["revision"]["id"]
    assert named["schemagate.contract.signature"] == "unsigned"
    assert failed["error.type"] == "backend_failed"
    provider.shutdown()


def test_the_process_says_which_setting_is_missing() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCHEMAGATE_")}
    done = subprocess.run(
        [sys.executable, "-m", "gateway"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert "SCHEMAGATE_GATEWAY_KEY_PEPPER: Field required" in done.stderr


def test_the_process_serves_without_its_neighbours_logs_json_and_stops_on_a_signal(tmp_path: Path) -> None:
    environment = os.environ | {
        "SCHEMAGATE_GATEWAY_PORT": "0",
        "SCHEMAGATE_GATEWAY_KEY_PEPPER": PEPPER,
        "SCHEMAGATE_GATEWAY_DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}",
        "SCHEMAGATE_GATEWAY_POOL_URL": "http://127.0.0.1:1",
        "SCHEMAGATE_GATEWAY_NODE_URLS": "http://127.0.0.1:1",
        "SCHEMAGATE_GATEWAY_NUM_VALIDATORS": "1",
    }
    with subprocess.Popen([sys.executable, "-m", "gateway"], env=environment, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        lines: list[dict[str, Any]] = []
        for line in run.stderr:
            lines.append(json.loads(line))
            if "Uvicorn running" in lines[-1]["event"]:
                run.send_signal(signal.SIGTERM)
        assert run.wait(30) in {0, -signal.SIGTERM}
    assert all("timestamp" in line for line in lines)
    assert not [line for line in lines if line["level"] == "error"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite+aiosqlite:////nowhere/at/all/gateway.db", "/nowhere/at/all is not a directory"),
        ("postgresql://nobody@127.0.0.1:1/none", "127.0.0.1"),
        ("mongodb://localhost", "mongodb"),
    ],
)
def test_the_process_says_in_one_line_that_its_database_cannot_be_used(url: str, said: str) -> None:
    environment = os.environ | {
        "SCHEMAGATE_GATEWAY_PORT": "0",
        "SCHEMAGATE_GATEWAY_KEY_PEPPER": PEPPER,
        "SCHEMAGATE_GATEWAY_DATABASE_URL": url,
    }
    done = subprocess.run(
        [sys.executable, "-m", "gateway"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("SCHEMAGATE_GATEWAY_DATABASE_URL: the database cannot be used: ")
    assert said in line


def test_what_was_imported_is_not_looked_through_for_garbage_while_it_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served: list[int] = []
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_KEY_PEPPER", PEPPER)
    monkeypatch.setenv("SCHEMAGATE_GATEWAY_DATABASE_URL", f"sqlite+aiosqlite:///{tmp_path / 'gateway.db'}")
    monkeypatch.setattr(uvicorn.Server, "run", lambda _: served.append(gc.get_freeze_count()))
    monkeypatch.setattr("gateway.__main__.made_from_settings", lambda make, prefix: make())
    before, thresholds = gc.get_freeze_count(), gc.get_threshold()
    try:
        serve_gateway()
        assert gc.get_threshold()[0] > thresholds[0]
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
    assert served[0] > before


async def test_what_was_opened_at_the_start_is_not_looked_through_either(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[list[int]] = []

    async def opening(_: uvicorn.Server, sockets: Any = None) -> None:
        assert sockets is None
        opened.extend([number] for number in range(10_000))

    monkeypatch.setattr(uvicorn.Server, "startup", opening)
    gc.freeze()
    before = gc.get_freeze_count()
    try:
        await GatewayServer(uvicorn.Config("nothing")).startup()
        # Of what was frozen before, some may have been let go since.
        assert gc.get_freeze_count() >= before + 9_000
    finally:
        gc.unfreeze()
