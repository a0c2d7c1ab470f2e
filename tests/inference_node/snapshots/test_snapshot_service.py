"""Saving and restoring over HTTP, by the client that a gateway would use."""

import json
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from compiler_pool.frame import KeyRing, seal
from compiler_pool.tokenizer import BoundTokenizer
from inference_node.client import NodeClient
from inference_node.errors import NodeFaultError
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
from inference_node.snapshots.blob import Snapshot, opened, sealed
from tests.inference_node.model_worlds import tiny_config, write_model
from tests.inference_node.service_worlds import OBJECT, RING, client_of, collect, request, serving
from tests.inference_node.worlds import eventually, new_artifact

LETTERS = "start: /[a-z ]{2000}/"
LIMIT = 1 << 26


@pytest.fixture(scope="module")
def node_url(tiny_directory: Path) -> Iterator[str]:
    with serving(tiny_directory) as (base_url, _):
        yield base_url


@pytest.fixture(scope="module")
def other_url(tiny_directory: Path) -> Iterator[str]:
    """Another node of the same model, which has no artifacts."""
    with serving(tiny_directory, max_sequences=1, chunk_tokens=16) as (base_url, _):
        yield base_url


def long_request(**changes: Any) -> GenerateRequest:
    content = "Write about the sea, and the ships, and whatever lives below them. " * 2
    members: dict[str, Any] = {
        "messages": [ChatMessage(role="user", content=content)],
        "sampling": Sampling(temperature=1.0, seed=11),
        "max_tokens": 400,
    }
    return request(**(members | changes))


async def save_after(
    client: NodeClient, ask: GenerateRequest, num_tokens: int, keys_values: Any = "include"
) -> tuple[list[GenerateEvent], bytes]:
    """The events of a sequence that is saved once so many tokens have come, and what was saved."""
    events: list[GenerateEvent] = []
    data = b""
    async with client.generate(ask) as stream:
        async for event in stream:
            events.append(event)
            if not data and len(said(events)["token_ids"]) >= num_tokens:
                data = await client.save(ask.request_id, keys_values=keys_values)
    return events, data


async def go_on(client: NodeClient, data: bytes, **options: Any) -> list[GenerateEvent]:
    async with client.restore(data, **options) as stream:
        return [event async for event in stream]


def said(events: list[GenerateEvent]) -> dict[str, Any]:
    tokens = [event for event in events if isinstance(event, TokenEvent)]
    return {
        "text": "".join(event.text for event in tokens),
        "token_ids": [token_id for event in tokens for token_id in event.token_ids],
    }


async def refused(call: Awaitable[object]) -> NodeFaultError:
    with pytest.raises(NodeFaultError) as caught:
        await call
    return caught.value


async def store(client: NodeClient, tokenizer: BoundTokenizer, grammar: str, version: str = "test") -> str:
    artifact = new_artifact(tokenizer.digest, grammar, lowering_version=version)
    await client.put_artifact(artifact.key, seal(artifact, RING))
    return artifact.key


@pytest.mark.parametrize("keys_values", ["include", "recompute"])
async def test_a_sequence_goes_on_on_another_node_with_the_same_tokens(
    keys_values: str, node_url: str, other_url: str, tokenizer: BoundTokenizer
) -> None:
    async with client_of(node_url) as client, client_of(other_url) as other:
        key = await store(client, tokenizer, LETTERS)
        ask = long_request(request_id="ship/1", artifact_key=key)
        whole = await collect(client, ask)
        before, data = await save_after(client, ask, 20, keys_values)
        required = await refused(go_on(other, data)) if keys_values == "include" else None
        await store(other, tokenizer, LETTERS)
        after = await go_on(other, data)
    if required is not None:
        assert (required.status, required.fault.code) == (409, "artifact_required")
    last, end = before[-1], after[-1]
    assert isinstance(last, Finish)
    assert (last.stop_cause, last.accepting) == ("saved", False)
    assert isinstance(after[0], Started)
    assert said([*before, *after]) == said(whole)
    assert len(said(after)["token_ids"]) > 0
    assert isinstance(end, Finish)
    assert isinstance(whole[-1], Finish)
    assert (end.stop_cause, end.accepting, end.usage) == (
        whole[-1].stop_cause,
        whole[-1].accepting,
        whole[-1].usage,
    )


async def test_one_that_waits_for_its_place_can_be_saved_too(other_url: str, tokenizer: BoundTokenizer) -> None:
    async with client_of(other_url) as client:
        key = await store(client, tokenizer, LETTERS)
        async with (
            client.generate(long_request(request_id="runs", artifact_key=key)),
            client.generate(long_request(request_id="waits", max_tokens=30)) as stream,
        ):
            assert isinstance(await anext(stream), Started)
            data = await client.save("waits")
            last = await anext(stream)
        assert isinstance(last, Finish)
        assert (last.stop_cause, last.usage.completion_tokens) == ("saved", 0)
        events = await go_on(client, data, request_id="again")
        whole = await collect(client, long_request(max_tokens=30))
    assert said(events) == said(whole)


async def test_a_restored_sequence_can_be_saved_under_its_new_name(node_url: str, tokenizer: BoundTokenizer) -> None:
    async with client_of(node_url) as client:
        key = await store(client, tokenizer, LETTERS)
        ask = long_request(request_id="first", artifact_key=key)
        whole = await collect(client, ask)
        events, data = await save_after(client, ask, 5)
        async with client.restore(data, request_id="second") as stream:
            async for event in stream:
                events.append(event)
                if isinstance(event, TokenEvent):
                    data = await client.save("second", keys_values="recompute")
                    break
            events += [event async for event in stream]
        events += await go_on(client, data)
    assert said(events) == said(whole)


