"""Rotary position embedding, as two tables over all positions of the context."""

import math
from dataclasses import dataclass
from typing import Self

import torch

from inference_node.model_config import Llama3Scaling, ModelConfig


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RotaryTables:
    """`cosine`, `sine`: [positions, head_size], computed in float64 and rounded once to the model's dtype.

    `sine` carries the rotation's sign in its first half, so that rotating is two products and a sum.
    """

    cosine: torch.Tensor
    sine: torch.Tensor

    @classmethod
    def build(cls, config: ModelConfig, *, num_positions: int, dtype: torch.dtype, device: torch.device) -> Self:
        """Tables for positions 0 up to, not including, `num_positions`."""
        frequencies = _frequencies(config)
        angles = torch.outer(torch.arange(num_positions, dtype=torch.float64), frequencies)
        cosine, sine = angles.cos(), angles.sin()
        return cls(
            cosine=torch.cat((cosine, cosine), dim=-1).to(device=device, dtype=dtype),
            sine=torch.cat((-sine, sine), dim=-1).to(device=device, dtype=dtype),
        )


def rotate_(heads: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> None:
    """Rotate heads [rows, heads, head_size] in place; `cosine` and `sine` are [rows, 1, head_size]."""
    halves_swapped = heads.roll(heads.shape[-1] // 2, dims=-1)
    heads.mul_(cosine).addcmul_(halves_swapped, sine)


def _frequencies(config: ModelConfig) -> torch.Tensor:
    """Radians per position of each rotated pair, [head_size / 2], float64."""
    exponents = torch.arange(0, config.head_size, 2, dtype=torch.float64) / config.head_size
    frequencies = config.rope_theta**-exponents
    return frequencies if config.rope_scaling is None else _stretched(frequencies, config.rope_scaling)


def _stretched(frequencies: torch.Tensor, scaling: Llama3Scaling) -> torch.Tensor:
    """Llama 3.1: slow rotations are slowed by `factor`, quick ones kept, those between interpolated."""
    wavelengths = 2 * math.pi / frequencies
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    smooth = ((scaling.original_context_tokens / wavelengths - low) / (high - low)).clamp(0, 1)
    return (1 - smooth) * frequencies / scaling.factor + smooth * frequencies
