from pathlib import Path
from typing import Any

import pytest
import torch

from inference_node.capacity import Capacity, choose_capacity
from inference_node.errors import UnsupportedModelError
from inference_node.kv_cache import kv_bytes_per_block
from inference_node.model_config import read_model_config
from inference_node.settings import NodeSettings
from inference_node.slices import BLOCK_TOKENS

CPU = torch.device("cpu")


def settings(**changes: Any) -> NodeSettings:
    return NodeSettings(artifact_keys="k:" + "00" * 16, **changes)


def capacity(directory: Path, **changes: Any) -> Capacity:
    return choose_capacity(read_model_config(directory), settings(**changes), dtype=torch.float32, device=CPU)


def test_the_context_is_the_models_where_memory_allows_it(tiny_directory: Path) -> None:
    chosen = capacity(tiny_directory)
    assert chosen.context_tokens == 512
    # All sequences at full context, and as many blocks again for prompts that come again.
    assert chosen.num_blocks == 2 * 8 * 512 // BLOCK_TOKENS


def test_the_cache_keeps_to_its_budget_and_sequences_share_it(tiny_directory: Path) -> None:
    budget = 1024**2
    chosen = capacity(tiny_directory, kv_budget_bytes=budget, max_sequences=16)
    per_block = kv_bytes_per_block(read_model_config(tiny_directory), torch.float32)
    assert chosen.num_blocks == budget // per_block
    # Any one of them can have all of the context; all of them together cannot.
    assert chosen.context_tokens == 512
    assert chosen.num_blocks * BLOCK_TOKENS < 16 * 512


def test_the_context_shrinks_where_even_one_sequence_would_not_fit(tiny_directory: Path) -> None:
    config = read_model_config(tiny_directory)
    wide = choose_capacity(config, settings(kv_budget_bytes=1024**2), dtype=torch.float32, device=CPU)
    assert wide.context_tokens <= wide.num_blocks * BLOCK_TOKENS


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"context_tokens": 513}, "context_tokens"),
        ({"context_tokens": 100_000, "kv_budget_bytes": 1024**2}, "context_tokens"),
    ],
)
def test_a_context_that_does_not_fit_is_refused_by_name(
    changes: dict[str, Any], named: str, tiny_directory: Path
) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        capacity(tiny_directory, **changes)
    assert caught.value.setting == named


def test_a_chunk_and_a_step_follow_each_other_where_one_is_given(tiny_directory: Path) -> None:
    assert capacity(tiny_directory, max_step_rows=40).limits.chunk_tokens == 32
    assert capacity(tiny_directory, chunk_tokens=256).limits.max_rows == 256


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"max_step_rows": 16, "chunk_tokens": 64}, "max_step_rows 16 is less than chunk_tokens 64"),
        ({"chunk_tokens": 40}, "chunk_tokens 40 is no multiple of 16"),
    ],
)
def test_chunks_that_cannot_be_are_settings_that_cannot_be(changes: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        settings(**changes)