async def test_who_is_over_unknown_or_named_twice_cannot_be_saved(node_url: str, tokenizer: BoundTokenizer) -> None:
    async with client_of(node_url) as client:
        key = await store(client, tokenizer, LETTERS)
        await collect(client, request(request_id="over"))
        for name in ("over", "never was", "a/b?c"):
            error = await refused(client.save(name))
            assert (error.status, error.fault.code) == (404, "sequence_not_found")
        ask = long_request(request_id="twin", artifact_key=key)
        async with client.generate(ask) as one, client.generate(ask) as two:
            assert isinstance(await anext(one), Started)
            assert isinstance(await anext(two), Started)
            assert (await refused(client.save("twin"))).fault.code == "sequence_not_found"


async def test_a_choice_that_is_none_is_refused(node_url: str) -> None:
    async with httpx.AsyncClient() as http:
        response = await http.post(f"{node_url}/v1/sequences/r:save?keys_values=maybe")
    assert response.status_code == 400
    assert NodeFault.model_validate_json(response.content).code == "malformed_request"


async def test_bytes_that_are_no_snapshot_of_ours_are_refused_by_name(node_url: str, tokenizer: BoundTokenizer) -> None:
    async with client_of(node_url) as client:
        _, data = await save_after(client, long_request(request_id="damaged"), 3)
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 1
        newer = bytearray(data)
        newer[4] = 2
        forged = sealed(opened(data, RING, max_bytes=LIMIT), KeyRing.from_text("test:" + "00" * 32), max_bytes=LIMIT)
        cases = [
            (b"", 400, "snapshot_damaged"),
            (b"x" * 1000, 400, "snapshot_damaged"),
            (data[:-1], 400, "snapshot_damaged"),
            (bytes(flipped), 400, "snapshot_damaged"),
            (forged, 400, "snapshot_damaged"),
            (bytes(newer), 409, "snapshot_version"),
        ]
        for blob, status, code in cases:
            error = await refused(go_on(client, blob))
            assert (error.status, error.fault.code) == (status, code)


async def test_a_snapshot_for_another_model_tokenizer_or_contract_is_refused_by_name(
    node_url: str, tokenizer: BoundTokenizer
) -> None:
    async with client_of(node_url) as client:
        key = await store(client, tokenizer, LETTERS)
        other_key = await store(client, tokenizer, OBJECT, "other")
        _, data = await save_after(client, long_request(request_id="moved", artifact_key=key), 3)
        snapshot = opened(data, RING, max_bytes=LIMIT)
        header = snapshot.header
        cases: list[tuple[dict[str, Any], str]] = [
            ({"model": header.model.model_copy(update={"model_digest": "sha256:0"})}, "snapshot_model_mismatch"),
            ({"model": header.model.model_copy(update={"dtype": "bfloat16"})}, "snapshot_model_mismatch"),
            (
                {"model": header.model.model_copy(update={"chat_template_digest": "sha256:0"})},
                "snapshot_model_mismatch",
            ),
            (
                {"model": header.model.model_copy(update={"tokenizer_digest": "sha256:0"})},
                "snapshot_tokenizer_mismatch",
            ),
            (
                {"request": header.request.model_copy(update={"artifact_key": other_key})},
                "snapshot_artifact_mismatch",
            ),
        ]
        for changes, code in cases:
            changed = Snapshot(header=header.model_copy(update=changes), keys_values=snapshot.keys_values)
            error = await refused(go_on(client, sealed(changed, RING, max_bytes=LIMIT)))
            assert (error.status, error.fault.code) == (409, code)
        # What only names the model is not compared: directories are called as operators like.
        renamed = header.model_copy(update={"model": header.model.model_copy(update={"name": "copy"})})
        again = Snapshot(header=renamed, keys_values=snapshot.keys_values)
        assert isinstance((await go_on(client, sealed(again, RING, max_bytes=LIMIT)))[-1], Finish)


async def test_a_model_of_the_same_shape_and_name_is_told_apart(
    node_url: str, model_directory: Path, tmp_path: Path
) -> None:
    twin = write_model(tmp_path / "tiny", model_directory, tiny_config(), seed=1)
    async with client_of(node_url) as client:
        _, data = await save_after(client, long_request(request_id="twin model"), 3)
    with serving(twin) as (base_url, _):
        async with client_of(base_url) as client:
            error = await refused(go_on(client, data))
    assert (error.status, error.fault.code) == (409, "snapshot_model_mismatch")


async def test_a_reader_that_leaves_a_restored_stream_frees_its_place(tiny_directory: Path) -> None:
    with serving(tiny_directory, max_sequences=1) as (base_url, node):
        async with client_of(base_url) as client:
            _, data = await save_after(client, long_request(request_id="left"), 3)
            async with client.restore(data) as stream:
                assert isinstance(await anext(stream), Started)
            assert isinstance((await collect(client, request()))[-1], Finish)
        eventually(lambda: node._num_open == 0)
        assert not node._streams


async def test_a_snapshot_holds_no_message(node_url: str) -> None:
    async with client_of(node_url) as client:
        _, data = await save_after(client, long_request(request_id="quiet"), 3, "recompute")
    assert b"whatever lives below" not in data
    header = json.loads(data[data.index(b"{") : data.rindex(b"}") + 1])
    assert "messages" not in header["request"]
