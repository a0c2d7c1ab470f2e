"""Adds adapters' products to the rows that have them, so that no row depends on its company.

Matrix kernels are chosen by the number of rows, and add in different orders. So every product here is of one number of
rows, a tile's: rows of one adapter are gathered into tiles, the last is filled up with a row that is there anyway.
Rows without an adapter are not touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch

from inference_node.adapters.low_rank import LowRank, LowRankLayers
from inference_node.step_batch import AdapterRows

TILE_ROWS: Final = 16
"""A decode step's rows fit one or two tiles, a slice of a prompt is a whole number of them."""

_PROBE_SHIFTS: Final = (1, 5, 8, 11)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdapterTile:
    """Up to a tile's rows under one adapter."""

    slot: int
    rows: torch.Tensor
    """[rows of the tile], int64: rows of the step, filled up with the first of them."""
    num_rows: int
    """How many of them are not filling."""

    def add_(self, product: LowRank, inputs: torch.Tensor, outputs: torch.Tensor) -> None:
        """Add the product of the tile's rows of `inputs` to the same rows of `outputs`, in place."""
        added = product(inputs.index_select(0, self.rows))
        outputs.index_add_(0, self.rows[: self.num_rows], added[: self.num_rows])


def cut_into_tiles(runs: Sequence[AdapterRows], rows_of_slot: Sequence[int], device: torch.device) -> list[AdapterTile]:
    """The tiles of one step. `rows_of_slot`: how many real rows a tile of each slot may hold."""
    by_slot: dict[int, list[int]] = {}
    for run in runs:
        by_slot.setdefault(run.slot, []).extend(range(run.first, run.first + run.num_rows))
    tiles = []
    for slot, rows in by_slot.items():
        step = rows_of_slot[slot]
        for start in range(0, len(rows), step):
            real = rows[start : start + step]
            filled = real + real[:1] * (TILE_ROWS - len(real))
            tiles.append(AdapterTile(slot=slot, rows=torch.tensor(filled, device=device), num_rows=len(real)))
    return tiles


@torch.inference_mode()
def rows_of_a_tile(adapter: LowRankLayers) -> int:
    """How many rows of a tile may be used: all, if a row's product is bitwise the same at every place; else the first.

    Measured on the first layer, which has the shapes of all: a sample, not a proof.
    """
    generator = torch.Generator().manual_seed(0)
    for product in adapter.layers[0].values():
        in_size = product.shrink.shape[1]
        rows = torch.randn((TILE_ROWS, in_size), generator=generator).to(product.shrink)
        expected = product(rows)
        for shift in _PROBE_SHIFTS:
            if not torch.equal(product(rows.roll(shift, 0)), expected.roll(shift, 0)):
                return 1
    return TILE_ROWS
