"""What one step computes, laid out as rows: where each row's token stands, where its keys go, who needs logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch

from inference_node.kv_cache import KvCache
from inference_node.row_padding import RowPadding
from inference_node.slices import Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterRows:
    """A run of rows to which one adapter applies."""

    slot: int
    first: int
    num_rows: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepBatch:
    """Index tensors of a step. `num_rows` are real, `num_padded_rows` are computed.

    The decoder's layers look at nothing else, and never at a tensor's content on the host: a runner may build it around
    buffers of its own and capture what the layers do.
    """

    num_rows: int
    num_padded_rows: int
    token_ids: torch.Tensor
    """[padded rows], int64."""
    positions: torch.Tensor
    """[padded rows], int64."""
    cache_rows: torch.Tensor
    """[rows that are stored], int64: where keys and values of the first so many rows go."""
    adapter_rows: Sequence[AdapterRows]
    """In order; rows without an adapter are in none."""
    logit_rows: torch.Tensor
    """[padded number of rows that need logits], int64."""
    num_logit_rows: int

    @classmethod
    def build(cls, slices: Sequence[Slice], cache: KvCache, padding: RowPadding) -> Self:
        """Lay out slices in the given order."""
        device = cache.device
        token_ids: list[int] = []
        positions: list[int] = []
        cache_rows: list[int] = []
        logit_rows: list[int] = []
        adapter_rows: list[AdapterRows] = []
        for part in slices:
            if part.adapter:
                run = AdapterRows(slot=part.adapter, first=len(token_ids), num_rows=len(part.token_ids))
                adapter_rows.append(run)
            token_ids.extend(part.token_ids)
            positions.extend(range(part.start, part.end))
            cache_rows.extend(cache.rows(part.blocks, part.start, len(part.token_ids)))
            logit_rows.extend(range(len(token_ids) - part.num_logits, len(token_ids)))
        num_rows = len(token_ids)
        num_padded_rows = padding.padded(num_rows)
        filler = [0] * (num_padded_rows - num_rows)
        logit_filler = [0] * (padding.padded(len(logit_rows)) - len(logit_rows)) if logit_rows else []
        return cls(
            num_rows=num_rows,
            num_padded_rows=num_padded_rows,
            token_ids=torch.tensor(token_ids + filler, device=device),
            positions=torch.tensor(positions + filler, device=device),
            cache_rows=torch.tensor(cache_rows, device=device),
            adapter_rows=adapter_rows,
            logit_rows=torch.tensor(logit_rows + logit_filler, dtype=torch.int64, device=device),
            num_logit_rows=len(logit_rows),
        )
