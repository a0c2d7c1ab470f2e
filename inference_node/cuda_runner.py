"""The model on a GPU, as the step loop asks for it.

A step is a replay of a captured graph, whatever its slices are: single tokens, drafts, pieces of prompts. One that fits
no graph, or has an adapter, is launched kernel by kernel, which costs the host some 15 ms.
"""

import os
from collections.abc import Sequence
from typing import Final

import torch

from inference_node.decode_graphs import CapturedSteps, LaunchedSteps, Steps, StepShape, step_shapes
from inference_node.decoder import Decoder
from inference_node.device_decoder import DeviceDecoder
from inference_node.device_rows import DeviceRows, RowBuffers, RowLayout, count_rows
from inference_node.kv_cache import KvCache
from inference_node.row_agreement import check_row_agreement
from inference_node.slices import BLOCK_TOKENS, Slice
from inference_node.step_batch import StepBatch

DETERMINISTIC_ROWS: Final = 64
"""Rows of every matrix product of a deterministic node. Up to so many a product takes as long as reading its weights
once, so a decoding step of fewer pays for no more than it needs to."""


class CudaRunner:
    """A decoder with its cache on one device. Logits are in the model's dtype and overwritten by the next step.

    Deterministic: every product has `DETERMINISTIC_ROWS` rows, every row attends alone, and it is measured at start
    that rows then agree bitwise in any company. Otherwise a row can differ in its last bits with its company's size.
    """

    looks_ahead: Final = True
    reuses_logits: Final = True

    def __init__(
        self,
        decoder: Decoder,
        cache: KvCache,
        *,
        context_tokens: int,
        max_sequences: int,
        max_step_rows: int,
        is_deterministic: bool = False,
        has_graphs: bool = True,
    ) -> None:
        """Seconds: compiles kernels and captures graphs.

        `max_sequences` bounds the slices of a step, `max_step_rows` their tokens. `has_graphs` is for comparison.

        Raises:
            UnsupportedModelError: deterministic, and rows do not agree on this device.
        """
        if is_deterministic:
            # Read when the library first needs it: one workspace of fixed size, so that no split of a product depends
            # on what memory was free.
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        self.decoder: Final = decoder
        self.cache: Final = cache
        self.is_deterministic: Final = is_deterministic
        self._context_tokens = context_tokens
        self._has_tiles = not is_deterministic
        self._multiple = DETERMINISTIC_ROWS if is_deterministic else BLOCK_TOKENS
        self._layers = DeviceDecoder(
            decoder,
            cache,
            context_tokens=context_tokens,
            rows_per_product=DETERMINISTIC_ROWS if is_deterministic else None,
        )
        largest_step = max(max_step_rows, max_sequences)
        self._shapes = step_shapes(
            max_rows=largest_step, multiple=DETERMINISTIC_ROWS if is_deterministic else 1, has_tiles=self._has_tiles
        )
        # Tiles leave up to a block of fillers behind each slice.
        most_rows = max(self._shapes[-1].num_rows, self._padded(largest_step + max_sequences * BLOCK_TOKENS))
        self._buffers = RowBuffers(
            max_rows=most_rows,
            max_blocks=max_sequences * -(-context_tokens // BLOCK_TOKENS),
            device=decoder.device,
        )
        self._logits = torch.empty(
            (max(shape.num_logits for shape in self._shapes), decoder.config.vocabulary_size),
            dtype=decoder.dtype,
            device=decoder.device,
        )
        self._steps = self._prepare(has_graphs=has_graphs and decoder.device.type == "cuda")
        if is_deterministic:
            check_row_agreement(
                self,
                max_sequences=max_sequences,
                max_step_rows=max_step_rows,
                context_tokens=context_tokens,
                num_blocks=cache.num_blocks,
                vocabulary_size=decoder.config.vocabulary_size,
            )

    @torch.inference_mode()
    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        """As `ModelRunner` says; returns before the device is done."""
        # Past it there are neither rotations nor room for partial results: keys would be left out.
        assert all(part.end <= self._context_tokens for part in slices), "a slice goes past the context"
        tiled, single = count_rows(slices)
        if not self._has_tiles:
            tiled, single = 0, sum(len(part.token_ids) for part in slices)
        num_logits = sum(part.num_logits for part in slices)
        shape = next((shape for shape in self._shapes if shape.holds(tiled, single, num_logits)), None)
        if shape is None or any(part.adapter for part in slices):
            return self._launch(slices, tiled, ahead)
        rows = self._buffers.load(RowLayout.of(slices, num_tiled_rows=shape.num_tiled_rows), shape.num_rows)
        _take_ahead(rows, ahead, first=shape.num_tiled_rows)
        self._steps.run(shape)
        return self._logits[:num_logits]

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        """As `ModelRunner` says; waits for the device."""
        return self.cache.read(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        """As `ModelRunner` says."""
        self.cache.write(blocks, keys_values)

    @torch.inference_mode()
    def _prepare(self, *, has_graphs: bool) -> Steps:
        if not has_graphs:
            return LaunchedSteps(self._compute)
        nothing = RowLayout.of([])

        def compute(shape: StepShape) -> None:
            if not torch.cuda.is_current_stream_capturing():
                self._buffers.load(nothing, shape.num_rows)
            self._compute(shape)

        return CapturedSteps(self._shapes, compute)

    def _compute(self, shape: StepShape) -> None:
        rows = self._buffers.rows(shape.num_rows)
        normed = self._layers.hidden(rows, num_tiled_rows=shape.num_tiled_rows)
        self._layers.write_logits(normed, rows, self._logits[: shape.num_logits])

    def _launch(self, slices: Sequence[Slice], num_tiled_rows: int, ahead: torch.Tensor | None) -> torch.Tensor:
        """A step without a graph: of any number of rows, with adapters."""
        layout = RowLayout.of(slices, num_tiled_rows=num_tiled_rows)
        num_rows, num_logits = self._padded(len(layout.token_ids)), len(layout.logit_rows)
        rows = self._buffers.load(layout, num_rows)
        _take_ahead(rows, ahead, first=num_tiled_rows)
        adapted = _step_batch(layout, rows) if layout.adapter_rows else None
        normed = self._layers.hidden(rows, num_tiled_rows=num_tiled_rows, adapted=adapted)
        num_padded_logits = self._padded(num_logits) if num_logits else 0
        logits = self._logits[:num_padded_logits]
        if num_padded_logits > len(logits):
            logits = logits.new_empty((num_padded_logits, logits.shape[1]))
        if num_logits:
            self._layers.write_logits(normed, rows, logits)
        return logits[:num_logits]

    def _padded(self, num_rows: int) -> int:
        return -(-num_rows // self._multiple) * self._multiple


def _take_ahead(rows: DeviceRows, ahead: torch.Tensor | None, *, first: int) -> None:
    """Single tokens stand behind the tiles, in the order of their slices, and these are the first of them."""
    if ahead is not None:
        rows.token_ids[first : first + len(ahead)].copy_(ahead)


def _step_batch(layout: RowLayout, rows: DeviceRows) -> StepBatch:
    """The rows as adapters know them."""
    return StepBatch(
        num_rows=len(layout.token_ids),
        num_padded_rows=len(rows.token_ids),
        token_ids=rows.token_ids,
        positions=rows.places.positions,
        cache_rows=rows.token_ids[:0],
        adapter_rows=layout.adapter_rows,
        logit_rows=rows.logit_rows,
        num_logit_rows=len(layout.logit_rows),
    )
