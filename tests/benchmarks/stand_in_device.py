"""A device that takes a given time for a pass and computes nothing: what is left of a step is the host's own work.

Tokens are drawn evenly from what a mask allows. The drawing is this file's, and its time is told apart.
"""

import time
from collections.abc import Sequence

import numpy as np
import torch

from inference_node.mask_rows import MaskRows
from inference_node.slices import Slice
from inference_node.step_sampler import Pick, Picked


class StandInRunner:
    """Passes follow each other, each `pass_seconds` long; the host waits for none of them."""

    looks_ahead = True
    reuses_logits = False

    def __init__(self, pass_seconds: float) -> None:
        self._pass_seconds = pass_seconds
        self.done_at = 0.0
        """When the last pass so far is over."""

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        """As `ModelRunner` says; what is returned means nothing."""
        self.done_at = max(self.done_at, time.perf_counter()) + self._pass_seconds
        return torch.zeros((sum(part.num_logits for part in slices), 1))

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        """There are none."""
        raise AssertionError("nothing is saved here")

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        """There are none."""
        raise AssertionError("nothing is restored here")


class StandInSampler:
    """Knows its tokens at once, and says them when the pass that they were picked from is over."""

    def __init__(self, runner: StandInRunner, rows: MaskRows, *, vocabulary_size: int) -> None:
        self._runner = runner
        self._rows = rows
        self._vocabulary_size = vocabulary_size
        self._random = np.random.default_rng(0)
        self.seconds = 0.0
        """Processor time of the drawing."""

    def sample(self, picks: Sequence[Pick]) -> "_Picks":
        """As `StepSampler` does."""
        started = time.thread_time()
        picked = [self._pick(pick) for pick in picks]
        self.seconds += time.thread_time() - started
        return _Picks(picked, self._runner.done_at)

    def _pick(self, pick: Pick) -> Picked:
        if pick.mask_row is None:
            return Picked(int(self._random.integers(self._vocabulary_size)), -1.0, 0.0, self._vocabulary_size)
        mask = self._rows.row(pick.mask_row).view(np.uint8)
        allowing = np.flatnonzero(mask)
        byte = int(allowing[self._random.integers(len(allowing))])
        bits = [bit for bit in range(8) if mask[byte] >> bit & 1]
        return Picked(byte * 8 + bits[int(self._random.integers(len(bits)))], -1.0, 0.5, len(allowing))


class _Picks:
    def __init__(self, picked: list[Picked], done_at: float) -> None:
        self.token_ids = torch.tensor([pick.token_id for pick in picked], dtype=torch.int64)
        self._picked = picked
        self._done_at = done_at

    def wait(self) -> list[Picked]:
        """Until the pass is over."""
        while (left := self._done_at - time.perf_counter()) > 0:
            time.sleep(left)
        return self._picked
