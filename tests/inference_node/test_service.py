import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from compiler_pool.frame import KeyRing, seal
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.app import FAULT_STATUSES
from inference_node.errors import NodeFaultError
from inference_node.protocol import (
    ChatMessage,
    Finish,
    NodeFault,
    Started,
    TokenEvent,
)
from tests.inference_node.service_worlds import OBJECT, RING, client_of, collect, request, serving
from tests.inference_node.worlds import new_artifact


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


async def test_metrics_tell_what_was_done(node_url: str) -> None:
    async with client_of(node_url) as client:
        await collect(client, request())
    async with httpx.AsyncClient() as http:
        text = (await http.get(f"{node_url}/metrics")).text
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(samples["schemagate_node_ready"]) == 1
    # Eight sequences at full context, and as much again for prompts that come again.
    assert float(samples["schemagate_node_kv_capacity_tokens"]) == 2 * 8 * 512
    assert float(samples["schemagate_node_completion_tokens_total"]) >= 8
    assert float(samples["schemagate_node_step_duration_seconds_count"]) >= 8
    assert all(name.startswith("schemagate_") for name in samples)


def test_every_fault_has_a_status() -> None:
    codes = NodeFault.model_fields["code"].annotation
    assert set(FAULT_STATUSES) == set(codes.__args__)  # type: ignore[union-attr]
