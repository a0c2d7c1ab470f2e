"""A step's rows as a device's kernels read them: one array of int32, laid out on the host and copied at once.

For n rows it holds the rows' tokens, positions, first blocks and the rows that need logits, n of each, and then the
sequences' block tables one after another. Where each stands follows from n alone, so that a captured graph of n rows
always reads the same addresses.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import torch

from inference_node.slices import BLOCK_TOKENS, Slice
from inference_node.step_batch import AdapterRows
from kernels.paged_attention import PagedRows

_FIELDS: Final = 4
"""Arrays of one entry a row."""
_NO_POSITION: Final = -1
"""Of a filler: it attends to nothing and stores nothing."""
NUM_HOST_BUFFERS: Final = 2
"""One is laid out while the other's copy may still wait behind the step before."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceRows:
    """Views into the device's array, all int32."""

    token_ids: torch.Tensor
    logit_rows: torch.Tensor
    """Which rows need logits; the rest of it is zeros."""
    places: PagedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLayout:
    """Slices as rows on the host, without fillers at the end."""

    token_ids: Sequence[int]
    positions: Sequence[int]
    first_blocks: Sequence[int]
    logit_rows: Sequence[int]
    """In the order of the slices."""
    blocks: Sequence[int]
    adapter_rows: Sequence[AdapterRows]

    @classmethod
    def of(cls, slices: Sequence[Slice], *, num_tiled_rows: int = 0) -> Self:
        """Lay out slices in their order, but where there are tiles those slices first that fill one.

        `num_tiled_rows` is 0, or at least what `count_rows` says.
        """
        rows = _Rows()
        tiled = [bool(num_tiled_rows) and _is_tiled(part) for part in slices]
        firsts = [0] * len(slices)
        for number, part in enumerate(slices):
            if tiled[number]:
                firsts[number] = rows.add(part)
                rows.fill_up(_tiled(len(rows.token_ids)))
        assert len(rows.token_ids) <= num_tiled_rows or not num_tiled_rows, "tiles for less than the slices need"
        rows.fill_up(num_tiled_rows)
        for number, part in enumerate(slices):
            if not tiled[number]:
                firsts[number] = rows.add(part)
        logit_rows: list[int] = []
        adapter_rows: list[AdapterRows] = []
        for first, part in zip(firsts, slices, strict=True):
            end = first + len(part.token_ids)
            if part.num_logits == 1:
                logit_rows.append(end - 1)
            else:
                logit_rows.extend(range(end - part.num_logits, end))
            if part.adapter:
                adapter_rows.append(AdapterRows(slot=part.adapter, first=first, num_rows=len(part.token_ids)))
        return cls(
            token_ids=rows.token_ids,
            positions=rows.positions,
            first_blocks=rows.first_blocks,
            logit_rows=logit_rows,
            blocks=rows.blocks,
            adapter_rows=adapter_rows,
        )


def count_rows(slices: Sequence[Slice]) -> tuple[int, int]:
    """How many rows of whole tiles the slices have that fill one, and how many the others."""
    tiled = single = 0
    for part in slices:
        if _is_tiled(part):
            tiled += _tiled(len(part.token_ids))
        else:
            single += len(part.token_ids)
    return tiled, single


def _is_tiled(part: Slice) -> bool:
    return len(part.token_ids) >= BLOCK_TOKENS


def _tiled(num_rows: int) -> int:
    return -(-num_rows // BLOCK_TOKENS) * BLOCK_TOKENS


class _Rows:
    """Rows as they come."""

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self.positions: list[int] = []
        self.first_blocks: list[int] = []
        self.blocks: list[int] = []

    def add(self, part: Slice) -> int:
        """The slice's first row."""
        first, first_block = len(self.token_ids), len(self.blocks)
        self.blocks += part.blocks
        if len(part.token_ids) == 1:
            self.token_ids.append(part.token_ids[0])
            self.positions.append(part.start)
            self.first_blocks.append(first_block)
        else:
            self.token_ids += part.token_ids
            self.positions += range(part.start, part.end)
            self.first_blocks += [first_block] * len(part.token_ids)
        return first

    def fill_up(self, num_rows: int) -> None:
        """With rows that stand nowhere."""
        missing = num_rows - len(self.token_ids)
        self.token_ids += [0] * missing
        self.positions += [_NO_POSITION] * missing
        # A tile's blocks are those of its first row, which is real.
        self.first_blocks += [0] * missing


class RowBuffers:
    """The array on the device, and pinned memory that it is copied from. Used from one thread, on one stream."""

    def __init__(self, *, max_rows: int, max_blocks: int, device: torch.device) -> None:
        self.max_rows: Final = max_rows
        self._size = _FIELDS * max_rows + max_blocks
        self._device_array = torch.zeros(self._size, dtype=torch.int32, device=device)
        on_gpu = device.type == "cuda"
        self._host_arrays = [
            torch.zeros(self._size, dtype=torch.int32, pin_memory=on_gpu) for _ in range(NUM_HOST_BUFFERS)
        ]
        self._copied = [_event() for _ in self._host_arrays] if on_gpu else []
        self._next = 0

    def rows(self, num_rows: int) -> DeviceRows:
        """Where a step of so many rows reads."""
        parts = [self._device_array[field * num_rows : (field + 1) * num_rows] for field in range(_FIELDS)]
        blocks = self._device_array[_FIELDS * num_rows :]
        return DeviceRows(
            token_ids=parts[0],
            places=PagedRows(positions=parts[1], first_block=parts[2], blocks=blocks),
            logit_rows=parts[3],
        )

    def load(self, layout: RowLayout, num_rows: int) -> DeviceRows:
        """Copy a layout to the device, filled up to `num_rows`; ordered after the steps before it on the stream."""
        spare = num_rows - len(layout.token_ids)
        assert 0 <= spare <= self.max_rows, "more rows than a step may have"
        flat = array("i", layout.token_ids)
        flat.extend([0] * spare)
        flat.extend(layout.positions)
        flat.extend([_NO_POSITION] * spare)
        flat.extend(layout.first_blocks)
        flat.extend([0] * spare)
        flat.extend(layout.logit_rows)
        flat.extend([0] * (num_rows - len(layout.logit_rows)))
        flat.extend(layout.blocks)
        assert len(flat) <= self._size, "more blocks than the step's sequences may have"
        number, self._next = self._next, (self._next + 1) % NUM_HOST_BUFFERS
        if self._copied:
            # The copy that last read this memory may still be waiting for its turn on the device.
            self._copied[number].synchronize()
        host = self._host_arrays[number][: len(flat)]
        host.copy_(torch.frombuffer(flat, dtype=torch.int32))
        self._device_array[: len(flat)].copy_(host, non_blocking=True)
        if self._copied:
            self._copied[number].record()
        return self.rows(num_rows)


def _event() -> torch.cuda.Event:
    return torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch's own
