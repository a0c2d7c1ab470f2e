"""Steps of a few fixed shapes, captured once and replayed: a step of some hundred kernels is one launch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Protocol

import torch

from inference_node.slices import BLOCK_TOKENS

SINGLE_ROWS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Row counts of steps whose rows attend each for itself. Up to some 64 a step takes as long as reading the weights."""
TILED_ROWS: Final = (64, 128, 256, 512, 1024, 2048)
"""Rows of prompts that attend in tiles, in steps that have some."""
SINGLE_ROWS_BESIDE_TILES: Final = (64, 256)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShape:
    """What a graph is captured for: so many rows in tiles, then so many single ones."""

    num_tiled_rows: int
    num_single_rows: int

    @property
    def num_rows(self) -> int:
        """All of them."""
        return self.num_tiled_rows + self.num_single_rows

    @property
    def num_logits(self) -> int:
        """For how many rows logits are computed: one of each tile, and all single ones."""
        return self.num_tiled_rows // BLOCK_TOKENS + self.num_single_rows

    def holds(self, num_tiled_rows: int, num_single_rows: int, num_logits: int) -> bool:
        """Whether a step fits."""
        return (
            num_tiled_rows <= self.num_tiled_rows
            and num_single_rows <= self.num_single_rows
            and num_logits <= self.num_logits
        )


def step_shapes(*, max_rows: int, multiple: int, has_tiles: bool) -> list[StepShape]:
    """Those that steps of at most `max_rows` can need, cheapest first; rows are whole multiples of `multiple`."""
    single = [rows for rows in _up_to(SINGLE_ROWS, max(max_rows, multiple)) if rows % multiple == 0]
    shapes = [StepShape(num_tiled_rows=0, num_single_rows=rows) for rows in single]
    if has_tiles and max_rows >= BLOCK_TOKENS:
        beside = _up_to(SINGLE_ROWS_BESIDE_TILES, max_rows)
        shapes += [
            StepShape(num_tiled_rows=tiled, num_single_rows=rows)
            for tiled, rows in product(_up_to(TILED_ROWS, max_rows), beside)
        ]
    return sorted(shapes, key=lambda shape: shape.num_rows)


def _up_to(counts: Sequence[int], max_rows: int) -> list[int]:
    """The counts below `max_rows`, and the next."""
    return [count for count, below in zip(counts, (0, *counts), strict=False) if below < max_rows]


_WARM_UPS: Final = 2
"""Runs before a capture: kernels are compiled and libraries set up in the first."""


class Steps(Protocol):
    """Computes a step of a shape from the buffers that it was made for."""

    def run(self, shape: StepShape) -> None:
        """In the order of the device's current stream, without waiting for it."""


class CapturedSteps:
    """A CUDA graph for each shape, all in one pool of memory: only one runs at a time.

    The largest is captured first, so that the others find its memory large enough.
    """

    def __init__(self, shapes: Sequence[StepShape], compute: Callable[[StepShape], None]) -> None:
        self._graphs: dict[StepShape, torch.cuda.CUDAGraph] = {}
        pool = torch.cuda.graph_pool_handle()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch's own
        stream.wait_stream(torch.cuda.current_stream())
        for shape in sorted(shapes, key=lambda shape: shape.num_rows, reverse=True):
            with torch.cuda.stream(stream):
                for _ in range(_WARM_UPS):
                    compute(shape)
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, stream=stream):
                compute(shape)
            self._graphs[shape] = graph
        torch.cuda.current_stream().wait_stream(stream)

    def run(self, shape: StepShape) -> None:
        """Replay."""
        self._graphs[shape].replay()


class LaunchedSteps:
    """The same without graphs: kernel by kernel, on any device."""

    def __init__(self, compute: Callable[[StepShape], None]) -> None:
        self._compute = compute

    def run(self, shape: StepShape) -> None:
        """Compute."""
        self._compute(shape)
