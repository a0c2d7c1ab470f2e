import random
from pathlib import Path
from typing import Any

import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from tests.inference_node.loop_worlds import CHOICE, LIST, OBJECT, WORDS, run, submitted
from tests.inference_node.model_worlds import load_decoder
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop


def mix(tokenizer: BoundTokenizer) -> list[dict[str, Any]]:
    """Eight requests that have little in common."""
    long = " ".join(f"word{number}" for number in range(90))
    return [
        {"prompt": "My profile:", "grammar": OBJECT, "temperature": 1.0, "seed": 1},
        {"prompt": long, "grammar": LIST, "temperature": 0.0},
        {"prompt": "Tell me", "temperature": 1.0, "seed": 3, "max_tokens": 40},
        {"prompt": "A colour", "grammar": CHOICE, "temperature": 2.0, "seed": 4},
        {"prompt": long[:200], "temperature": 0.0, "max_tokens": 25},
        {"prompt": "Words", "grammar": WORDS, "temperature": 1.0, "top_p": 0.9, "seed": 6},
        {"prompt": "x", "temperature": 0.7, "top_p": 0.5, "seed": 7, "max_tokens": 33},
        {"prompt": "My profile:", "grammar": OBJECT, "temperature": 1.0, "seed": 8},
    ]


def ids_alone(decoder: Decoder, tokenizer: BoundTokenizer, requests: list[dict[str, Any]]) -> list[list[int]]:
    return [run(decoder, tokenizer, **request)[0].token_ids for request in requests]


def ids_together(
    decoder: Decoder, tokenizer: BoundTokenizer, requests: list[dict[str, Any]], order: list[int], *, num_places: int
) -> list[list[int]]:
    with running_loop(on_cpu(decoder), tokenizer, max_sequences=num_places) as loop:
        collectors = submitted(loop, tokenizer, [requests[index] for index in order])
        for collector in collectors:
            collector.finish()
    tokens = {index: collector.token_ids for index, collector in zip(order, collectors, strict=True)}
    return [tokens[index] for index in range(len(requests))]


@pytest.fixture(scope="module")
def alone(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> list[list[int]]:
    return ids_alone(tiny_decoder, tokenizer, mix(tokenizer))


@pytest.mark.parametrize(("seed", "num_places"), [(0, 8), (1, 8), (2, 3)])
def test_a_request_gives_the_same_tokens_alone_and_in_any_mix(
    seed: int, num_places: int, tiny_decoder: Decoder, tokenizer: BoundTokenizer, alone: list[list[int]]
) -> None:
    requests = mix(tokenizer)
    order = list(range(len(requests)))
    random.Random(seed).shuffle(order)
    assert ids_together(tiny_decoder, tokenizer, requests, order, num_places=num_places) == alone
    assert alone[0] != alone[7]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_real_model_gives_the_same_tokens_alone_and_in_a_mix_of_eight(
    dtype: torch.dtype, model_directory: Path, tokenizer: BoundTokenizer
) -> None:
    decoder = load_decoder(model_directory, dtype=dtype)
    requests = mix(tokenizer)
    alone = ids_alone(decoder, tokenizer, requests)
    assert ids_together(decoder, tokenizer, requests, [5, 2, 7, 0, 3, 1, 6, 4], num_places=8) == alone


@pytest.mark.parametrize("chunk_tokens", [16, 48, 128])
def test_how_a_prompt_is_cut_changes_neither_the_grammar_nor_the_counts(
    chunk_tokens: int, tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector = Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer, chunk_tokens=chunk_tokens) as loop:
        loop.submit(new_sequence(tokenizer, collector, "word " * 60, grammar=OBJECT))
        finish = collector.finish()
    assert finish.stop_cause == "grammar_end"
    assert finish.accepting is True
    assert finish.usage.completion_tokens == len(collector.token_ids)
