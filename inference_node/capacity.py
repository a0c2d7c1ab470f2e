"""How much a node can hold: sequences, context, blocks of the cache, rows of a step."""

from dataclasses import dataclass
from typing import Final

import torch

from inference_node.errors import UnsupportedModelError
from inference_node.kv_cache import kv_bytes_per_block
from inference_node.model_config import ModelConfig
from inference_node.settings import NodeSettings
from inference_node.slices import BLOCK_TOKENS
from inference_node.step_plan import StepLimits

_LEAST_CONTEXT_TOKENS: Final = 16
"""Less holds no chat template and an answer."""

_CPU_KV_BYTES: Final = 2 * 1024**3
_GPU_KV_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What settings, model and device come to."""

    context_tokens: int
    num_blocks: int
    limits: StepLimits


def choose_capacity(
    config: ModelConfig, settings: NodeSettings, *, dtype: torch.dtype, device: torch.device
) -> Capacity:
    """Call it on a GPU once the weights are there: the cache gets a share of what they leave.

    Raises:
        UnsupportedModelError: what was asked for does not fit the model or the budget.
    """
    is_gpu = device.type == "cuda"
    max_sequences = settings.max_sequences or (128 if is_gpu else 8)
    budget = settings.kv_budget_bytes or _default_budget(device)
    num_blocks = budget // kv_bytes_per_block(config, dtype)
    context_tokens = _context(config, settings, affordable=num_blocks * BLOCK_TOKENS, budget=budget)
    # As many again as running sequences can use is plenty for prompts that may come again.
    num_blocks = min(num_blocks, 2 * max_sequences * -(-context_tokens // BLOCK_TOKENS))
    # Where one of the two is given, the other follows it.
    chunk_tokens = settings.chunk_tokens or min(512 if is_gpu else 64, _whole_blocks(settings.max_step_rows))
    max_rows = settings.max_step_rows or max(2048 if is_gpu else 128, chunk_tokens)
    return Capacity(
        context_tokens=context_tokens,
        num_blocks=num_blocks,
        limits=StepLimits(
            max_waiting=settings.max_waiting,
            partition_share=settings.partition_share,
            max_sequences=max_sequences,
            chunk_tokens=chunk_tokens,
            max_rows=max_rows,
            max_drafts=settings.max_drafts if settings.draft != "none" else 0,
        ),
    )


def _whole_blocks(num_rows: int | None) -> int:
    return 65536 if num_rows is None else num_rows // BLOCK_TOKENS * BLOCK_TOKENS


def _default_budget(device: torch.device) -> int:
    if device.type != "cuda":
        return _CPU_KV_BYTES
    free_bytes, _ = torch.cuda.mem_get_info(device)
    return int(_GPU_KV_SHARE * free_bytes)


def _context(config: ModelConfig, settings: NodeSettings, *, affordable: int, budget: int) -> int:
    possible = min(config.context_tokens, affordable)
    if possible < _LEAST_CONTEXT_TOKENS:
        raise UnsupportedModelError(
            setting="kv_budget_bytes",
            value=budget,
            supported=f"what holds at least {_LEAST_CONTEXT_TOKENS} tokens of context",
        )
    if settings.context_tokens is not None and settings.context_tokens > possible:
        raise UnsupportedModelError(
            setting="context_tokens",
            value=settings.context_tokens,
            supported=f"up to {config.context_tokens} by the model, up to {affordable} by kv_budget_bytes",
        )
    return settings.context_tokens or possible
