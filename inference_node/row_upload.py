"""How mask rows get to the device that samples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import torch

_NUM_BUFFERS: Final = 3
"""Staging buffers: one that the device reads, one that is packed, and one more for a step laid out ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Neighbouring rows of one chunk, int32 [rows, words], on the host."""

    rows: torch.Tensor


class RowUpload(Protocol):
    """Called from one thread."""

    def send(self, runs: Sequence[Run]) -> torch.Tensor:
        """All rows, in order, int32 [rows, words], on the device."""


class CopyEvent(Protocol):
    """A mark in the device's work, as `torch.cuda.Event` is."""

    def record(self) -> None:
        """Put the mark behind all that was asked of the device until now."""

    def synchronize(self) -> None:
        """Wait until the device has come to the mark. At once where it was never put."""


class HostRows:
    """The sampler runs where the rows are: neighbours are read in place, others are gathered.

    What it gives may be the rows themselves: it holds until one of them is filled anew.
    """

    def send(self, runs: Sequence[Run]) -> torch.Tensor:
        """See `RowUpload`."""
        return runs[0].rows if len(runs) == 1 else torch.cat([run.rows for run in runs])


@dataclass(slots=True, kw_only=True, eq=False)
class _Buffer:
    rows: torch.Tensor
    copied: CopyEvent


class StagedUpload:
    """Rows are packed into pinned memory and copied while the host goes on.

    The rows themselves can be filled anew at once: the device reads the staging buffer, and a buffer is packed again
    only after the event behind its last copy.
    """

    def __init__(
        self, device: torch.device, *, words: int, new_event: Callable[[], CopyEvent], is_pinned: bool
    ) -> None:
        self._device = device
        self._words = words
        self._is_pinned = is_pinned
        self._buffers = [_Buffer(rows=self._allocated(0), copied=new_event()) for _ in range(_NUM_BUFFERS)]
        self._next = 0

    def send(self, runs: Sequence[Run]) -> torch.Tensor:
        """See `RowUpload`. Does not wait for the copy."""
        num_rows = sum(len(run.rows) for run in runs)
        buffer = self._buffers[self._next]
        self._next = (self._next + 1) % _NUM_BUFFERS
        buffer.copied.synchronize()
        if buffer.rows.shape[0] < num_rows:
            buffer.rows = self._allocated(max(num_rows, 2 * buffer.rows.shape[0]))
        packed = buffer.rows[:num_rows]
        if len(runs) == 1:
            packed.copy_(runs[0].rows)
        else:
            torch.cat([run.rows for run in runs], out=packed)
        sent = torch.empty((num_rows, self._words), dtype=torch.int32, device=self._device)
        sent.copy_(packed, non_blocking=True)
        buffer.copied.record()
        return sent

    def _allocated(self, num_rows: int) -> torch.Tensor:
        return torch.empty((num_rows, self._words), dtype=torch.int32, pin_memory=self._is_pinned)


def upload_for(device: torch.device, *, words: int) -> RowUpload:
    """What a device needs."""
    if device.type == "cpu":
        return HostRows()
    return StagedUpload(device, words=words, new_event=torch.cuda.Event, is_pinned=True)
