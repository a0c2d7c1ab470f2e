from pathlib import Path
from typing import Any

import pytest
import torch

from inference_node.engine import choose_context, choose_device, choose_dtype
from inference_node.errors import UnsupportedModelError
from inference_node.kv_cache import kv_bytes_per_token
from inference_node.model_config import read_model_config
from inference_node.settings import NodeSettings

CPU = torch.device("cpu")


def settings(**changes: Any) -> NodeSettings:
    return NodeSettings(artifact_keys="k:" + "00" * 16, **changes)


def test_the_context_is_the_models_where_memory_allows_it(tiny_directory: Path) -> None:
    config = read_model_config(tiny_directory)
    assert choose_context(config, settings(), torch.float32) == 512


def test_the_context_shrinks_to_the_memory_budget(tiny_directory: Path) -> None:
    config = read_model_config(tiny_directory)
    budget = 2 * 1024**2
    tokens = choose_context(config, settings(kv_budget_bytes=budget, max_sequences=16), torch.float32)
    assert tokens < 512
    assert tokens * 16 * kv_bytes_per_token(config, torch.float32) <= budget


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"context_tokens": 513}, "context_tokens"),
        ({"context_tokens": 500, "kv_budget_bytes": 1024**2}, "context_tokens"),
        ({"kv_budget_bytes": 1024**2, "max_sequences": 1024}, "kv_budget_bytes"),
    ],
)
def test_a_context_that_does_not_fit_is_refused_by_name(
    changes: dict[str, Any], setting: str, tiny_directory: Path
) -> None:
    with pytest.raises(UnsupportedModelError) as caught:
        choose_context(read_model_config(tiny_directory), settings(**changes), torch.float32)
    assert caught.value.setting == setting


def test_a_dtype_that_is_asked_for_is_taken_and_auto_is_one_of_the_two() -> None:
    assert choose_dtype("float32", CPU) is torch.float32
    assert choose_dtype("bfloat16", CPU) is torch.bfloat16
    assert choose_dtype("auto", CPU) in {torch.bfloat16, torch.float32}


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
def test_a_gpu_that_is_not_there_is_refused_and_auto_falls_to_the_cpu() -> None:
    assert choose_device("auto") == CPU
    with pytest.raises(UnsupportedModelError, match="torch sees no GPU"):
        choose_device("cuda")


def test_a_chunk_larger_than_a_step_is_a_setting_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="max_step_rows 16 is less than chunk_tokens 64"):
        settings(max_step_rows=16)
