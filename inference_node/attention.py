"""How the rows of a step attend to their sequences' keys; each kind of device has its own way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from inference_node.kv_cache import KvCache, LayerKeysValues, SequenceKeysValues
from inference_node.model_config import ModelConfig
from inference_node.slices import Slice, attention_parts


class StepAttention(Protocol):
    """The attention of one step, laid out before its first layer."""

    def attend(self, queries: torch.Tensor, layer: int) -> torch.Tensor:
        """Rotated queries [padded rows, heads, head size] to [padded rows, query size].

        Called once per layer, when the step's own keys and values are in the cache.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """Rows of one sequence that attend together, and the keys up to the last of them."""

    num_rows: int
    num_keys: int
    mask: torch.Tensor | None
    """Which keys each row may see, [group x rows, keys] added to scores; None for a single row, which sees all."""


class AttentionByParts:
    """Each part of a slice (`attention_parts`) is a call of its own over its own sequence's keys.

    What a call looks like follows from positions alone, so no row feels who shares its step or how its prompt was cut.
    """

    def __init__(self, slices: Sequence[Slice], cache: KvCache, config: ModelConfig, *, num_padded_rows: int) -> None:
        self._config = config
        self._sequences: list[tuple[list[_Part], SequenceKeysValues]] = []
        group = config.num_heads // config.num_kv_heads
        for part in slices:
            parts = _parts(part, group, cache.dtype, cache.device)
            self._sequences.append((parts, cache.views(part.blocks, part.end)))
        self._num_rows = [part.num_rows for parts, _ in self._sequences for part in parts]
        self._filler = torch.zeros(
            (num_padded_rows - sum(self._num_rows), config.num_kv_heads, group, config.head_size),
            dtype=cache.dtype,
            device=cache.device,
        )
        if len(self._filler):
            self._num_rows.append(len(self._filler))

    def attend(self, queries: torch.Tensor, layer: int) -> torch.Tensor:
        """As the protocol says."""
        config = self._config
        queries = queries.view(len(queries), config.num_kv_heads, -1, config.head_size)
        # One by one, these cost as much as a third of the attention itself.
        rows = iter(queries.split_with_sizes(self._num_rows))
        attended = [
            _attend(next(rows), *_beginning(keys, values, part.num_keys), part.mask)
            for parts, keys_values in self._sequences
            for keys, values in (keys_values[layer],)
            for part in parts
        ]
        if len(self._filler):
            attended.append(self._filler)
        return torch.cat(attended).flatten(1)


def _beginning(keys: torch.Tensor, values: torch.Tensor, num_keys: int) -> LayerKeysValues:
    """The first `num_keys`; the last part of a slice sees them all, and in most slices it is the only one."""
    if num_keys == keys.shape[2]:
        return keys, values
    return keys[:, :, :num_keys], values[:, :, :num_keys]


def _parts(part: Slice, group: int, dtype: torch.dtype, device: torch.device) -> list[_Part]:
    parts: list[_Part] = []
    num_keys = part.start
    for num_rows in attention_parts(part):
        num_keys += num_rows
        mask = _mask(num_rows, num_keys, dtype, device).repeat(group, 1) if num_rows > 1 else None
        parts.append(_Part(num_rows=num_rows, num_keys=num_keys, mask=mask))
    return parts


def _mask(num_rows: int, num_keys: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """[rows, keys]: each row sees the keys up to its own."""
    mask = torch.full((num_rows, num_keys), float("-inf"), dtype=dtype, device=device)
    return mask.triu_(diagonal=num_keys - num_rows + 1)


def _attend(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """[rows, kv heads, group, size] to the same.

    The query heads of one key head stand as rows of one problem, so that grouped attention needs no copies of keys.
    """
    if mask is None:
        return F.scaled_dot_product_attention(queries, keys, values)
    num_rows, num_kv_heads, group, size = queries.shape
    stacked = queries.permute(1, 2, 0, 3).reshape(1, num_kv_heads, group * num_rows, size)
    attended = F.scaled_dot_product_attention(stacked, keys, values, attn_mask=mask)
    return attended.view(num_kv_heads, group, num_rows, size).permute(2, 0, 1, 3)
