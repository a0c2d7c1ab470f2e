"""Small models for tests: real files over the real vocabulary, random weights."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from inference_node.decoder import Decoder
from inference_node.kv_cache import KvCache
from inference_node.model_config import read_model_config
from inference_node.model_weights import expected_shapes, read_weights


def tiny_config(**changes: Any) -> dict[str, Any]:
    """A Llama of two layers over the real vocabulary."""
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "vocab_size": 49152,
        "tie_word_embeddings": True,
        "hidden_act": "silu",
    } | changes


def write_model(directory: Path, tokenizer_directory: Path, config: dict[str, Any], *, seed: int = 0) -> Path:
    """A model directory with random weights and the real tokenizer."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (directory / name).write_bytes((tokenizer_directory / name).read_bytes())
    (directory / "config.json").write_text(json.dumps(config))
    generator = torch.Generator().manual_seed(seed)
    weights = {
        name: torch.ones(shape) + 0.1 * torch.randn(shape, generator=generator)
        if name.endswith("norm.weight")
        else 0.15 * torch.randn(shape, generator=generator)
        for name, shape in expected_shapes(read_model_config(directory)).items()
    }
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    return directory


def load_decoder(directory: Path, *, dtype: torch.dtype = torch.float32, context_tokens: int = 512) -> Decoder:
    """The decoder of a directory, its row padding measured."""
    config = read_model_config(directory)
    decoder = Decoder(
        config,
        read_weights(directory, config),
        context_tokens=context_tokens,
        dtype=dtype,
        device=torch.device("cpu"),
    )
    assert decoder.choose_row_padding(max_rows=128, max_logit_rows=8) is not None
    return decoder


def new_cache(decoder: Decoder, *, num_blocks: int = 256) -> KvCache:
    """An empty cache for a decoder; by default eight sequences of 512 tokens fit."""
    return KvCache(decoder.config, num_blocks=num_blocks, dtype=decoder.dtype, device=decoder.device)
