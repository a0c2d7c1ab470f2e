"""A setting becomes a source, or is refused by name."""

from pathlib import Path

import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.drafting.guarded import GuardedDrafts
from inference_node.drafting.loading import DraftModelLimits, load_draft_source
from inference_node.drafting.step_cost import StepCost, measure_step_cost
from inference_node.errors import ModelFileError, UnsupportedModelError
from inference_node.model_runner import ModelRunner
from tests.inference_node.drafting.wants import want
from tests.inference_node.model_worlds import tiny_config, write_model
from tests.inference_node.worlds import on_cpu

CPU = torch.device("cpu")
LIMITS = DraftModelLimits(context_tokens=128, max_sequences=2, kv_budget_bytes=1 << 24, max_rows=64)


@pytest.fixture(scope="module")
def runner(tiny_decoder: Decoder) -> ModelRunner:
    return on_cpu(tiny_decoder, num_blocks=16)


def loaded(
    setting: str, tokenizer: BoundTokenizer, runner: ModelRunner, limits: DraftModelLimits = LIMITS
) -> GuardedDrafts | None:
    """With a row that costs a tenth of a step."""
    return load_draft_source(
        setting,
        tokenizer=tokenizer,
        runner=runner,
        device=CPU,
        dtype=torch.float32,
        limits=limits,
        progress=lambda _: None,
        cost=StepCost(seconds=0.01, row_cost=0.1),
    )


def test_none_is_no_source(tokenizer: BoundTokenizer, runner: ModelRunner) -> None:
    assert loaded("none", tokenizer, runner) is None


def test_prompt_lookup_looks_up(tokenizer: BoundTokenizer, runner: ModelRunner) -> None:
    source = loaded("prompt_lookup", tokenizer, runner)
    assert source is not None
    assert source.name == "prompt_lookup"
    assert source.propose([want([5, 6, 7, 5, 6], max_drafts=2)]) == [[7, 5]]


def test_a_directory_is_a_model_of_that_name(
    tokenizer: BoundTokenizer, runner: ModelRunner, tiny_directory: Path
) -> None:
    source = loaded(str(tiny_directory), tokenizer, runner)
    assert source is not None
    assert source.name == tiny_directory.name
    assert source.propose([want([1, 2, 3], max_drafts=0)]) == [[]]
    assert not source.is_off


def test_a_model_of_another_tokenizer_is_refused(
    tokenizer: BoundTokenizer, runner: ModelRunner, model_directory: Path, tmp_path: Path
) -> None:
    other = write_model(tmp_path / "other", model_directory, tiny_config(vocab_size=49280))
    with pytest.raises(UnsupportedModelError, match="the draft model's tokenizer is 'sha256:") as refused:
        loaded(str(other), tokenizer, runner)
    assert refused.value.setting == "the draft model's tokenizer"


def test_a_directory_without_a_model_is_refused(tokenizer: BoundTokenizer, runner: ModelRunner, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        loaded(str(tmp_path), tokenizer, runner)


def test_a_budget_for_less_than_a_block_is_refused(
    tokenizer: BoundTokenizer, runner: ModelRunner, tiny_directory: Path
) -> None:
    limits = DraftModelLimits(context_tokens=128, max_sequences=2, kv_budget_bytes=100, max_rows=64)
    with pytest.raises(UnsupportedModelError, match="at least 8192 bytes, one block"):
        loaded(str(tiny_directory), tokenizer, runner, limits)


def test_what_a_pass_costs_is_measured(runner: ModelRunner) -> None:
    cost = measure_step_cost(runner)
    assert cost.seconds > 0
    assert 0 < cost.row_cost <= 1
