"""The weights of one layer of the decoder, laid out for few and large products."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import torch

from inference_node.model_config import ModelConfig
from inference_node.projection import Projection
from inference_node.step_batch import StepBatch

ProjectionName = Literal["qkv", "output", "gate_up", "down"]
"""A layer's products: q, k, v side by side; attention's output; gate and up side by side; down."""


class ProjectionAdapters(Protocol):
    """What adapters add to the products of the rows that they apply to."""

    def apply(
        self, layer: int, projection: ProjectionName, inputs: torch.Tensor, outputs: torch.Tensor, batch: StepBatch
    ) -> None:
        """Add to `outputs` [padded rows, out], in place, in the rows of `batch.adapter_rows` alone.

        `inputs` are [padded rows, in]. Called only where the step has such rows.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecoderLayer:
    """q, k, v are one product, gate and up another: small steps are bound by how often weights are read."""

    input_norm: torch.Tensor
    qkv: Projection
    query_norm: torch.Tensor | None
    key_norm: torch.Tensor | None
    output: Projection
    inner_norm: torch.Tensor
    gate_up: Projection
    down: Projection

    @classmethod
    def of(cls, config: ModelConfig, weights: Mapping[str, torch.Tensor], layer: int) -> "DecoderLayer":
        """Take a layer's tensors by their Hugging Face names."""
        prefix = f"model.layers.{layer}."
        attention = prefix + "self_attn."

        def stacked(*names: str) -> torch.Tensor:
            return torch.cat([weights[name] for name in names])

        return cls(
            input_norm=weights[prefix + "input_layernorm.weight"],
            qkv=Projection.of(
                stacked(*(f"{attention}{name}_proj.weight" for name in "qkv")),
                stacked(*(f"{attention}{name}_proj.bias" for name in "qkv")) if config.has_qkv_bias else None,
            ),
            query_norm=weights[attention + "q_norm.weight"] if config.has_head_norms else None,
            key_norm=weights[attention + "k_norm.weight"] if config.has_head_norms else None,
            output=Projection.of(
                weights[attention + "o_proj.weight"],
                weights[attention + "o_proj.bias"] if config.has_output_bias else None,
            ),
            inner_norm=weights[prefix + "post_attention_layernorm.weight"],
            gate_up=Projection.of(stacked(prefix + "mlp.gate_proj.weight", prefix + "mlp.up_proj.weight")),
            down=Projection.of(weights[prefix + "mlp.down_proj.weight"]),
        )

    def projection(self, name: ProjectionName) -> Projection:
        """One of the four by its name."""
        match name:
            case "qkv":
                return self.qkv
            case "output":
                return self.output
            case "gate_up":
                return self.gate_up
            case "down":
                return self.down
