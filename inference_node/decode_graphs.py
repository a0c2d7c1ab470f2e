"""Steps of a few fixed sizes, captured once and replayed: a step of some hundred kernels is one launch."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import torch

BUCKETS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Row counts that are captured. Up to some 64 rows a step takes as long as reading the weights once."""

_WARM_UPS: Final = 2
"""Runs before a capture: kernels are compiled and libraries set up in the first."""


class Steps(Protocol):
    """Computes a step of a bucket's rows from the buffers that it was made for."""

    def run(self, bucket: int) -> None:
        """In the order of the device's current stream, without waiting for it."""


class CapturedSteps:
    """A CUDA graph for each bucket, all in one pool of memory: only one runs at a time.

    The largest is captured first, so that the others find its memory large enough.
    """

    def __init__(self, buckets: Sequence[int], compute: Callable[[int], None]) -> None:
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        pool = torch.cuda.graph_pool_handle()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch's own
        stream.wait_stream(torch.cuda.current_stream())
        for bucket in sorted(buckets, reverse=True):
            with torch.cuda.stream(stream):
                for _ in range(_WARM_UPS):
                    compute(bucket)
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, stream=stream):
                compute(bucket)
            self._graphs[bucket] = graph
        torch.cuda.current_stream().wait_stream(stream)

    def run(self, bucket: int) -> None:
        """Replay."""
        self._graphs[bucket].replay()


class LaunchedSteps:
    """The same without graphs: kernel by kernel, on any device."""

    def __init__(self, compute: Callable[[int], None]) -> None:
        self._compute = compute

    def run(self, bucket: int) -> None:
        """Compute."""
        self._compute(bucket)


def buckets_up_to(max_rows: int) -> tuple[int, ...]:
    """Those that steps of at most `max_rows` can need."""
    return tuple(bucket for bucket, below in zip(BUCKETS, (0, *BUCKETS), strict=False) if below < max_rows)
