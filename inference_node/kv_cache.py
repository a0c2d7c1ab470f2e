"""Keys and values of the sequences that run, in blocks that sequences can share."""

from collections.abc import Sequence
from typing import Final, Protocol

import torch

from inference_node.model_config import ModelConfig
from inference_node.slices import BLOCK_TOKENS

LayerKeysValues = tuple[torch.Tensor, torch.Tensor]
"""Keys and values of one sequence in one layer, each [1, kv heads, tokens, head size]."""


class SequenceKeysValues(Protocol):
    """One sequence's keys and values, by layer."""

    def __getitem__(self, layer: int, /) -> LayerKeysValues:
        """As they stand now: ask for a layer after its last write."""


def kv_bytes_per_token(config: ModelConfig, dtype: torch.dtype) -> int:
    """What one token of context costs."""
    return config.num_layers * 2 * config.kv_size * dtype.itemsize


def kv_bytes_per_block(config: ModelConfig, dtype: torch.dtype) -> int:
    """What one block of context costs."""
    return BLOCK_TOKENS * kv_bytes_per_token(config, dtype)


class KvCache:
    """Owns the memory: [layers, blocks x block tokens, keys | values]. Which block is whose, `BlockPool` says.

    Rows past a sequence's length are never read, so a block needs no cleaning between owners. Memory is reserved at
    once; on a CPU the system backs it with pages only as they are written.
    """

    def __init__(self, config: ModelConfig, *, num_blocks: int, dtype: torch.dtype, device: torch.device) -> None:
        self.num_blocks: Final = num_blocks
        self.dtype: Final = dtype
        self.device: Final = device
        self._config = config
        self._rows = torch.empty(
            (config.num_layers, num_blocks * BLOCK_TOKENS, 2 * config.kv_size), dtype=dtype, device=device
        )
        self.layers: Final = self._rows.unbind(0)
        """Per layer: [blocks x block tokens, keys | values]."""

    def row(self, blocks: Sequence[int], position: int) -> int:
        """Where in a layer a token of a sequence lives."""
        index, offset = divmod(position, BLOCK_TOKENS)
        return blocks[index] * BLOCK_TOKENS + offset

    def rows(self, blocks: Sequence[int], start: int, length: int) -> list[int]:
        """The same for `length` tokens from `start` on."""
        return [self.row(blocks, position) for position in range(start, start + length)]

    def views(self, blocks: Sequence[int], num_tokens: int) -> SequenceKeysValues:
        """The first `num_tokens` of a sequence: without a copy where its blocks follow each other, gathered elsewhere.

        Both have the same strides from token to token, so attention over them is the same to the bit.
        """
        used = blocks[: -(-num_tokens // BLOCK_TOKENS)]
        first = used[0]
        if list(used) == list(range(first, first + len(used))):
            # All layers at once: a view costs a microsecond or so, and there would be hundreds of them in a step.
            keys, values = _keys_values(self._rows.narrow(1, first * BLOCK_TOKENS, num_tokens), self._config)
            return list(zip(keys.unbind(0), values.unbind(0), strict=True))
        return _GatheredKeysValues(self, self._config, used, num_tokens)

    def read(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        """A copy on the CPU of the first `num_tokens`, [layers, tokens, keys | values]."""
        rows = torch.tensor(self.rows(blocks, 0, num_tokens), dtype=torch.int64, device=self.device)
        return self._rows.index_select(1, rows).cpu()

    def write(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        """Store what `read` gave for a sequence with these blocks.

        Raises:
            ValueError: another shape or dtype than this cache's, or more tokens than the blocks hold.
        """
        num_layers, _, width = self._rows.shape
        num_tokens = keys_values.shape[1] if keys_values.dim() == 3 else -1
        if keys_values.dtype != self.dtype or tuple(keys_values.shape) != (num_layers, num_tokens, width):
            raise ValueError(
                f"keys and values are {keys_values.dtype} {tuple(keys_values.shape)}, "
                f"this cache holds {self.dtype} [{num_layers}, tokens, {width}]"
            )
        if num_tokens > len(blocks) * BLOCK_TOKENS:
            raise ValueError(f"{num_tokens} tokens do not fit {len(blocks)} blocks of {BLOCK_TOKENS}")
        rows = torch.tensor(self.rows(blocks, 0, num_tokens), dtype=torch.int64, device=self.device)
        self._rows.index_copy_(1, rows, keys_values.to(self.device))


class _GatheredKeysValues:
    """Copies a sequence's blocks together, a layer at a time: some 5 µs for 500 tokens, against 40 of attention."""

    def __init__(self, cache: KvCache, config: ModelConfig, blocks: Sequence[int], num_tokens: int) -> None:
        self._cache = cache
        self._config = config
        self._blocks = torch.tensor(blocks, dtype=torch.int64, device=cache.device)
        self._num_tokens = num_tokens

    def __getitem__(self, layer: int, /) -> LayerKeysValues:
        by_block = self._cache.layers[layer].view(self._cache.num_blocks, BLOCK_TOKENS, -1)
        rows = by_block.index_select(0, self._blocks).flatten(0, 1)
        return _keys_values(rows[: self._num_tokens], self._config)


def _keys_values(rows: torch.Tensor, config: ModelConfig) -> LayerKeysValues:
    """[..., tokens, keys | values] as keys and values, each [..., 1, kv heads, tokens, head size], without a copy."""
    tokens = rows.view(*rows.shape[:-1], 2, config.num_kv_heads, config.head_size)
    keys, values = tokens.unbind(-3)
    return keys.transpose(-3, -2).unsqueeze(-4), values.transpose(-3, -2).unsqueeze(-4)
