"""The tensors of a model directory, by Hugging Face's names, from one safetensors file or several behind an index."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError, safe_open

from inference_node.errors import ModelFileError, UnsupportedModelError
from inference_node.model_config import ModelConfig

_INDEX: Final = "model.safetensors.index.json"
_SINGLE: Final = "model.safetensors"


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Every tensor that a model of this configuration has, and its shape."""
    hidden, query, kv, inner = config.hidden_size, config.query_size, config.kv_size, config.intermediate_size
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config.vocabulary_size, hidden),
        "model.norm.weight": (hidden,),
    }
    if not config.has_tied_embeddings:
        shapes["lm_head.weight"] = (config.vocabulary_size, hidden)
    for layer in range(config.num_layers):
        prefix = f"model.layers.{layer}."
        shapes[prefix + "input_layernorm.weight"] = (hidden,)
        shapes[prefix + "post_attention_layernorm.weight"] = (hidden,)
        for name, size in (("q", query), ("k", kv), ("v", kv)):
            shapes[f"{prefix}self_attn.{name}_proj.weight"] = (size, hidden)
            if config.has_qkv_bias:
                shapes[f"{prefix}self_attn.{name}_proj.bias"] = (size,)
        shapes[prefix + "self_attn.o_proj.weight"] = (hidden, query)
        if config.has_output_bias:
            shapes[prefix + "self_attn.o_proj.bias"] = (hidden,)
        if config.has_head_norms:
            shapes[prefix + "self_attn.q_norm.weight"] = (config.head_size,)
            shapes[prefix + "self_attn.k_norm.weight"] = (config.head_size,)
        shapes[prefix + "mlp.gate_proj.weight"] = (inner, hidden)
        shapes[prefix + "mlp.up_proj.weight"] = (inner, hidden)
        shapes[prefix + "mlp.down_proj.weight"] = (hidden, inner)
    return shapes


def read_weights(directory: Path, config: ModelConfig) -> dict[str, torch.Tensor]:
    """All tensors of the model, memory-mapped, each of the shape that the configuration implies.

    Raises:
        ModelFileError: a file or a tensor is missing, cut short or of another shape.
        UnsupportedModelError: a tensor that our decoder would leave unused: it is some other model.
    """
    expected = expected_shapes(config)
    weights: dict[str, torch.Tensor] = {}
    for path in _files(directory):
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 - it is not a mapping
                    if name in expected:
                        weights[name] = file.get_tensor(name)
                    elif not _is_redundant(name, config):
                        raise UnsupportedModelError(
                            setting="tensor", value=name, supported=f"the tensors of a {config.family} decoder"
                        )
        except (OSError, SafetensorError) as error:
            raise ModelFileError(path=str(path), reason=f"not a whole safetensors file: {error}") from error
    _check_shapes(directory, expected, weights)
    return weights


def _files(directory: Path) -> list[Path]:
    index = directory / _INDEX
    if not index.is_file():
        return [directory / _SINGLE]
    try:
        names = set(json.loads(index.read_bytes())["weight_map"].values())  # noqa: TID251 - the operator's own file
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(path=str(index), reason=f"not a weight index: {error}") from error
    for name in names:
        # A file name, and nothing that could lead out of the directory.
        if not isinstance(name, str) or Path(name).name != name:
            raise ModelFileError(path=str(index), reason=f"names the file {name!r}, which is not in its directory")
    return [directory / name for name in sorted(names)]


def _is_redundant(name: str, config: ModelConfig) -> bool:
    """Tensors that some exporters write though they follow from others."""
    return name.endswith("rotary_emb.inv_freq") or (name == "lm_head.weight" and config.has_tied_embeddings)


def _check_shapes(
    directory: Path, expected: Mapping[str, tuple[int, ...]], weights: Mapping[str, torch.Tensor]
) -> None:
    for name, shape in expected.items():
        if name not in weights:
            raise ModelFileError(path=str(directory), reason=f"tensor {name} is missing")
        if tuple(weights[name].shape) != shape:
            raise ModelFileError(
                path=str(directory), reason=f"tensor {name} has shape {tuple(weights[name].shape)}, expected {shape}"
            )
        if not weights[name].is_floating_point():
            raise ModelFileError(path=str(directory), reason=f"tensor {name} is {weights[name].dtype}, not floating")
