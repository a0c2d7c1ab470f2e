"""What one step computes: a slice of each of several sequences, laid out as rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch

from inference_node.kv_cache import KvCache, LayerKeysValues
from inference_node.row_padding import RowPadding


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The next tokens of one sequence: `token_ids` stand at `start` and after, in the cache's `place`.

    Its bounds follow from the sequence alone, never from what else the step holds: that is half of what makes results
    independent of the batch (the other half is `row_padding`).
    """

    place: int
    start: int
    token_ids: Sequence[int]
    needs_logits: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepBatch:
    """Index tensors of a step. `num_rows` are real, `num_padded_rows` are computed."""

    num_rows: int
    num_padded_rows: int
    token_ids: torch.Tensor
    """[padded rows], int64."""
    positions: torch.Tensor
    """[padded rows], int64."""
    cache_rows: torch.Tensor
    """[rows], int64: where keys and values of each real row go."""
    slice_rows: Sequence[int]
    """How many rows each slice has."""
    keys_values: Sequence[Sequence[LayerKeysValues]]
    """Per slice and layer."""
    masks: Sequence[torch.Tensor | None]
    """Per slice: which keys each row may see, [rows x group, keys] added to scores; None for a single row."""
    logit_rows: torch.Tensor
    """[padded number of slices that need logits], int64."""
    num_logit_rows: int

    @classmethod
    def build(
        cls, slices: Sequence[Slice], cache: KvCache, padding: RowPadding, *, group: int, dtype: torch.dtype
    ) -> Self:
        """Lay out slices in the given order. `group` is the number of query heads per key head."""
        device = cache.layers[0].device
        token_ids: list[int] = []
        positions: list[int] = []
        cache_rows: list[int] = []
        logit_rows: list[int] = []
        for part in slices:
            first = cache.row(part.place, part.start)
            token_ids.extend(part.token_ids)
            positions.extend(range(part.start, part.start + len(part.token_ids)))
            cache_rows.extend(range(first, first + len(part.token_ids)))
            if part.needs_logits:
                logit_rows.append(len(token_ids) - 1)
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
            slice_rows=[len(part.token_ids) for part in slices],
            keys_values=[cache.views(part.place, part.start + len(part.token_ids)) for part in slices],
            masks=[_mask(part, group, dtype, device) for part in slices],
            logit_rows=torch.tensor(logit_rows + logit_filler, dtype=torch.int64, device=device),
            num_logit_rows=len(logit_rows),
        )


def _mask(part: Slice, group: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor | None:
    """Each row sees the keys up to its own; rows of one group's heads stand one after another."""
    num_rows = len(part.token_ids)
    if num_rows == 1:
        return None
    num_keys = part.start + num_rows
    mask = torch.full((num_rows, num_keys), float("-inf"), dtype=dtype, device=device).triu_(diagonal=part.start + 1)
    return mask.repeat(group, 1)
