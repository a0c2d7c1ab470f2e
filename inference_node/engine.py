"""Puts a model, its cache, its grammar side and the step loop together."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from compiler_pool.errors import TokenizerError
from compiler_pool.frame import KeyRing
from compiler_pool.tokenizer import BoundTokenizer, load_tokenizer
from inference_node.artifact_store import ArtifactStore
from inference_node.decoder import Decoder
from inference_node.errors import ModelFileError, UnsupportedModelError
from inference_node.kv_cache import KvCache, kv_bytes_per_token
from inference_node.mask_filler import MaskFiller
from inference_node.metrics import NodeMetrics
from inference_node.model_config import ModelConfig, read_model_config
from inference_node.model_weights import read_weights
from inference_node.prepare import prepare_default_model
from inference_node.prompt import PromptEncoder, load_prompt_encoder
from inference_node.protocol import NodeIdentity
from inference_node.settings import NodeSettings
from inference_node.step_loop import StepLoop
from inference_node.step_plan import StepLimits

_LEAST_CONTEXT_TOKENS: Final = 16
"""Less holds no chat template and an answer."""

_DTYPES: Final = {"bfloat16": torch.bfloat16, "float32": torch.float32}


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchEngine:
    """All that serving needs, loaded and running."""

    identity: NodeIdentity
    tokenizer: BoundTokenizer
    prompts: PromptEncoder
    artifacts: ArtifactStore
    loop: StepLoop


def load_engine(
    settings: NodeSettings, ring: KeyRing, metrics: NodeMetrics, progress: Callable[[str], None]
) -> TorchEngine:
    """Load the model and start its step loop. Seconds; reports what it is doing.

    Raises:
        ModelError: the model cannot be used, and why.
    """
    if settings.num_threads or hasattr(os, "sched_getaffinity"):
        torch.set_num_threads(settings.num_threads or len(os.sched_getaffinity(0)))
    directory = settings.model_dir or prepare_default_model(settings.cache_dir, progress)
    config = read_model_config(directory)
    device = choose_device(settings.device)
    dtype = choose_dtype(settings.dtype, device)
    context_tokens = choose_context(config, settings, dtype)
    progress(f"loading the tokenizer of {directory.name}")
    tokenizer = _tokenizer(directory, config)
    prompts = load_prompt_encoder(directory)
    progress(f"loading {config.num_layers} layers to {device} as {str(dtype).removeprefix('torch.')}")
    decoder = Decoder(
        config, read_weights(directory, config), context_tokens=context_tokens, dtype=dtype, device=device
    )
    progress("measuring which row counts keep sequences independent of their batch")
    padding = decoder.choose_row_padding(max_rows=settings.max_step_rows, max_logit_rows=settings.max_sequences)
    progress(
        "no row padding makes rows independent here: sequences are computed one by one"
        if padding is None
        else f"steps are padded to at least {padding.minimum} rows and multiples of {padding.multiple}"
    )
    cache = KvCache(
        config, num_places=settings.max_sequences, context_tokens=context_tokens, dtype=dtype, device=device
    )
    metrics.set_capacity(kv_tokens=settings.max_sequences * context_tokens)
    loop = StepLoop(
        forward=decoder.forward,
        cache=cache,
        masks=MaskFiller(tokenizer, num_places=settings.max_sequences, num_threads=settings.num_mask_threads),
        limits=StepLimits(
            max_waiting=settings.max_waiting, chunk_tokens=settings.chunk_tokens, max_rows=settings.max_step_rows
        ),
        metrics=metrics,
    )
    identity = NodeIdentity(
        model=directory.resolve().name,
        tokenizer_digest=tokenizer.digest,
        chat_template_digest=prompts.template_digest,
        engine="torch",
        engine_version=torch.__version__,
        device=str(device),
        dtype=str(dtype).removeprefix("torch."),
        context_tokens=context_tokens,
        max_sequences=settings.max_sequences,
        vocabulary_size=tokenizer.vocabulary_size,
    )
    loop.start()
    progress(f"serving {identity.model}: {settings.max_sequences} sequences of {context_tokens} tokens")
    artifacts = ArtifactStore(
        tokenizer,
        ring,
        max_artifacts=settings.max_artifacts,
        max_prototypes=settings.max_prototypes,
        prototypes_per_artifact=settings.prototypes_per_artifact or settings.num_mask_threads,
        metrics=metrics,
    )
    return TorchEngine(identity=identity, tokenizer=tokenizer, prompts=prompts, artifacts=artifacts, loop=loop)


def choose_device(setting: str) -> torch.device:
    """The device that a setting means here. Raises UnsupportedModelError where it is not there."""
    if setting == "auto":
        setting = "cuda" if torch.cuda.is_available() else "cpu"
    if setting == "cuda" and not torch.cuda.is_available():
        raise UnsupportedModelError(setting="device", value=setting, supported="cpu: torch sees no GPU here")
    return torch.device(setting)


def choose_dtype(setting: str, device: torch.device) -> torch.dtype:
    """The dtype that a setting means here. Without native products bfloat16 is slower on a CPU than float32."""
    if setting != "auto":
        return _DTYPES[setting]
    if device.type == "cuda":
        return torch.bfloat16
    capabilities = torch.cpu.get_capabilities()
    is_native = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") or capabilities.get("bf16")
    return torch.bfloat16 if is_native else torch.float32


def choose_context(config: ModelConfig, settings: NodeSettings, dtype: torch.dtype) -> int:
    """How many tokens a sequence may have: what was asked for, or what model and memory budget allow.

    Raises:
        UnsupportedModelError: what was asked for does not fit one of them.
    """
    affordable = settings.kv_budget_bytes // (settings.max_sequences * kv_bytes_per_token(config, dtype))
    possible = min(config.context_tokens, affordable)
    if possible < _LEAST_CONTEXT_TOKENS:
        raise UnsupportedModelError(
            setting="kv_budget_bytes",
            value=settings.kv_budget_bytes,
            supported=f"at least {_LEAST_CONTEXT_TOKENS} tokens of context for each of {settings.max_sequences} "
            "sequences: raise it, or lower max_sequences",
        )
    if settings.context_tokens is not None and settings.context_tokens > possible:
        raise UnsupportedModelError(
            setting="context_tokens",
            value=settings.context_tokens,
            supported=f"up to {config.context_tokens} by the model, up to {affordable} by kv_budget_bytes",
        )
    return settings.context_tokens or possible


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
