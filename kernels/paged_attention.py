"""Attention of single tokens over a paged cache: each row sees its own sequence's keys, 0 up to its own position.

A row's result depends on its query and its keys alone, bit for bit: keys are attended in splits of fixed size, counted
from the sequence's first token, and combined in the order of the splits. Neither the number of rows nor how many
programs share the work has a part in it. So decoding, a prompt cut anywhere, and a repetition agree.

On a CUDA device the work is two Triton kernels (`paged_attention_kernels.py`); elsewhere it is the plain definition in
torch, which is also what tests hold the kernels to.
"""

import math
from dataclasses import dataclass
from typing import Final

import torch

SPLIT_KEYS: Final = 128
"""Keys of a split. A part of the function: another size adds in another order."""


class PagedAttentionError(ValueError):
    """Shapes, types or devices that do not fit. Nothing was computed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PagedRows:
    """Where rows stand. All tensors are int32, contiguous and on one device."""

    positions: torch.Tensor
    """[rows]: each row's place in its sequence; -1: a filler, whose result is zeros."""
    first_block: torch.Tensor
    """[rows]: where in `blocks` the row's sequence begins."""
    blocks: torch.Tensor
    """Block tables one after another. A block is `block_tokens` rows of the cache that stand together."""

    def part(self, start: int, end: int) -> "PagedRows":
        """Some of the rows, over the same blocks."""
        return PagedRows(
            positions=self.positions[start:end], first_block=self.first_block[start:end], blocks=self.blocks
        )


def paged_attention(
    queries: torch.Tensor,
    keys_values: torch.Tensor,
    rows: PagedRows,
    *,
    num_kv_heads: int,
    block_tokens: int,
    max_tokens: int,
    rows_per_tile: int = 1,
) -> torch.Tensor:
    """Softmax attention of queries [rows, heads, size] over a layer of the cache, to [rows, heads x size].

    `keys_values` is [cache rows, keys | values], each `num_kv_heads` x size wide; heads are grouped, neighbours share a
    key head. Scores are scaled by 1/sqrt(size). `max_tokens` is above every position. With `rows_per_tile` above 1 so
    many neighbouring rows share one reading of the keys; the real ones among them must be of one sequence.

    Nothing here waits for the device or depends on what the tensors hold, so that it can be captured in a graph.

    Raises:
        PagedAttentionError: shapes, types or devices do not fit.
    """
    _check(queries, keys_values, rows, num_kv_heads, rows_per_tile)
    if not queries.is_cuda:
        return attend_by_definition(queries, keys_values, rows, num_kv_heads=num_kv_heads, block_tokens=block_tokens)
    from kernels.paged_attention_kernels import attend_by_kernel

    return attend_by_kernel(
        queries,
        keys_values,
        rows,
        num_kv_heads=num_kv_heads,
        block_tokens=block_tokens,
        max_tokens=max_tokens,
        rows_per_tile=rows_per_tile,
    )


def attend_by_definition(
    queries: torch.Tensor, keys_values: torch.Tensor, rows: PagedRows, *, num_kv_heads: int, block_tokens: int
) -> torch.Tensor:
    """The same function row by row in torch, in float32 or wider, for arguments that were checked."""
    num_rows, num_heads, size = queries.shape
    wide = torch.promote_types(queries.dtype, torch.float32)
    attended = queries.new_zeros((num_rows, num_heads, size))
    within = torch.arange(block_tokens, device=queries.device)
    for row, (position, first) in enumerate(zip(rows.positions.tolist(), rows.first_block.tolist(), strict=True)):
        if position < 0:
            continue
        blocks = rows.blocks[first : first + position // block_tokens + 1].long()
        cache_rows = (blocks.unsqueeze(1) * block_tokens + within).flatten()[: position + 1]
        keys, values = keys_values[cache_rows].to(wide).view(position + 1, 2, num_kv_heads, 1, size).unbind(1)
        grouped = queries[row].to(wide).view(1, num_kv_heads, -1, size)
        weights = ((grouped * keys).sum(-1, keepdim=True) / math.sqrt(size)).softmax(0)
        attended[row] = (weights * values).sum(0).view(num_heads, size).to(queries.dtype)
    return attended.view(num_rows, num_heads * size)


def _check(
    queries: torch.Tensor, keys_values: torch.Tensor, rows: PagedRows, num_kv_heads: int, rows_per_tile: int
) -> None:
    if queries.ndim != 3 or not queries.is_floating_point() or queries.stride()[1:] != (queries.shape[2], 1):
        raise PagedAttentionError(
            f"queries must be floating [rows, heads, size] with whole rows, not {queries.dtype} {tuple(queries.shape)}"
        )
    num_rows, num_heads, size = queries.shape
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise PagedAttentionError(f"{num_heads} query heads cannot share {num_kv_heads} key heads")
    if keys_values.ndim != 2 or keys_values.shape[1] != 2 * num_kv_heads * size or keys_values.stride(1) != 1:
        raise PagedAttentionError(
            f"a cache row is {2 * num_kv_heads * size} wide here, not {tuple(keys_values.shape)[1:]}"
        )
    if keys_values.dtype != queries.dtype or keys_values.device != queries.device:
        raise PagedAttentionError(
            f"queries of {queries.dtype} on {queries.device}, a cache of {keys_values.dtype} on {keys_values.device}"
        )
    if rows.positions.shape != (num_rows,) or rows.first_block.shape != (num_rows,) or rows.blocks.ndim != 1:
        raise PagedAttentionError(f"{tuple(rows.positions.shape)} positions for {num_rows} rows")
    for tensor in (rows.positions, rows.first_block, rows.blocks):
        if tensor.dtype != torch.int32 or not tensor.is_contiguous() or tensor.device != queries.device:
            raise PagedAttentionError(f"positions and blocks must be int32 beside the queries, not {tensor.dtype}")
    if rows_per_tile < 1 or num_rows % rows_per_tile:
        raise PagedAttentionError(f"{num_rows} rows are no whole number of tiles of {rows_per_tile}")
