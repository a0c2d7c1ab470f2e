"""The products of one adapter, laid out like the decoder's own: one pair of matrices for each of its projections.

q, k and v are one product of the decoder, gate and up another. Their A matrices stand one under the other, and each B
has its own block of rows and columns, zero elsewhere: two products for each projection, whatever it is made of. The
zeros cost memory (B is twice or three times as large) and save launches, which is what a step of few rows is made of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from inference_node.adapters.adapter_file import LoraAdapter, module_sizes
from inference_node.adapters.errors import AdapterFileError
from inference_node.decoder_layer import ProjectionName
from inference_node.model_config import ModelConfig

MODULES_OF: Final[Mapping[ProjectionName, tuple[str, ...]]] = {
    "qkv": ("q_proj", "k_proj", "v_proj"),
    "output": ("o_proj",),
    "gate_up": ("gate_proj", "up_proj"),
    "down": ("down_proj",),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LowRank:
    """What is added to one projection: `rows @ shrink.T @ expand.T`. The scale is in `expand`."""

    shrink: torch.Tensor
    """[ranks of the modules, in]."""
    expand: torch.Tensor
    """[out, ranks of the modules]."""

    def moved(self, dtype: torch.dtype, device: torch.device) -> "LowRank":
        """The same elsewhere. Raises AdapterFileError where a value is too large for the dtype."""
        moved = LowRank(shrink=self.shrink.to(device, dtype), expand=self.expand.to(device, dtype))
        if not (bool(torch.isfinite(moved.shrink).all()) and bool(torch.isfinite(moved.expand).all())):
            raise AdapterFileError(reason=f"its values are too large for {dtype}, with their scale")
        return moved

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """[n, in] to [n, out]."""
        return F.linear(F.linear(rows, self.shrink), self.expand)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LowRankLayers:
    """An adapter on the model's device, in its dtype: per layer, the projections that it touches."""

    digest: str
    layers: Sequence[Mapping[ProjectionName, LowRank]]
    num_bytes: int

    @classmethod
    def of(cls, adapter: LoraAdapter, base: ModelConfig, *, dtype: torch.dtype, device: torch.device) -> Self:
        """Lay out an adapter. Raises AdapterFileError where a value is too large for the model's dtype."""
        layers = [
            {
                name: _low_rank(adapter, base, layer, modules).moved(dtype, device)
                for name, modules in MODULES_OF.items()
                if any(module in adapter.config.target_modules for module in modules)
            }
            for layer in range(base.num_layers)
        ]
        return cls(
            digest=adapter.digest,
            layers=layers,
            num_bytes=sum(each.shrink.nbytes + each.expand.nbytes for by_name in layers for each in by_name.values()),
        )


def _low_rank(adapter: LoraAdapter, base: ModelConfig, layer: int, modules: tuple[str, ...]) -> LowRank:
    """In float32 on the CPU."""
    sizes = module_sizes(base)
    rank = adapter.config.rank
    shrinks: list[torch.Tensor] = []
    blocks: list[tuple[int, torch.Tensor]] = []
    row = 0
    for module in modules:
        if module in adapter.config.target_modules:
            shrink, block = adapter.pair(layer, module)
            shrinks.append(shrink.float())
            blocks.append((row, block.float() * adapter.config.scale))
        row += sizes[module][1]
    expand = torch.zeros((row, rank * len(blocks)))
    for number, (first, block) in enumerate(blocks):
        expand[first : first + len(block), number * rank : (number + 1) * rank] = block
    return LowRank(shrink=torch.cat(shrinks), expand=expand)
