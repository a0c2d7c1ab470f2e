import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.app import create_app
from inference_node.client import NodeClient
from inference_node.errors import NodeFaultError, NodeUnavailableError
from inference_node.node import Node
from inference_node.protocol import (
    Finish,
    GenerateEvent,
    Started,
    TokenEvent,
)
from inference_node.settings import NodeSettings
from tests.inference_node.model_worlds import tiny_config, write_model
from tests.inference_node.service_worlds import ENDLESS, KEYS, client_of, collect, request, serving, store
from tests.inference_node.worlds import DEADLINE_SECONDS, eventually


async def test_a_client_that_leaves_frees_its_place(tiny_directory: Path, tokenizer: BoundTokenizer) -> None:
    with serving(tiny_directory, max_sequences=1) as (base_url, node):
        async with client_of(base_url) as client:
            key = await store(client, tokenizer, ENDLESS)
            async with client.generate(request(artifact_key=key, max_tokens=None)) as events:
                async for event in events:
                    if isinstance(event, TokenEvent):
                        break
            # The only place is free again, or this would never end.
            assert isinstance((await collect(client, request()))[-1], Finish)
        eventually(lambda: node._num_open == 0)
        rendered = node.metrics.render().decode()
    assert 'schemagate_node_finished_sequences_total{stop_cause="cancelled"} 1.0' in rendered


async def test_a_full_node_answers_overloaded_with_a_time_to_come_back(
    tiny_directory: Path, tokenizer: BoundTokenizer
) -> None:
    with serving(tiny_directory, max_sequences=1, max_waiting=0, context_tokens=400) as (base_url, _):
        async with client_of(base_url) as client:
            key = await store(client, tokenizer, ENDLESS)
            async with client.generate(request(artifact_key=key, max_tokens=None)) as events:
                async for event in events:
                    if isinstance(event, TokenEvent):
                        break
                with pytest.raises(NodeFaultError) as caught:
                    await collect(client, request())
    assert (caught.value.status, caught.value.fault.code) == (503, "overloaded")
    assert caught.value.retry_after_seconds == 1.0


async def test_a_reader_that_reads_nothing_holds_up_nobody(tiny_directory: Path, tokenizer: BoundTokenizer) -> None:
    with serving(tiny_directory, max_sequences=2) as (base_url, node):
        async with client_of(base_url) as client:
            key = await store(client, tokenizer, ENDLESS)
            host, port = base_url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port))) as silent:
                silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
                body = request(artifact_key=key, max_tokens=None).model_dump_json().encode()
                silent.sendall(
                    b"POST /v1/generate HTTP/1.1\r\nHost: node\r\nContent-Length: %d\r\n\r\n" % len(body) + body
                )
                for _ in range(3):
                    events = await collect(client, request())
                    assert isinstance(events[-1], Finish)
                # Its sequence came to its end though nothing was read.
                await asyncio.to_thread(
                    eventually, lambda: 'stop_cause="grammar_end"} 1.0' in node.metrics.render().decode()
                )
            eventually(lambda: node._num_open == 0)


def test_the_loop_alone_computes_on_several_threads(tiny_directory: Path) -> None:
    with serving(tiny_directory, num_threads=3) as (_, node):
        assert node._engine is not None
        assert node._engine.loop.between_steps(torch.get_num_threads).result(DEADLINE_SECONDS) == 3
        with ThreadPoolExecutor(1) as others:
            assert others.submit(torch.get_num_threads).result() == 1


async def test_streams_that_nobody_reads_are_bounded(tiny_directory: Path) -> None:
    with serving(tiny_directory, max_sequences=1, max_waiting=0, max_unread_streams=0) as (base_url, node):
        node._num_open = 1
        async with client_of(base_url) as client:
            with pytest.raises(NodeFaultError) as caught:
                await collect(client, request())
        assert caught.value.fault.code == "overloaded"
        node._num_open = 0


