"""An adapter as it is sent: one safetensors file that says what it is, checked against the base before it is believed.

The tensors have PEFT's names (`base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight`). The file's metadata
has two members: `adapter_config`, the text of PEFT's `adapter_config.json`, and `base_digest`, the digest of the model
that it was trained on (`snapshots.model_digest`). `packing.py` makes such a file of a PEFT directory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import torch
from pydantic_core import from_json
from safetensors import SafetensorError
from safetensors.torch import load

from inference_node.adapters.errors import (
    AdapterDigestError,
    AdapterFileError,
    AdapterMismatchError,
    UnsupportedAdapterError,
)
from inference_node.adapters.lora_config import ATTENTION_MODULES, LoraConfig, read_lora_config
from inference_node.model_config import ModelConfig

CONFIG_MEMBER: Final = "adapter_config"
BASE_MEMBER: Final = "base_digest"

_FORMAT: Final = "schemagate-lora-1"
_MAX_HEADER_BYTES: Final = 16 * 1024**2
"""Names, shapes and places of tensors: some 200 bytes each, two tensors a module, seven modules a layer."""
_DTYPES: Final = (torch.float32, torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoraAdapter:
    """An adapter that fits the base. `digest` is of all that makes its function: configuration, base and tensors."""

    digest: str
    config: LoraConfig
    tensors: Mapping[str, torch.Tensor]
    """By PEFT's names: for each module of each layer an A [rank, in] and a B [out, rank], as sent."""

    def pair(self, layer: int, module: str) -> tuple[torch.Tensor, torch.Tensor]:
        """A and B of one module."""
        name = module_name(layer, module)
        return self.tensors[f"{name}.lora_A.weight"], self.tensors[f"{name}.lora_B.weight"]


def read_adapter(body: bytes, base: ModelConfig, *, digest: str, base_digest: str, max_rank: int) -> LoraAdapter:
    """Read what was sent as `digest`, for a model of this configuration and digest.

    Raises:
        AdapterError: it is not whole, not supported, for another base, or has another digest.
    """
    metadata = read_metadata(body)
    if metadata.get(BASE_MEMBER) != base_digest:
        observed = str(metadata.get(BASE_MEMBER, "missing"))[:100]
        raise AdapterMismatchError(what="the base's digest", expected=base_digest, observed=observed)
    config = read_lora_config(_config_members(metadata), max_rank=max_rank)
    try:
        tensors = load(body)
    except (SafetensorError, ValueError, KeyError) as error:
        raise AdapterFileError(reason=f"not a whole safetensors file: {str(error)[:200]}") from error
    _check_tensors(tensors, expected_shapes(base, config))
    observed = adapter_digest(config, tensors, base_digest)
    if observed != digest:
        raise AdapterDigestError(expected=digest, observed=observed)
    return LoraAdapter(digest=digest, config=config, tensors=tensors)


def read_metadata(body: bytes) -> dict[str, Any]:
    """The metadata in the header of a safetensors file. Raises AdapterFileError."""
    length = int.from_bytes(body[:8], "little")
    if len(body) < 8 or length > min(_MAX_HEADER_BYTES, len(body) - 8):
        raise AdapterFileError(reason="not a safetensors file, or one with a larger header than an adapter has")
    try:
        header = from_json(body[8 : 8 + length], allow_inf_nan=False)
    except ValueError as error:
        raise AdapterFileError(reason="its header is not JSON") from error
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else None
    if not isinstance(metadata, dict):
        raise AdapterFileError(reason="its header is not that of a safetensors file")
    return metadata


def adapter_digest(config: LoraConfig, tensors: Mapping[str, torch.Tensor], base_digest: str) -> str:
    """`sha256:…` over the canonical configuration, the base and the tensors in the order of their names.

    It does not depend on how a file orders or describes them, and nothing that changes the function is outside it.
    """
    digest = sha256(f"{_FORMAT}\n{base_digest}\n{config.canonical()}\n".encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.contiguous().view(torch.uint8).numpy().data)
    return f"sha256:{digest.hexdigest()}"


def module_name(layer: int, module: str) -> str:
    """PEFT's name of a module."""
    block = "self_attn" if module in ATTENTION_MODULES else "mlp"
    return f"base_model.model.model.layers.{layer}.{block}.{module}"


def module_sizes(base: ModelConfig) -> dict[str, tuple[int, int]]:
    """How many numbers go into each module, and come out."""
    hidden, inner = base.hidden_size, base.intermediate_size
    return {
        "q_proj": (hidden, base.query_size),
        "k_proj": (hidden, base.kv_size),
        "v_proj": (hidden, base.kv_size),
        "o_proj": (base.query_size, hidden),
        "gate_proj": (hidden, inner),
        "up_proj": (hidden, inner),
        "down_proj": (inner, hidden),
    }


def expected_shapes(base: ModelConfig, config: LoraConfig) -> dict[str, tuple[int, int]]:
    """Every tensor that an adapter of this configuration has for this base."""
    shapes: dict[str, tuple[int, int]] = {}
    sizes = module_sizes(base)
    for layer in range(base.num_layers):
        for module in config.target_modules:
            in_size, out_size = sizes[module]
            shapes[f"{module_name(layer, module)}.lora_A.weight"] = (config.rank, in_size)
            shapes[f"{module_name(layer, module)}.lora_B.weight"] = (out_size, config.rank)
    return shapes


def _config_members(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    text = metadata.get(CONFIG_MEMBER)
    if not isinstance(text, str):
        raise AdapterFileError(reason=f"its metadata has no text {CONFIG_MEMBER!r}")
    try:
        members = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise AdapterFileError(reason=f"{CONFIG_MEMBER} is not JSON") from error
    if not isinstance(members, dict):
        raise AdapterFileError(reason=f"{CONFIG_MEMBER} is not a JSON object")
    return members


def _check_tensors(tensors: Mapping[str, torch.Tensor], expected: Mapping[str, tuple[int, int]]) -> None:
    for name, shape in expected.items():
        tensor = tensors.get(name)
        if tensor is None:
            raise AdapterFileError(reason=f"tensor {name} is missing")
        if tuple(tensor.shape) != shape:
            raise AdapterMismatchError(what=f"the shape of {name}", expected=shape, observed=tuple(tensor.shape))
        if tensor.dtype not in _DTYPES:
            raise UnsupportedAdapterError(
                setting=f"the dtype of {name}", value=str(tensor.dtype), supported="float32, float16, bfloat16"
            )
        if not bool(torch.isfinite(tensor).all()):
            raise AdapterFileError(reason=f"tensor {name} has values that are not finite")
    # What would be left out makes it another adapter: a trained head, an embedding, a bias.
    surplus = sorted(tensors.keys() - expected.keys())
    if surplus:
        raise UnsupportedAdapterError(
            setting="tensor", value=surplus[0], supported="A and B of the target modules of every layer"
        )
