"""A model directory as a runner: the decoder on its device, its cache, and how steps have to be laid out there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from inference_node.capacity import Capacity, choose_capacity
from inference_node.cpu_runner import CpuRunner
from inference_node.cuda_runner import CudaRunner
from inference_node.decoder import Decoder
from inference_node.decoder_layer import ProjectionAdapters
from inference_node.kv_cache import KvCache
from inference_node.model_config import ModelConfig
from inference_node.model_runner import ModelRunner
from inference_node.model_weights import read_weights
from inference_node.settings import NodeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRunner:
    """A runner, what it can hold, and whether equal requests give equal tokens in any company."""

    runner: ModelRunner
    capacity: Capacity
    is_deterministic: bool


def load_runner(
    directory: Path,
    config: ModelConfig,
    settings: NodeSettings,
    *,
    dtype: torch.dtype,
    device: torch.device,
    adapters: ProjectionAdapters,
    progress: Callable[[str], None],
) -> LoadedRunner:
    """Read the weights and make everything that a pass needs.

    Raises:
        ModelError: the weights cannot be read, or what was asked for does not fit.
    """
    context_tokens = min(config.context_tokens, settings.context_tokens or config.context_tokens)
    decoder = Decoder(
        config, read_weights(directory, config), context_tokens=context_tokens, dtype=dtype, device=device
    )
    decoder.adapters = adapters
    capacity = choose_capacity(config, settings, dtype=dtype, device=device)
    if device.type == "cuda":
        return _on_gpu(decoder, capacity, settings, progress)
    return _on_cpu(decoder, capacity, progress)


def _on_cpu(decoder: Decoder, capacity: Capacity, progress: Callable[[str], None]) -> LoadedRunner:
    progress("measuring which row counts keep sequences independent of their batch")
    limits = capacity.limits
    padding = decoder.choose_row_padding(
        max_rows=limits.max_rows, max_logit_rows=min(limits.max_rows, limits.max_sequences * (1 + limits.max_drafts))
    )
    progress(
        "no row padding makes rows independent here: sequences are computed one by one"
        if padding is None
        else f"steps are padded to at least {padding.minimum} rows and multiples of {padding.multiple}"
    )
    cache = KvCache(decoder.config, num_blocks=capacity.num_blocks, dtype=decoder.dtype, device=decoder.device)
    return LoadedRunner(runner=CpuRunner(decoder, cache), capacity=capacity, is_deterministic=True)


def _on_gpu(
    decoder: Decoder, capacity: Capacity, settings: NodeSettings, progress: Callable[[str], None]
) -> LoadedRunner:
    progress("compiling kernels and capturing graphs of steps")
    limits = capacity.limits
    # A block more than sequences can have: rows that only fill a step up are written there.
    cache = KvCache(decoder.config, num_blocks=capacity.num_blocks + 1, dtype=decoder.dtype, device=decoder.device)
    runner = CudaRunner(
        decoder,
        cache,
        context_tokens=capacity.context_tokens,
        max_sequences=limits.max_sequences,
        max_step_rows=limits.max_rows,
        is_deterministic=settings.deterministic,
    )
    return LoadedRunner(runner=runner, capacity=capacity, is_deterministic=settings.deterministic)
