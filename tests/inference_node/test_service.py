import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from compiler_pool.frame import KeyRing, seal
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.app import FAULT_STATUSES, create_app
from inference_node.client import NodeClient
from inference_node.errors import NodeFaultError, NodeUnavailableError
from inference_node.node import Node
from inference_node.protocol import (
    ChatMessage,
    Finish,
    GenerateEvent,
    GenerateRequest,
    NodeFault,
    Sampling,
    Started,
    TokenEvent,
)
from inference_node.settings import NodeSettings
from tests.inference_node.worlds import DEADLINE_SECONDS, eventually, new_artifact, tiny_config, write_model

KEYS = "test:" + "5e" * 32
RING = KeyRing.from_text(KEYS)
OBJECT = 'start: "{\\"a\\":" /[0-9]{1,4}/ "}"'
ENDLESS = "start: /[a-z]{400}/"


@contextmanager
def serving(directory: Path, **changes: Any) -> Iterator[tuple[str, Node]]:
    """A node on a port of its own, ready."""
    node = Node(NodeSettings(artifact_keys=KEYS, model_dir=directory, dtype="float32", **changes))
    server = uvicorn.Server(
        uvicorn.Config(create_app(node), host="127.0.0.1", port=0, log_config=None, timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        eventually(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        eventually(lambda: node.not_ready_reason != "the model is loading")
        yield f"http://127.0.0.1:{port}", node
    finally:
        node.stop()
        server.should_exit = True
        thread.join(DEADLINE_SECONDS)
        assert not thread.is_alive()


@asynccontextmanager
async def client_of(base_url: str) -> AsyncIterator[NodeClient]:
    async with httpx.AsyncClient(timeout=DEADLINE_SECONDS) as http:
        yield NodeClient(base_url, http)


def request(**changes: Any) -> GenerateRequest:
    members: dict[str, Any] = {
        "request_id": "r",
        "messages": [ChatMessage(role="user", content="Hi")],
        "artifact_key": None,
        "sampling": Sampling(temperature=0.0, seed=1),
        "max_tokens": 8,
    }
    return GenerateRequest(**(members | changes))


async def collect(client: NodeClient, ask: GenerateRequest) -> list[GenerateEvent]:
    async with client.generate(ask) as events:
        return [event async for event in events]


async def store(client: NodeClient, tokenizer: BoundTokenizer, grammar: str) -> str:
    artifact = new_artifact(tokenizer.digest, grammar)
    await client.put_artifact(artifact.key, seal(artifact, RING))
    return artifact.key


@pytest.fixture(scope="module")
def node_url(tiny_directory: Path) -> Iterator[str]:
    with serving(tiny_directory) as (base_url, _):
        yield base_url


async def test_a_node_says_who_it_is(node_url: str, tokenizer: BoundTokenizer) -> None:
    async with client_of(node_url) as client:
        identity = await client.identity()
    assert identity.model == "tiny"
    assert identity.tokenizer_digest == tokenizer.digest
    assert identity.chat_template_digest.startswith("sha256:")
    assert (identity.engine, identity.device, identity.dtype) == ("torch", "cpu", "float32")
    assert (identity.context_tokens, identity.max_sequences, identity.vocabulary_size) == (512, 8, 49152)


async def test_a_stream_is_started_tokens_and_one_finish(node_url: str) -> None:
    async with client_of(node_url) as client:
        first, *tokens, last = await collect(client, request())
    assert isinstance(first, Started)
    assert first.prompt_tokens > 5
    assert isinstance(last, Finish)
    assert last.stop_cause in {"max_tokens", "end_of_sequence"}
    assert all(isinstance(event, TokenEvent) for event in tokens)
    assert sum(len(event.token_ids) for event in tokens if isinstance(event, TokenEvent)) == 8
    assert last.usage.completion_tokens == 8
    assert last.timings.decode_seconds > 0


async def test_an_unknown_artifact_is_asked_for_and_then_decoded_under(
    node_url: str, tokenizer: BoundTokenizer
) -> None:
    artifact = new_artifact(tokenizer.digest, OBJECT)
    async with client_of(node_url) as client:
        with pytest.raises(NodeFaultError) as caught:
            await collect(client, request(artifact_key=artifact.key))
        assert (caught.value.status, caught.value.fault.code) == (409, "artifact_required")
        first = await client.put_artifact(artifact.key, seal(artifact, RING))
        again = await client.put_artifact(artifact.key, seal(artifact, RING))
        assert (first.already_present, again.already_present) == (False, True)
        events = await collect(client, request(artifact_key=artifact.key, max_tokens=64))
    text = "".join(event.text for event in events if isinstance(event, TokenEvent))
    assert isinstance(json.loads(text)["a"], int)
    assert isinstance(events[-1], Finish)
    assert (events[-1].stop_cause, events[-1].accepting) == ("grammar_end", True)


async def test_artifacts_that_are_not_for_this_node_are_refused_by_name(
    node_url: str, tokenizer: BoundTokenizer
) -> None:
    good = new_artifact(tokenizer.digest, OBJECT, lowering_version="refused")
    forged = KeyRing.from_text("test:" + "00" * 32)
    elsewhere = new_artifact("sha256:" + "1" * 64, OBJECT)
    older = new_artifact(tokenizer.digest, OBJECT, engine_version="1.7.6")
    broken = new_artifact(tokenizer.digest, "start: nothing", lowering_version="broken")
    frame = seal(good, RING)
    cases = [
        (good.key, seal(good, forged), 400, "invalid_frame"),
        (good.key, frame[:-1], 400, "invalid_frame"),
        (good.key, bytes([*frame[:40], frame[40] ^ 1, *frame[41:]]), 400, "invalid_frame"),
        (good.key, b"", 400, "invalid_frame"),
        ("0" * 64, frame, 400, "artifact_key_mismatch"),
        (elsewhere.key, seal(elsewhere, RING), 409, "tokenizer_mismatch"),
        (older.key, seal(older, RING), 422, "artifact_failed"),
        (broken.key, seal(broken, RING), 422, "artifact_failed"),
    ]
    async with client_of(node_url) as client:
        for key, data, status, code in cases:
            with pytest.raises(NodeFaultError) as caught:
                await client.put_artifact(key, data)
            assert (caught.value.status, caught.value.fault.code) == (status, code)
        with pytest.raises(NodeFaultError) as required:
            await collect(client, request(artifact_key=good.key))
        assert required.value.fault.code == "artifact_required"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"request_id": "a"}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        json.dumps({"request_id": "r", "messages": [], "artifact_key": None, "sampling": {"seed": 1}}).encode(),
        request().model_dump_json().replace('"seed":1', '"seed":-1').encode(),
        request().model_dump_json().replace('"stop":[]', '"stop":[""]').encode(),
        request().model_dump_json().replace('"stop":[]', '"stop":["' + "x" * 300 + '"]').encode(),
        request().model_dump_json().replace('"stop":[]', '"stop":["a","b","c","d","e"]').encode(),
        request().model_dump_json().replace('"stop":[]', '"guided_json":{}').encode(),
        request().model_dump_json().replace('"max_tokens":8', '"max_tokens":0').encode(),
        request().model_dump_json().replace('"temperature":0.0', '"temperature":NaN').encode(),
    ],
)
async def test_a_malformed_request_is_refused_by_name(body: bytes, node_url: str) -> None:
    async with httpx.AsyncClient() as http:
        response = await http.post(f"{node_url}/v1/generate", content=body)
    assert response.status_code == 400
    assert NodeFault.model_validate_json(response.content).code == "malformed_request"


