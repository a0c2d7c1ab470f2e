"""Adapters over HTTP: put, used by some sequences and not by others, kept while they run, refused by what is wrong."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

import pytest
import torch
from safetensors.torch import load, save

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.adapters.adapter_file import read_metadata
from inference_node.adapters.desk import CODES
from inference_node.adapters.errors import AdapterError
from inference_node.app import FAULT_STATUSES
from inference_node.errors import NodeFaultError
from inference_node.node import Node
from inference_node.protocol import Finish, GenerateEvent, Started, TokenEvent
from inference_node.snapshots.model_digest import model_digest
from tests.inference_node.adapters.adapter_worlds import base_of, lora_members, new_adapter, write_merged
from tests.inference_node.service_worlds import ENDLESS, OBJECT, client_of, collect, request, serving, store

MAX_ADAPTERS = 3


@pytest.fixture(scope="module")
def served(tiny_directory: Path) -> Iterator[tuple[str, Node]]:
    limits = {"max_adapters": MAX_ADAPTERS, "max_adapter_bytes": 200_000, "max_adapter_rank": 16}
    # Products of a tiny model are not worth a second thread, least of all on a busy machine.
    with serving(tiny_directory, num_threads=1, **limits) as (url, node):
        yield url, node


@pytest.fixture(scope="module")
def node_url(served: tuple[str, Node]) -> str:
    return served[0]


@pytest.fixture(scope="module")
def base_digest(tiny_directory: Path) -> str:
    return model_digest(tiny_directory)


def ids_of(events: Sequence[GenerateEvent]) -> list[int]:
    return [token for event in events if isinstance(event, TokenEvent) for token in event.token_ids]


async def test_a_sequence_under_an_adapter_says_what_the_merged_model_says(
    node_url: str, tiny_directory: Path, base_digest: str, tmp_path: Path
) -> None:
    digest, body = new_adapter(base_of(tiny_directory), seed=5, base_digest=base_digest)
    merged = write_merged(tmp_path / "merged", tiny_directory, body, lora_members())
    async with client_of(node_url) as client:
        with pytest.raises(NodeFaultError) as caught:
            await collect(client, request(adapter=digest))
        assert (caught.value.status, caught.value.fault.code) == (409, "adapter_required")
        first, again = await client.put_adapter(digest, body), await client.put_adapter(digest, body)
        assert (first.already_present, again.already_present) == (False, True)
        stored = await client.adapters()
        under, without = await collect(client, request(adapter=digest)), await collect(client, request())
    assert stored.base_digest == base_digest
    assert stored.max_adapters == MAX_ADAPTERS
    assert [(each.digest, each.rank) for each in stored.adapters] == [(digest, 4)]
    with serving(merged, num_threads=1) as (merged_url, _):
        async with client_of(merged_url) as client:
            expected = await collect(client, request())
    assert ids_of(under) == ids_of(expected)
    assert ids_of(under) != ids_of(without)


async def test_several_adapters_and_none_at_once_give_what_each_gives_alone(
    node_url: str, tiny_directory: Path, base_digest: str, tokenizer: BoundTokenizer
) -> None:
    adapters = [new_adapter(base_of(tiny_directory), seed=seed, base_digest=base_digest, r=8) for seed in (1, 2)]
    async with client_of(node_url) as client:
        key = await store(client, tokenizer, OBJECT)
        for digest, body in adapters:
            await client.put_adapter(digest, body)
        asked = [
            request(request_id=f"r{number}", adapter=adapter, artifact_key=artifact, max_tokens=24)
            for number, (adapter, artifact) in enumerate(
                (adapter, artifact) for adapter in (None, adapters[0][0], adapters[1][0]) for artifact in (None, key)
            )
        ]
        alone = [ids_of(await collect(client, ask)) for ask in asked]
        together = await asyncio.gather(*(collect(client, ask) for ask in asked))
    assert [ids_of(events) for events in together] == alone
    assert len({tuple(ids) for ids in alone[::2]}) == 3


async def test_a_prompt_that_is_cached_without_an_adapter_is_computed_anew_under_one(
    node_url: str, tiny_directory: Path, base_digest: str
) -> None:
    digest, body = new_adapter(base_of(tiny_directory), seed=6, base_digest=base_digest)
    long = [{"role": "user", "content": "word " * 80}]
    async with client_of(node_url) as client:
        await client.put_adapter(digest, body)
        reports = []
        for adapter in (None, None, digest, digest):
            *_, last = await collect(client, request(messages=long, adapter=adapter, partition="cached"))
            assert isinstance(last, Finish)
            reports.append(last.decoding.cached_prompt_tokens)
    assert reports[0] == reports[2] == 0
    assert reports[1] == reports[3] > 0


async def test_an_adapter_goes_only_when_no_sequence_runs_under_it(
    served: tuple[str, Node], tiny_directory: Path, base_digest: str, tokenizer: BoundTokenizer
) -> None:
    base = base_of(tiny_directory)
    digest, body = new_adapter(base, seed=7, base_digest=base_digest)
    node_url, node = served
    go_on = Event()
    async with client_of(node_url) as client:
        key = await store(client, tokenizer, ENDLESS)
        await client.put_adapter(digest, body)
        # No step until all has been asked: the sequence would be over in less than a second.
        assert node._engine is not None
        node._engine.loop.between_steps(lambda: go_on.wait(60))
        async with client.generate(request(adapter=digest, artifact_key=key, max_tokens=None)) as events:
            assert isinstance(await anext(events), Started)
            with pytest.raises(NodeFaultError) as caught:
                await client.remove_adapter(digest)
            assert (caught.value.status, caught.value.fault.code) == (409, "adapter_in_use")
            for seed in range(100, 100 + MAX_ADAPTERS):
                await client.put_adapter(*new_adapter(base, seed=seed, base_digest=base_digest))
            stored = await client.adapters()
            assert digest in {each.digest for each in stored.adapters}
            assert len(stored.adapters) == MAX_ADAPTERS
        go_on.set()
        for _ in range(200):
            running = {each.digest: each.running_sequences for each in (await client.adapters()).adapters}
            if not running[digest]:
                break
            await asyncio.sleep(0.02)
        assert (await client.remove_adapter(digest)).digest == digest
        with pytest.raises(NodeFaultError) as caught:
            await client.remove_adapter(digest)
        assert caught.value.fault.code == "adapter_required"


async def test_a_saved_sequence_goes_on_under_its_adapter_or_not_at_all(
    node_url: str, tiny_directory: Path, base_digest: str, tokenizer: BoundTokenizer
) -> None:
    digest, body = new_adapter(base_of(tiny_directory), seed=11, base_digest=base_digest)
    async with client_of(node_url) as client:
        key = await store(client, tokenizer, ENDLESS)
        await client.put_adapter(digest, body)
        ask = request(request_id="kept", adapter=digest, artifact_key=key, max_tokens=200)
        whole = ids_of(await collect(client, ask))
        async with client.generate(ask) as events:
            before = [await anext(events), await anext(events)]
            blob = await client.save("kept")
            before += [event async for event in events]
        assert isinstance(before[-1], Finish)
        assert before[-1].stop_cause == "saved"
        async with client.restore(blob) as events:
            after = [event async for event in events]
        assert ids_of(before) + ids_of(after) == whole
        await client.remove_adapter(digest)
        with pytest.raises(NodeFaultError) as caught:
            async with client.restore(blob) as events:
                await anext(events)
        assert caught.value.fault.code == "adapter_required"


async def test_a_sequence_that_is_refused_holds_no_adapter(
    node_url: str, tiny_directory: Path, base_digest: str
) -> None:
    digest, body = new_adapter(base_of(tiny_directory), seed=8, base_digest=base_digest)
    async with client_of(node_url) as client:
        await client.put_adapter(digest, body)
        with pytest.raises(NodeFaultError) as caught:
            await collect(client, request(adapter=digest, messages=[{"role": "user", "content": "word " * 600}]))
        assert caught.value.fault.code == "context_length_exceeded"
        await client.remove_adapter(digest)


async def test_what_does_not_fit_is_refused_by_what_is_wrong(
    node_url: str, tiny_directory: Path, base_digest: str
) -> None:
    base = base_of(tiny_directory)
    digest, body = new_adapter(base, seed=9, base_digest=base_digest)
    tensors = load(body)
    renamed = save(tensors | {"base_model.model.lm_head.weight": torch.zeros(1)}, metadata=read_metadata(body))
    refused = {
        "another base": (new_adapter(base, seed=9), 422, "adapter_mismatch"),
        "a rank": (new_adapter(base, base_digest=base_digest, r=17), 422, "adapter_mismatch"),
        "a surplus tensor": ((digest, renamed), 422, "adapter_mismatch"),
        "another digest": (("sha256:" + "0" * 64, body), 400, "malformed_request"),
        "half a file": ((digest, body[: len(body) // 2]), 400, "malformed_request"),
        "too many bytes": ((digest, body + bytes(200_000)), 413, "body_too_large"),
    }
    async with client_of(node_url) as client:
        for why, (sent, status, code) in refused.items():
            with pytest.raises(NodeFaultError) as caught:
                await client.put_adapter(*sent)
            assert (why, caught.value.status, caught.value.fault.code) == (why, status, code)


def test_every_reason_to_refuse_has_a_fault_and_a_status() -> None:
    assert set(CODES) == set(AdapterError.__subclasses__())
    assert set(CODES.values()) <= FAULT_STATUSES.keys()
