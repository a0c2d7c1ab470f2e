"""The rows that masks are filled into, in the host's memory, and their way to the device."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from inference_node.bitmask_row import Bitmask
from inference_node.row_upload import RowUpload, Run, upload_for

_FIRST_ROWS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowBlock:
    """Rows `first` to `end`, as the grammar engine writes and the sampler reads them: the same memory."""

    first: int
    end: int
    """The row after the last."""
    words: NDArray[np.int32]
    """[rows, words]"""
    tensor: torch.Tensor
    address: int
    """Of row `first`."""


class MaskRows:
    """Packed int32 rows. Taken and given back by the step loop; between, whoever fills or reads one owns it.

    There are as many as were ever taken at once, in blocks each as large as all before it: growing moves no row, since
    the grammar engine may be writing into one. Rows with low numbers are given first, so those in use are neighbours.
    """

    def __init__(
        self, *, words: int, device: torch.device, capacity: int = _FIRST_ROWS, upload: RowUpload | None = None
    ) -> None:
        self.words: Final = words
        self._device = device
        self._is_pinned = device.type == "cuda"
        self._upload = upload_for(device, words=words) if upload is None else upload
        self._blocks: list[RowBlock] = []
        self._free: list[int] = []
        self._taken: set[int] = set()
        self._lock = Lock()
        self._grow(max(1, capacity))

    @property
    def capacity(self) -> int:
        """Rows that there are."""
        return self._blocks[-1].end

    @property
    def blocks(self) -> Sequence[RowBlock]:
        """All of them, in order."""
        return self._blocks

    def take(self, num_rows: int) -> list[int]:
        """The lowest free rows, ascending. What stands in them is old: fill before reading."""
        with self._lock:
            while len(self._free) < num_rows:
                self._grow(self.capacity)
            rows = [heapq.heappop(self._free) for _ in range(num_rows)]
            self._taken.update(rows)
            return rows

    def give_back(self, rows: Iterable[int]) -> None:
        """No longer needed, and not being filled.

        Raises:
            ValueError: a row that was not taken, or already given back; none is given back.
        """
        with self._lock:
            given = list(rows)
            if len(set(given)) < len(given) or not self._taken.issuperset(given):
                raise ValueError(f"rows {given} were not all taken")
            self._taken.difference_update(given)
            for row in given:
                heapq.heappush(self._free, row)

    def row(self, row: int) -> Bitmask:
        """One row, int32 [words], itself and no copy."""
        block = self.block(row)
        words: Bitmask = block.words[row - block.first]
        return words

    def block(self, row: int) -> RowBlock:
        """Where a row stands."""
        for block in self._blocks:
            if row < block.end:
                return block
        raise IndexError(f"row {row} of {self.capacity}")

    def upload(self, rows: Sequence[int]) -> torch.Tensor:
        """Rows in the order that was asked for, int32 [rows, words], on the device. From one thread at a time.

        On a CPU it may be the rows themselves: it holds until one of them is filled anew.
        """
        if not rows:
            return torch.empty((0, self.words), dtype=torch.int32, device=self._device)
        runs = []
        start = 0
        for index in range(1, len(rows) + 1):
            block = self.block(rows[start])
            if index == len(rows) or rows[index] != rows[index - 1] + 1 or rows[index] == block.end:
                first = rows[start] - block.first
                runs.append(Run(rows=block.tensor[first : first + index - start]))
                start = index
        return self._upload.send(runs)

    def _grow(self, num_rows: int) -> None:
        first = self._blocks[-1].end if self._blocks else 0
        tensor = torch.zeros((num_rows, self.words), dtype=torch.int32, pin_memory=self._is_pinned)
        self._blocks.append(
            RowBlock(first=first, end=first + num_rows, words=tensor.numpy(), tensor=tensor, address=tensor.data_ptr())
        )  # fmt: skip
        for row in range(first, first + num_rows):
            heapq.heappush(self._free, row)
