"""Adapters with random values, as files, and the same function merged into a model's own weights."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save, save_file

from inference_node.adapters.adapter_bank import AdapterBank
from inference_node.adapters.adapter_file import adapter_digest, expected_shapes
from inference_node.adapters.lora_config import MODULES, LoraConfig, read_lora_config
from inference_node.decoder import Decoder
from inference_node.model_config import ModelConfig, read_model_config

BASE = "sha256:" + "b" * 64


def lora_members(**changes: Any) -> dict[str, Any]:
    """What PEFT writes for an ordinary adapter."""
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": "some/model",
        "inference_mode": True,
        "init_lora_weights": True,
        "bias": "none",
        "fan_in_fan_out": False,
        "lora_dropout": 0.05,
        "modules_to_save": None,
        "layers_to_transform": None,
        "rank_pattern": {},
        "use_dora": False,
        "use_rslora": False,
        "r": 4,
        "lora_alpha": 8,
        "target_modules": list(MODULES),
    } | changes


def lora_tensors(base: ModelConfig, config: LoraConfig, *, seed: int = 0, size: float = 0.2) -> dict[str, torch.Tensor]:
    """Random A and B for every module that the configuration names."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: size * torch.randn(shape, generator=generator) for name, shape in expected_shapes(base, config).items()
    }


def new_adapter(
    base: ModelConfig, *, seed: int = 0, base_digest: str = BASE, size: float = 0.2, **changes: Any
) -> tuple[str, bytes]:
    """Digest and file of a random adapter."""
    members = lora_members(**changes)
    config = read_lora_config(members, max_rank=1024)
    tensors = lora_tensors(base, config, seed=seed, size=size)
    metadata = {"adapter_config": json.dumps(members), "base_digest": base_digest}
    return adapter_digest(config, tensors, base_digest), save(tensors, metadata=metadata)


def new_bank(decoder: Decoder, *, max_adapters: int = 4) -> AdapterBank:
    """An empty bank for a decoder, not yet its own."""
    return AdapterBank(
        decoder.config,
        base_digest=lambda: BASE,
        max_adapters=max_adapters,
        max_rank=64,
        dtype=decoder.dtype,
        device=decoder.device,
    )


def write_merged(directory: Path, model: Path, adapter: bytes, members: dict[str, Any]) -> Path:
    """A model directory whose weights are the base's plus the adapter's products, by the definition of LoRA."""
    directory.mkdir()
    for file in model.iterdir():
        if file.suffix == ".json":
            (directory / file.name).write_bytes(file.read_bytes())
    (directory / "adapter").write_bytes(adapter)
    tensors = load_file(directory / "adapter")
    weights = load_file(model / "model.safetensors")
    rank, alpha = members["r"], members["lora_alpha"]
    scale = alpha / (rank**0.5 if members["use_rslora"] else rank)
    for name, shrink in tensors.items():
        if name.endswith("lora_A.weight"):
            expand = tensors[name.replace("lora_A", "lora_B")]
            target = name.removeprefix("base_model.model.").replace("lora_A.weight", "weight")
            weights[target] += scale * (expand @ shrink)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    return directory


def base_of(directory: Path) -> ModelConfig:
    """The configuration of a model directory."""
    return read_model_config(directory)


def random_ids(count: int, seed: int = 0) -> Sequence[int]:
    """Tokens of the real vocabulary."""
    generator = torch.Generator().manual_seed(seed)
    ids: list[int] = torch.randint(0, 49152, (count,), generator=generator).tolist()
    return ids
