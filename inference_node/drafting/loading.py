"""The source of drafts that a setting names, ready for the step loop."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from compiler_pool.errors import TokenizerError
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.block_pool import BlockPool
from inference_node.cpu_runner import CpuRunner
from inference_node.cuda_runner import CudaRunner
from inference_node.decoder import Decoder
from inference_node.drafting.draft_model import DraftModel
from inference_node.drafting.guarded import GuardedDrafts
from inference_node.drafting.prompt_lookup import PromptLookup
from inference_node.drafting.source import DraftSource
from inference_node.drafting.step_cost import StepCost, measure_step_cost
from inference_node.errors import ModelFileError, UnsupportedModelError
from inference_node.kv_cache import KvCache, kv_bytes_per_block
from inference_node.model_config import ModelConfig, read_model_config
from inference_node.model_runner import ModelRunner
from inference_node.model_weights import read_weights
from inference_node.slices import BLOCK_TOKENS

NO_DRAFTS: Final = "none"
PROMPT_LOOKUP: Final = "prompt_lookup"


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftModelLimits:
    """Sizes of a draft model's own cache and passes."""

    context_tokens: int
    """As the verifying model's, or the draft model's own where that is less."""
    max_sequences: int
    """That are decoded at once."""
    kv_budget_bytes: int
    """Keys and values of the draft model. Where they do not hold all sequences, the idle ones are computed again."""
    max_rows: int
    """Of a pass: how much of a prompt the draft model catches up with in one step."""


def load_draft_source(
    setting: str,
    *,
    tokenizer: BoundTokenizer,
    runner: ModelRunner,
    device: torch.device,
    dtype: torch.dtype,
    limits: DraftModelLimits,
    progress: Callable[[str], None],
    cost: StepCost | None = None,
) -> GuardedDrafts | None:
    """`none`, `prompt_lookup`, or the directory of a draft model. None: nothing is drafted.

    Called before `runner`, the verifying model's, has anything in its cache: what its passes cost is measured, unless
    `cost` says it.

    Raises:
        UnsupportedModelError: the draft model reads another vocabulary, or is one that cannot be run.
        ModelFileError: its directory cannot be read.
    """
    if setting == NO_DRAFTS:
        return None
    cost = cost or measure_step_cost(runner)
    progress(f"a pass takes {cost.seconds * 1e3:.1f} ms, one more row {cost.row_cost:.1%} of that")
    source: DraftSource
    if setting == PROMPT_LOOKUP:
        source = PromptLookup(row_cost=cost.row_cost)
    else:
        check_same_vocabulary(Path(setting), tokenizer)
        source = _draft_model(Path(setting), cost, limits, device=device, dtype=dtype, progress=progress)
    return GuardedDrafts(source, vocabulary_size=tokenizer.vocabulary_size)


def _draft_model(
    directory: Path,
    target_cost: StepCost,
    limits: DraftModelLimits,
    *,
    device: torch.device,
    dtype: torch.dtype,
    progress: Callable[[str], None],
) -> DraftModel:
    config = read_model_config(directory)
    context_tokens = min(config.context_tokens, limits.context_tokens)
    num_blocks = _num_blocks(config, context_tokens, limits, dtype)
    progress(f"loading the draft model {directory.resolve().name}")
    decoder = Decoder(
        config, read_weights(directory, config), context_tokens=context_tokens, dtype=dtype, device=device
    )
    runner = _runner(decoder, limits, context_tokens=context_tokens, num_blocks=num_blocks)
    pass_cost = measure_step_cost(runner).seconds / target_cost.seconds
    progress(f"a pass of the draft model takes {pass_cost:.1%} of the model's own")
    return DraftModel(
        runner,
        BlockPool(num_blocks),
        name=directory.resolve().name,
        context_tokens=context_tokens,
        max_rows=limits.max_rows,
        row_cost=target_cost.row_cost,
        pass_cost=pass_cost,
        device=device,
    )


def _runner(decoder: Decoder, limits: DraftModelLimits, *, context_tokens: int, num_blocks: int) -> ModelRunner:
    """No padding of rows is measured, and nothing is deterministic: a draft may depend on its company."""
    is_on_gpu = decoder.device.type == "cuda"
    # There, a block more than sequences can have: rows that only fill a step up are written into it.
    cache = KvCache(
        decoder.config, num_blocks=num_blocks + is_on_gpu, dtype=decoder.dtype, device=decoder.device
    )  # fmt: skip
    if not is_on_gpu:
        return CpuRunner(decoder, cache)
    return CudaRunner(
        decoder,
        cache,
        context_tokens=context_tokens,
        max_sequences=limits.max_sequences,
        max_step_rows=limits.max_rows,
    )


def _num_blocks(config: ModelConfig, context_tokens: int, limits: DraftModelLimits, dtype: torch.dtype) -> int:
    """Blocks for all sequences at full context, or as many as the budget buys. Raises UnsupportedModelError."""
    wanted = limits.max_sequences * -(-context_tokens // BLOCK_TOKENS)
    bytes_per_block = kv_bytes_per_block(config, dtype)
    affordable = limits.kv_budget_bytes // bytes_per_block
    if not affordable:
        raise UnsupportedModelError(
            setting="the draft model's budget for keys and values",
            value=limits.kv_budget_bytes,
            supported=f"at least {bytes_per_block} bytes, one block",
        )
    return min(wanted, affordable)


def check_same_vocabulary(directory: Path, tokenizer: BoundTokenizer) -> None:
    """A draft is an id: the model that proposes it has to mean the same bytes by it.

    Raises:
        UnsupportedModelError: another digest.
        ModelFileError: no tokenizer that can be read.
    """
    try:
        own = load_tokenizer(directory)
    except TokenizerError as error:
        raise ModelFileError(path=str(directory), reason=str(error)) from error
    if own.digest != tokenizer.digest:
        raise UnsupportedModelError(
            setting="the draft model's tokenizer",
            value=own.digest,
            supported=f"{tokenizer.digest}, the model's own",
        )
