"""Puts a model, its cache, its grammar side and the step loop together."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from compiler_pool.errors import TokenizerError
from compiler_pool.frame import KeyRing
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.adapters.adapter_bank import AdapterBank
from inference_node.artifact_store import ArtifactStore
from inference_node.block_pool import BlockPool
from inference_node.drafting.loading import DraftModelLimits, load_draft_source
from inference_node.drafting.source import DraftSource
from inference_node.errors import ModelFileError, UnsupportedModelError
from inference_node.kv_cache import kv_bytes_per_block
from inference_node.mask_filler import MaskFiller
from inference_node.mask_rows import MaskRows
from inference_node.metrics import NodeMetrics
from inference_node.model_config import ModelConfig, read_model_config
from inference_node.model_runner import ModelRunner
from inference_node.prepare import prepare_default_model, prepare_model
from inference_node.process_settings import keep_freed_memory
from inference_node.prompt import PromptEncoder, load_prompt_encoder
from inference_node.protocol import NodeIdentity
from inference_node.runner_loading import load_runner
from inference_node.settings import NodeSettings
from inference_node.slices import BLOCK_TOKENS
from inference_node.snapshots.model_digest import begin_model_digest
from inference_node.step_loop import StepLoop
from inference_node.step_plan import StepLimits
from inference_node.step_sampler import StepSampler
from kernels.bitmask import bitmask_words

_SWITCH_SECONDS: Final = 0.000_1

_DTYPES: Final = {"bfloat16": torch.bfloat16, "float32": torch.float32}


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchEngine:
    """All that serving needs, loaded and running."""

    identity: NodeIdentity
    model_digest: Future[str]
    """Of its weights and configuration, as soon as it is known."""
    tokenizer: BoundTokenizer
    directory: Path
    config: ModelConfig
    prompts: PromptEncoder
    artifacts: ArtifactStore
    adapters: AdapterBank
    loop: StepLoop
    runner: ModelRunner


def load_engine(
    settings: NodeSettings, ring: KeyRing, metrics: NodeMetrics, progress: Callable[[str], None]
) -> TorchEngine:
    """Load the model and start its step loop. Seconds; reports what it is doing.

    Raises:
        ModelError: the model cannot be used, and why.
    """
    if settings.model_dir is None:
        directory = prepare_default_model(settings.cache_dir, progress)
    else:
        directory = prepare_model(settings.model_dir, settings.cache_dir, progress)
    config = read_model_config(directory)
    device = choose_device(settings.device)
    dtype = choose_dtype(settings.dtype, device)
    torch.set_num_threads(settings.num_threads or (num_processors() if device.type == "cpu" else 1))
    progress(f"loading the tokenizer of {directory.name}")
    tokenizer = _tokenizer(directory, config)
    prompts = load_prompt_encoder(directory)
    progress(f"loading {config.num_layers} layers to {device} as {str(dtype).removeprefix('torch.')}")
    digest = begin_model_digest(directory)
    adapters = AdapterBank(
        config,
        base_digest=digest.result,
        max_adapters=settings.max_adapters,
        max_rank=settings.max_adapter_rank,
        dtype=dtype,
        device=device,
    )
    loaded = load_runner(directory, config, settings, dtype=dtype, device=device, adapters=adapters, progress=progress)
    capacity, runner = loaded.capacity, loaded.runner
    limits = capacity.limits
    num_mask_threads = settings.num_mask_threads or choose_mask_threads(device)
    metrics.set_capacity(kv_tokens=capacity.num_blocks * BLOCK_TOKENS)
    drafts = load_draft_source(
        settings.draft,
        tokenizer=tokenizer,
        runner=runner,
        device=device,
        dtype=dtype,
        limits=DraftModelLimits(
            context_tokens=capacity.context_tokens,
            max_sequences=limits.max_sequences,
            kv_budget_bytes=capacity.num_blocks * kv_bytes_per_block(config, dtype) // 4,
            max_rows=limits.max_rows,
        ),
        progress=progress,
    )
    loop = assemble_loop(
        runner,
        tokenizer,
        num_blocks=capacity.num_blocks,
        limits=limits,
        num_mask_threads=num_mask_threads,
        device=device,
        dtype=dtype,
        metrics=metrics,
        drafts=drafts,
    )
    identity = NodeIdentity(
        model=directory.resolve().name,
        tokenizer_digest=tokenizer.digest,
        chat_template_digest=prompts.template_digest,
        engine="torch",
        engine_version=torch.__version__,
        device=str(device),
        dtype=str(dtype).removeprefix("torch."),
        context_tokens=capacity.context_tokens,
        max_sequences=limits.max_sequences,
        vocabulary_size=tokenizer.vocabulary_size,
        reasoning=prompts.reasoning,
        tool_dialect=prompts.tool_dialect.name,
        is_deterministic=loaded.is_deterministic,
        drafts="none" if drafts is None else drafts.name,
    )
    loop.start()
    _leave_processors_to(loop)
    progress(
        f"serving {identity.model}: {limits.max_sequences} sequences of up to {capacity.context_tokens} tokens, "
        f"{capacity.num_blocks} blocks of {BLOCK_TOKENS}"
    )
    artifacts = ArtifactStore(
        tokenizer,
        ring,
        max_artifacts=settings.max_artifacts,
        max_prototypes=settings.max_prototypes,
        prototypes_per_artifact=settings.prototypes_per_artifact or num_mask_threads,
        metrics=metrics,
    )
    return TorchEngine(
        identity=identity,
        model_digest=digest,
        directory=directory,
        config=config,
        tokenizer=tokenizer,
        prompts=prompts,
        artifacts=artifacts,
        adapters=adapters,
        loop=loop,
        runner=runner,
    )


def assemble_loop(
    runner: ModelRunner,
    tokenizer: BoundTokenizer,
    *,
    num_blocks: int,
    limits: StepLimits,
    num_mask_threads: int,
    device: torch.device,
    dtype: torch.dtype,
    metrics: NodeMetrics,
    drafts: DraftSource | None = None,
) -> StepLoop:
    """A loop over a runner whose cache has at least `num_blocks` blocks; not started yet."""
    # A mask that is there waits for the interpreter, which the loop's thread holds for this long at a time; by default
    # it is 5 ms, several steps of a GPU.
    sys.setswitchinterval(_SWITCH_SECONDS)
    keep_freed_memory()
    num_rows = limits.max_sequences * (1 + limits.max_drafts) + 1
    rows = MaskRows(words=bitmask_words(tokenizer.vocabulary_size), device=device, capacity=num_rows)
    sampler = StepSampler(tokenizer, rows, device)
    sampler.warm_up(vocabulary_size=tokenizer.vocabulary_size, dtype=dtype)
    return StepLoop(
        runner=runner,
        pool=BlockPool(num_blocks),
        rows=rows,
        masks=MaskFiller(rows, num_threads=num_mask_threads),
        sampler=sampler,
        limits=limits,
        metrics=metrics,
        drafts=drafts,
    )


def _leave_processors_to(loop: StepLoop) -> None:
    """Keep torch's many threads to the loop: the products of any other thread are its own work alone.

    A second team of OpenMP threads, once there, has the runtime put all of them to sleep between products, as more
    threads than processors ask for: steps took nearly twice as long.
    """
    num_threads = torch.get_num_threads()

    def keep() -> None:
        torch.set_num_threads(num_threads)
        torch.get_num_threads()  # a thread's number is settled when it is first used, by what was set last anywhere

    loop.between_steps(keep).result()
    torch.set_num_threads(1)


def choose_device(setting: str) -> torch.device:
    """The device that a setting means here. Raises UnsupportedModelError where it is not there."""
    if setting == "auto":
        setting = "cuda" if torch.cuda.is_available() else "cpu"
    if setting == "cuda" and not torch.cuda.is_available():
        raise UnsupportedModelError(setting="device", value=setting, supported="cpu: torch sees no GPU here")
    return torch.device(setting)


def num_processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_mask_threads(device: torch.device) -> int:
    """Two beside the model on a CPU; on a GPU's host, half of the processors and at most eight."""
    return 2 if device.type == "cpu" else max(2, min(8, num_processors() // 2))


def choose_dtype(setting: str, device: torch.device) -> torch.dtype:
    """The dtype that a setting means here. Without native products bfloat16 is slower on a CPU than float32."""
    if setting != "auto":
        return _DTYPES[setting]
    if device.type == "cuda":
        return torch.bfloat16
    capabilities = torch.cpu.get_capabilities()
    is_native = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") or capabilities.get("bf16")
    return torch.bfloat16 if is_native else torch.float32


def _tokenizer(directory: Path, config: ModelConfig) -> BoundTokenizer:
    try:
        tokenizer = load_tokenizer(directory)
    except TokenizerError as error:
        raise ModelFileError(path=str(directory), reason=str(error)) from error
    if tokenizer.vocabulary_size != config.vocabulary_size:
        raise ModelFileError(
            path=str(directory),
            reason=f"tokenizer of {tokenizer.vocabulary_size} ids for logits of {config.vocabulary_size}",
        )
    return tokenizer