async def test_a_node_that_is_loading_is_alive_and_not_ready(tiny_directory: Path) -> None:
    node = Node(NodeSettings(artifact_keys=KEYS, model_dir=tiny_directory))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(create_app(node)), base_url="http://node"
    ) as http:  # this transport starts no lifespan, so that loading never begins
        assert (await http.get("/healthz")).status_code == 200
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()["reasons"]) == (503, ["the model is loading"])
        with pytest.raises(NodeFaultError) as caught:
            await NodeClient("http://node", http).identity()
    assert (caught.value.status, caught.value.fault.code) == (503, "not_ready")


async def test_a_model_that_cannot_be_used_leaves_the_node_unready_with_the_reason(
    model_directory: Path, tmp_path: Path
) -> None:
    directory = write_model(tmp_path / "model", model_directory, tiny_config())
    config = tiny_config(rope_scaling={"rope_type": "yarn", "factor": 2.0})
    (directory / "config.json").write_text(json.dumps(config))
    with serving(directory) as (base_url, _):
        async with httpx.AsyncClient() as http:
            ready = await http.get(f"{base_url}/readyz")
    assert ready.status_code == 503
    assert "rope_type is 'yarn'" in ready.json()["reasons"][0]


async def test_an_engine_that_died_makes_the_node_unready(tiny_directory: Path) -> None:
    with serving(tiny_directory) as (base_url, node):
        assert node._engine is not None

        def die(*_: object) -> None:
            raise KeyboardInterrupt("stray")

        node._engine.loop._stepping._runner.forward = die  # type: ignore[assignment]
        async with client_of(base_url) as client:
            last = (await collect(client, request()))[-1]
            assert isinstance(last, Finish)
            assert last.stop_cause == "engine_failed"
            eventually(lambda: node.not_ready_reason is not None)
            with pytest.raises(NodeFaultError) as caught:
                await collect(client, request())
            assert caught.value.fault.code == "not_ready"
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"{base_url}/readyz")).status_code == 503


async def test_sigterm_ends_streams_as_cancelled_and_the_process(
    tiny_directory: Path, tokenizer: BoundTokenizer, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "SCHEMAGATE_ARTIFACT_KEYS": KEYS,
        "SCHEMAGATE_NODE_MODEL_DIR": str(tiny_directory),
        "SCHEMAGATE_NODE_PORT": str(port),
    }
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.to_thread(
            subprocess.Popen, [sys.executable, "-m", "inference_node"], env=environment, stderr=log
        )
    try:
        async with client_of(f"http://127.0.0.1:{port}") as client:
            await _until_ready(client, process)
            key = await store(client, tokenizer, ENDLESS)
            last: GenerateEvent | None = None
            async with client.generate(request(artifact_key=key, max_tokens=None)) as events:
                async for event in events:
                    if isinstance(event, TokenEvent) and isinstance(last, Started):
                        process.send_signal(signal.SIGTERM)
                    last = event
            assert isinstance(last, Finish)
            assert last.stop_cause in {"cancelled", "grammar_end"}
        assert await asyncio.to_thread(process.wait, 20) in {0, -signal.SIGTERM}
    finally:
        process.kill()
        process.wait()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert any(line["event"] == "ready" for line in lines)
    assert any("loading" in str(line.get("doing")) for line in lines)


def test_a_process_without_its_keys_says_which_setting_is_missing() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SCHEMAGATE_ARTIFACT_KEYS"}
    done = subprocess.run(
        [sys.executable, "-m", "inference_node"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "SCHEMAGATE_ARTIFACT_KEYS: Field required" in done.stderr


async def _until_ready(client: NodeClient, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            await client.identity()
        except (NodeUnavailableError, NodeFaultError):
            assert process.poll() is None, "the node ended by itself"
            assert time.monotonic() < deadline, "the node did not become ready"
            await asyncio.sleep(0.05)
        else:
            return
