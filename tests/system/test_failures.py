"""Processes are killed in mid-request: the caller gets a typed failure, and the product heals."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.system.product import Product, running_product

pytestmark = pytest.mark.system

LONG: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Tell a long story."}],
    "response_format": {
        "type": "json_schema",
        "json_schema": {
            "name": "story",
            "strict": True,
            "schema": {
                "type": "array",
                "items": {"type": "string", "minLength": 40, "maxLength": 60},
                "minItems": 40,
                "maxItems": 40,
            },
        },
    },
    "max_tokens": 1500,
    "seed": 3,
}
SHORT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Yes or no?"}],
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": {"enum": ["yes", "no"]}},
    },
    "max_tokens": 20,
    "seed": 3,
}


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[Product]:
    """A product of one test's own, because it will be hurt."""
    with running_product(tmp_path) as product:
        yield product


def post(product: Product, body: dict[str, Any], *, seconds: float = 120.0) -> httpx.Response:
    model = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers, timeout=10).json()["data"][0]["id"]
    return httpx.post(
        f"{product.gateway_url}/v1/chat/completions",
        headers=product.headers,
        json={"model": model, **body},
        timeout=seconds,
    )


def completes(product: Product, body: dict[str, Any]) -> bool:
    answer = post(product, body)
    return answer.status_code == httpx.codes.OK and answer.json()["schemagate"]["completion"] == "complete"


def eventually_completes(product: Product, body: dict[str, Any], *, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if completes(product, body):
                return
        except (httpx.TransportError, KeyError, IndexError):
            pass
        time.sleep(0.25)
    raise AssertionError(f"no complete answer within {seconds} s after the process came back")


def stream_until_killed(product: Product, module: str) -> list[dict[str, Any]]:
    """Stream a long answer, kill `module` once text flows, and return every event that still came."""
    events: list[dict[str, Any]] = []
    model = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers, timeout=10).json()["data"][0]["id"]
    with httpx.stream(
        "POST",
        f"{product.gateway_url}/v1/chat/completions",
        headers=product.headers,
        json={"model": model, **LONG, "stream": True},
        timeout=120,
    ) as response:
        assert response.status_code == httpx.codes.OK, response.read()
        num_texts = 0
        for line in response.iter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            event = json.loads(line.removeprefix("data: "))
            events.append(event)
            num_texts += any(choice["delta"].get("content") for choice in event.get("choices", ()))
            if num_texts == 3:
                product.service(module).kill()
                num_texts += 1
    return events


def test_a_node_killed_in_mid_stream_is_a_typed_failure_and_comes_back(doomed: Product) -> None:
    events = stream_until_killed(doomed, "inference_node")
    errors = [event["error"] for event in events if "error" in event]
    assert [error["code"] for error in errors] == ["backend_failed"]
    assert not [event for event in events if event.get("schemagate", {}).get("completion") == "complete"]
    eventually_completes(doomed, SHORT)


def test_a_node_killed_in_mid_request_is_a_typed_failure(doomed: Product) -> None:
    answers: list[httpx.Response] = []
    caller = threading.Thread(target=lambda: answers.append(post(doomed, LONG)))
    caller.start()
    wait_for_running_sequence(doomed)
    doomed.service("inference_node").kill()
    caller.join(60)
    assert not caller.is_alive(), "the caller hangs"
    assert answers[0].status_code in {502, 503, 504}
    assert answers[0].json()["error"]["code"] == "backend_failed"
    assert answers[0].headers["x-schemagate-completion"] == "backend_failed"
    eventually_completes(doomed, SHORT)


def test_a_killed_pool_fails_cold_contracts_only_and_comes_back(doomed: Product) -> None:
    assert completes(doomed, SHORT)
    pool = doomed.service("compiler_pool")
    os.kill(pool.pid, signal.SIGSTOP)  # first it hangs, so that the supervisor cannot replace it at once
    try:
        assert completes(doomed, SHORT), "a warm contract needs no pool"
    finally:
        pool.kill()
    answer = post(doomed, LONG | {"max_tokens": 5})
    if answer.status_code != httpx.codes.OK:  # else the pool was back already
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.json()["error"]["code"] == "compiler_unavailable"
    cold = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"enum": ["cold", "warm"]}}}
    eventually_completes(doomed, SHORT | {"response_format": cold})


def test_a_killed_worker_costs_one_compile_and_the_next_succeeds(doomed: Product) -> None:
    workers = doomed.service("compiler_pool").children(recursive=True)
    assert workers
    for worker in workers:
        worker.kill()
    schema = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": {"enum": ["a", "b", "c"]}}}
    answer = post(doomed, SHORT | {"response_format": schema})
    assert answer.status_code in {200, 503}
    eventually_completes(doomed, SHORT | {"response_format": schema})


def test_a_stopped_node_is_a_typed_failure_not_a_hang(doomed: Product) -> None:
    """A frozen process answers nothing and closes nothing: only a timeout of ours can end the request."""
    assert completes(doomed, SHORT)
    node = doomed.service("inference_node")
    os.kill(node.pid, signal.SIGSTOP)
    try:
        answer = post(doomed, SHORT, seconds=200)
        assert answer.status_code in {503, 504}
        assert answer.json()["error"]["code"] == "backend_failed"
    finally:
        os.kill(node.pid, signal.SIGCONT)
    eventually_completes(doomed, SHORT)


def test_a_caller_who_goes_away_frees_the_sequence(product: Product) -> None:
    model = httpx.get(f"{product.gateway_url}/v1/models", headers=product.headers, timeout=10).json()["data"][0]["id"]
    with httpx.stream(
        "POST",
        f"{product.gateway_url}/v1/chat/completions",
        headers=product.headers,
        json={"model": model, **LONG, "stream": True},
        timeout=120,
    ) as response:
        lines = response.iter_lines()  # named: a dropped iterator closes the connection
        while '"content"' not in next(lines):
            pass
        wait_for_running_sequence(product)
    deadline = time.monotonic() + 30
    while running_sequences(product):
        assert time.monotonic() < deadline, "the sequence still runs"
        time.sleep(0.1)


def test_nothing_survives_a_supervisor_that_was_killed(tmp_path: Path) -> None:
    with running_product(tmp_path) as product:
        family = product.supervisor.children(recursive=True)
        assert len(family) >= 3
        product.supervisor.kill()
        _, alive = psutil.wait_procs(family, timeout=10)
        assert not alive


def running_sequences(product: Product) -> int:
    for line in httpx.get(f"{product.node_url}/metrics", timeout=10).text.splitlines():
        if line.startswith("schemagate_node_running_sequences "):
            return int(float(line.split()[1]))
    raise AssertionError("the node exports no schemagate_node_running_sequences")


def wait_for_running_sequence(product: Product) -> None:
    deadline = time.monotonic() + 60
    while not running_sequences(product):
        assert time.monotonic() < deadline
        time.sleep(0.05)
