"""The two Triton kernels of paged attention: partial results of each split of keys, then their combination."""

import math
from typing import Final

import torch
import triton
import triton.language as tl

from kernels.paged_attention import SPLIT_KEYS, PagedRows

_SPLITS_AT_ONCE: Final = tl.constexpr(8)
"""Splits that are added as one tree before they join what came before."""
_LEAST_DOT_SIDE: Final = 16
"""The least rows and columns of a product on the matrix units."""
_MOST_DOT_ROWS: Final = 128
"""More would not stay in registers; a tile of rows is halved until it fits."""
_MAX_SCRATCH_FLOATS: Final = 1 << 26
"""256 MiB of partial results at a time; more rows are attended in several launches, which no row notices."""
ATTENTION_WARPS: Final = 4
"""Of a program that attends for one row; a large tile has twice as many."""
_BUSY_PROGRAMS: Final = 1024
"""About what keeps every multiprocessor of a large GPU busy. More programs for rows that are short are only started
to leave at once."""


def attend_by_kernel(
    queries: torch.Tensor,
    keys_values: torch.Tensor,
    rows: PagedRows,
    *,
    num_kv_heads: int,
    block_tokens: int,
    max_tokens: int,
    rows_per_tile: int = 1,
) -> torch.Tensor:
    """`paged_attention.paged_attention` for arguments that were checked there."""
    num_rows, num_heads, size = queries.shape
    attended = queries.new_empty((num_rows, num_heads * size))
    num_splits = -(-max_tokens // SPLIT_KEYS)
    rows_at_once = max(1, _MAX_SCRATCH_FLOATS // (num_heads * num_splits * (size + 2) * rows_per_tile)) * rows_per_tile
    for start in range(0, num_rows, rows_at_once):
        end = min(num_rows, start + rows_at_once)
        _attend(
            queries[start:end],
            keys_values,
            rows.part(start, end),
            attended[start:end],
            num_kv_heads=num_kv_heads,
            block_tokens=block_tokens,
            num_splits=num_splits,
            rows_per_tile=rows_per_tile,
        )
    return attended


def _attend(
    queries: torch.Tensor,
    keys_values: torch.Tensor,
    rows: PagedRows,
    attended: torch.Tensor,
    *,
    num_kv_heads: int,
    block_tokens: int,
    num_splits: int,
    rows_per_tile: int,
) -> None:
    num_rows, num_heads, size = queries.shape
    group = num_heads // num_kv_heads
    while rows_per_tile > 1 and rows_per_tile * group > _MOST_DOT_ROWS:
        rows_per_tile //= 2
    padded_group = max(triton.next_power_of_2(group), -(-_LEAST_DOT_SIDE // rows_per_tile))
    padded_size = max(triton.next_power_of_2(size), _LEAST_DOT_SIDE)
    weighted = queries.new_empty((num_rows, num_heads, num_splits, size), dtype=torch.float32)
    extent = queries.new_empty((num_rows, num_heads, num_splits, 2), dtype=torch.float32)
    num_tiles = num_rows // rows_per_tile
    strides = min(num_splits, max(1, _BUSY_PROGRAMS // (num_tiles * num_kv_heads)))
    _attend_splits[(num_tiles, num_kv_heads, strides)](
        queries,
        keys_values,
        rows.positions,
        rows.first_block,
        rows.blocks,
        weighted,
        extent,
        queries.stride(0),
        keys_values.stride(0),
        math.log2(math.e) / math.sqrt(size),
        num_splits,
        NUM_HEADS=num_heads,
        GROUP=group,
        PADDED_GROUP=padded_group,
        SIZE=size,
        PADDED_SIZE=padded_size,
        ROWS=rows_per_tile,
        SPLIT=SPLIT_KEYS,
        BLOCK=block_tokens,
        num_warps=ATTENTION_WARPS * (2 if rows_per_tile * padded_group > _MOST_DOT_ROWS // 2 else 1),
    )
    _combine_splits[(num_rows, num_heads)](
        rows.positions,
        weighted,
        extent,
        attended,
        num_splits,
        NUM_HEADS=num_heads,
        SIZE=size,
        PADDED_SIZE=padded_size,
        SPLIT=SPLIT_KEYS,
        num_warps=2,
    )


@triton.jit
def _attend_splits(
    queries,
    keys_values,
    positions,
    first_block,
    blocks,
    weighted,
    extent,
    query_stride,
    cache_stride,
    scale,
    num_splits,
    NUM_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    PADDED_GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    PADDED_SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    SPLIT: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Program (tile of rows, key head, n): splits n, n + programs, n + 2 programs and so on, each for itself.

    Per row, head and split: the largest score (times log2 e), the sum of exponentials, and the weighted values.
    """
    tile = tl.program_id(0)
    kv_head = tl.program_id(1)
    # Rows of the tile times heads of the group stand as rows of one product.
    member = tl.arange(0, ROWS * PADDED_GROUP)
    row = tile * ROWS + member // PADDED_GROUP
    head = kv_head * GROUP + member % PADDED_GROUP
    position = tl.load(positions + row)
    is_real = (member % PADDED_GROUP < GROUP) & (position >= 0)
    last = tl.max(position, 0)
    if last < 0:
        return
    table = blocks + tl.load(first_block + tile * ROWS)
    column = tl.arange(0, PADDED_SIZE)
    in_size = column < SIZE
    query = tl.load(
        queries + row.to(tl.int64)[:, None] * query_stride + head[:, None] * SIZE + column[None, :],
        mask=is_real[:, None] & in_size[None, :],
        other=0.0,
    )
    split = tl.program_id(2)
    while split < tl.minimum(last // SPLIT + 1, num_splits):
        key = split * SPLIT + tl.arange(0, SPLIT)
        is_key = key <= last
        block = tl.load(table + key // BLOCK, mask=is_key, other=0)
        cache_row = block.to(tl.int64) * BLOCK + key % BLOCK
        place = keys_values + cache_row[:, None] * cache_stride + kv_head * SIZE + column[None, :]
        is_loaded = is_key[:, None] & in_size[None, :]
        keys = tl.load(place, mask=is_loaded, other=0.0)
        values = tl.load(place + (NUM_HEADS // GROUP) * SIZE, mask=is_loaded, other=0.0)
        scores = tl.dot(query, tl.trans(keys), input_precision="tf32x3") * scale
        scores = tl.where(key[None, :] <= position[:, None], scores, float("-inf"))
        largest = tl.max(scores, 1)
        # A row of the tile that ends before this split: nothing is subtracted, so that no NaN comes up on the way.
        shift = tl.where(largest == float("-inf"), 0.0, largest)
        weights = tl.exp2(scores - shift[:, None])
        total = tl.sum(weights, 1)
        mixed = tl.dot(weights.to(values.dtype), values, input_precision="tf32x3")
        slot = (row.to(tl.int64) * NUM_HEADS + head) * num_splits + split
        tl.store(extent + slot * 2, largest, mask=is_real)
        tl.store(extent + slot * 2 + 1, total, mask=is_real)
        tl.store(weighted + slot[:, None] * SIZE + column[None, :], mixed, mask=is_real[:, None] & in_size[None, :])
        split += tl.num_programs(2)


@triton.jit
def _combine_splits(
    positions,
    weighted,
    extent,
    attended,
    num_splits,
    NUM_HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    PADDED_SIZE: tl.constexpr,
    SPLIT: tl.constexpr,
):
    """Program (row, head): the row's splits, eight at a time in order."""
    row = tl.program_id(0)
    head = tl.program_id(1)
    last = tl.load(positions + row)
    column = tl.arange(0, PADDED_SIZE)
    in_size = column < SIZE
    slot = (row.to(tl.int64) * NUM_HEADS + head) * num_splits
    num_real = tl.minimum((last + SPLIT) // SPLIT, num_splits)
    # A float from the start, for the loop carries it.
    largest = tl.max(tl.full([_SPLITS_AT_ONCE], float("-inf"), tl.float32), 0)
    total = tl.sum(tl.zeros([_SPLITS_AT_ONCE], tl.float32), 0)
    mixed = tl.zeros([PADDED_SIZE], tl.float32)
    start = tl.zeros_like(num_real)
    while start < num_real:
        split = start + tl.arange(0, _SPLITS_AT_ONCE)
        is_split = split < num_real
        peaks = tl.load(extent + (slot + split) * 2, mask=is_split, other=float("-inf"))
        sums = tl.load(extent + (slot + split) * 2 + 1, mask=is_split, other=0.0)
        values = tl.load(
            weighted + (slot + split)[:, None] * SIZE + column[None, :],
            mask=is_split[:, None] & in_size[None, :],
            other=0.0,
        )
        now_largest = tl.maximum(largest, tl.max(peaks, 0))
        share = tl.exp2(peaks - now_largest)
        rescale = tl.exp2(largest - now_largest)
        total = total * rescale + tl.sum(share * sums, 0)
        mixed = mixed * rescale + tl.sum(share[:, None] * values, 0)
        largest = now_largest
        start += _SPLITS_AT_ONCE
    # A filler has no splits: nothing over one.
    result = mixed / tl.where(last >= 0, total, 1.0)
    place = attended + (row.to(tl.int64) * NUM_HEADS + head) * SIZE + column
    tl.store(place, result.to(attended.dtype.element_ty), mask=in_size)
