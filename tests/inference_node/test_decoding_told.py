"""The last event of a served sequence says what decoding was like."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.protocol import ChatMessage, Finish, TokenEvent
from tests.inference_node.service_worlds import client_of, collect, request, serving, store

FORM = r'start: "{\"name\":\"" /[a-z]{1,12}/ "\",\"tags\":[" TAG ("," TAG)* "]}"' + "\nTAG: /[0-9]/"


@pytest.fixture(scope="module")
def node_url(tiny_directory: Path) -> Iterator[str]:
    with serving(tiny_directory, num_threads=1) as (base_url, _):
        yield base_url


async def test_a_constrained_sequence_has_spreads_and_pressure_by_member(
    node_url: str, tokenizer: BoundTokenizer
) -> None:
    async with client_of(node_url) as client:
        key = await store(client, tokenizer, FORM)
        *_, last = await collect(client, request(artifact_key=key, max_tokens=40))
    assert isinstance(last, Finish)
    decoding = last.decoding
    assert 0 < decoding.num_steps <= last.usage.completion_tokens - last.usage.forced_tokens
    assert decoding.mask_seconds is not None
    assert decoding.allowed_tokens is not None
    assert decoding.pressure is not None
    assert 0 < decoding.mask_seconds.p50 <= decoding.mask_seconds.p95 <= decoding.mask_seconds.max < 60
    assert 1 <= decoding.allowed_tokens.p50 <= decoding.allowed_tokens.max < tokenizer.vocabulary_size
    # A model with random weights knows nothing of the form: nearly all of its distribution is taken away.
    assert 0.5 < decoding.pressure.p50 <= decoding.pressure.max <= 1
    assert {"/name"} <= decoding.pressure_by_field.keys() <= {"", "/name", "/tags", "/tags/*"}


async def test_free_text_has_steps_and_no_pressure(node_url: str) -> None:
    async with client_of(node_url) as client:
        *_, last = await collect(client, request(max_tokens=8))
    assert isinstance(last, Finish)
    assert last.decoding.num_steps == 8
    assert last.decoding.mask_seconds is last.decoding.allowed_tokens is last.decoding.pressure is None
    assert last.decoding.pressure_by_field == {}


async def test_a_prompt_that_came_before_is_cached_for_its_partition_alone(node_url: str) -> None:
    messages = [ChatMessage(role="user", content="word " * 60)]
    async with client_of(node_url) as client:
        cached = []
        for partition in ("a", "a", "b"):
            *tokens, last = await collect(client, request(messages=messages, partition=partition))
            assert isinstance(last, Finish)
            cached.append((last.decoding.cached_prompt_tokens, last.usage.prompt_tokens))
            assert any(isinstance(event, TokenEvent) for event in tokens)
    (first, _), (second, num_prompt), (other, _) = cached
    assert first == other == 0
    assert num_prompt - 16 <= second < num_prompt
