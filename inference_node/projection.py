"""A weight matrix in the layout that this machine multiplies quickest by a few rows."""

from dataclasses import dataclass
from typing import Final, Self

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

_PACKING_ROWS: Final = 8
"""The row count that packed weights are laid out for: a decode step's, in the middle of its range."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projection:
    """`x @ weight.T + bias` with [out, in] weights, laid out once for the CPU's matrix kernels where they exist."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    is_packed: bool
    in_size: int
    out_size: int

    @classmethod
    def of(cls, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Self:
        """Take a weight matrix; on a CPU its layout changes, which halves the time of a small step."""
        out_size, in_size = weight.shape
        is_packed = weight.device.type == "cpu" and can_pack(weight.dtype)
        if is_packed:
            weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), _PACKING_ROWS)  # noqa: SLF001 - the only door to this layout
        return cls(weight=weight, bias=bias, is_packed=is_packed, in_size=in_size, out_size=out_size)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """[n, in] to [n, out]."""
        if self.is_packed:
            product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(rows, self.weight, self.bias, "none", [], "")  # noqa: SLF001 - as above
            return product
        return F.linear(rows, self.weight, self.bias)


def can_pack(dtype: torch.dtype) -> bool:
    """Whether this build of torch has oneDNN's packed layout for `dtype`; torch is pinned, so this is per platform."""
    return (
        dtype in (torch.float32, torch.bfloat16)
        and bool(torch._C._has_mkldnn)  # noqa: SLF001 - what torch.backends.mkldnn answers, typed
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
    )