async def test_a_body_over_the_limit_is_refused_before_it_is_read(node_url: str) -> None:
    async with httpx.AsyncClient() as http:
        response = await http.post(f"{node_url}/v1/generate", content=b" " * (1 << 20) + b" ")
    assert response.status_code == 413
    assert NodeFault.model_validate_json(response.content).code == "body_too_large"


async def test_a_prompt_over_the_context_is_refused_with_both_numbers(node_url: str) -> None:
    async with client_of(node_url) as client:
        with pytest.raises(NodeFaultError) as caught:
            await collect(client, request(messages=[ChatMessage(role="user", content="one two " * 400)]))
    fault = caught.value.fault
    assert (caught.value.status, fault.code, fault.limit) == (400, "context_length_exceeded", 511)
    assert fault.observed is not None
    assert fault.observed > 800


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


async def test_streams_that_nobody_reads_are_bounded(tiny_directory: Path) -> None:
    with serving(tiny_directory, max_sequences=1, max_waiting=0, max_unread_streams=0) as (base_url, node):
        node._num_open = 1
        async with client_of(base_url) as client:
            with pytest.raises(NodeFaultError) as caught:
                await collect(client, request())
        assert caught.value.fault.code == "overloaded"
        node._num_open = 0


async def test_metrics_tell_what_was_done(node_url: str) -> None:
    async with client_of(node_url) as client:
        await collect(client, request())
    async with httpx.AsyncClient() as http:
        text = (await http.get(f"{node_url}/metrics")).text
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(samples["schemagate_node_ready"]) == 1
    assert float(samples["schemagate_node_kv_capacity_tokens"]) == 8 * 512
    assert float(samples["schemagate_node_completion_tokens_total"]) >= 8
    assert float(samples["schemagate_node_step_duration_seconds_count"]) >= 8
    assert all(name.startswith("schemagate_") for name in samples)


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

        node._engine.loop._forward = die  # type: ignore[assignment]
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


def test_every_fault_has_a_status() -> None:
    codes = NodeFault.model_fields["code"].annotation
    assert set(FAULT_STATUSES) == set(codes.__args__)  # type: ignore[union-attr]


async def test_a_stream_that_breaks_off_is_unavailable_and_not_a_finish() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b'{"event":"started","prompt_tokens":3}\n')

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = NodeClient("http://node", http)
        with pytest.raises(NodeUnavailableError, match="without its finish"):
            await collect(client, request())


@pytest.mark.parametrize(
    "content", [b"not json\n", b'{"event":"finish"}\n', b'{"event":"other"}\n', b"x" * (1 << 20) + b"x"]
)
async def test_an_unreadable_stream_is_unavailable(content: bytes) -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, content=content))) as http:
        with pytest.raises(NodeUnavailableError):
            await collect(NodeClient("http://node", http), request())


@pytest.mark.parametrize("status", [200, 400, 404, 500])
async def test_an_answer_that_is_not_a_nodes_is_unavailable(status: int) -> None:
    async with httpx.AsyncClient(
        transport=httpx.MockTransport(lambda _: httpx.Response(status, content=b"<html>"))
    ) as http:
        with pytest.raises(NodeUnavailableError):
            await NodeClient("http://node", http).identity()


async def test_a_node_that_is_not_there_is_unavailable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    async with client_of(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(NodeUnavailableError, match="ConnectError"):
            await client.identity()
        with pytest.raises(NodeUnavailableError):
            await collect(client, request())


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
