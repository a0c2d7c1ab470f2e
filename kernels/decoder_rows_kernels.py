"""Triton kernels behind `decoder_rows.py`. One program reads a row, or a head of one, and writes it once."""

import torch
import triton
import triton.language as tl

from kernels.decoder_rows import HeadNorms, HeadShape, Rotation
from kernels.paged_attention import PagedRows

_GATE_COLUMNS = 1024
"""Columns of one program; short rows are many programs, or a step of one row would keep one multiprocessor busy."""


def add_and_normalise_by_kernel(
    hidden: torch.Tensor, change: torch.Tensor | None, weight: torch.Tensor, epsilon: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """See `decoder_rows.add_and_normalise`."""
    num_rows, width = hidden.shape
    total = hidden if change is None else torch.empty_like(hidden)
    normalised = torch.empty_like(hidden)
    columns = triton.next_power_of_2(width)
    _add_and_normalise[(num_rows,)](
        hidden,
        hidden if change is None else change,
        weight,
        total,
        normalised,
        epsilon,
        WIDTH=width,
        COLUMNS=columns,
        HAS_CHANGE=change is not None,
        num_warps=8 if columns >= 2048 else 4,
    )
    return total, normalised


def gate_by_kernel(gate_up: torch.Tensor) -> torch.Tensor:
    """See `decoder_rows.gate`."""
    num_rows, double = gate_up.shape
    gated = gate_up.new_empty((num_rows, double // 2))
    _gate[(num_rows, triton.cdiv(double // 2, _GATE_COLUMNS))](
        gate_up, gated, WIDTH=double // 2, COLUMNS=_GATE_COLUMNS, num_warps=4
    )
    return gated


def rotate_and_store_by_kernel(
    qkv: torch.Tensor,
    keys_values: torch.Tensor,
    rows: PagedRows,
    *,
    shape: HeadShape,
    rotation: Rotation,
    norms: HeadNorms | None,
    block_tokens: int,
) -> torch.Tensor:
    """See `decoder_rows.rotate_and_store`."""
    num_rows = len(qkv)
    queries = qkv.new_empty((num_rows, shape.num_heads, shape.size))
    _rotate_and_store[(num_rows, shape.num_heads + 2 * shape.num_kv_heads)](
        qkv,
        queries,
        keys_values,
        rows.positions,
        rows.first_block,
        rows.blocks,
        rotation.cosine,
        rotation.sine,
        rotation.cosine if norms is None else norms.query,
        rotation.cosine if norms is None else norms.key,
        0.0 if norms is None else norms.epsilon,
        keys_values.stride(0),
        NUM_HEADS=shape.num_heads,
        NUM_KV_HEADS=shape.num_kv_heads,
        SIZE=shape.size,
        PADDED_SIZE=triton.next_power_of_2(shape.size),
        BLOCK=block_tokens,
        HAS_NORMS=norms is not None,
        num_warps=1,
    )
    return queries


@triton.jit
def _add_and_normalise(
    hidden,
    change,
    weight,
    total,
    normalised,
    epsilon,
    WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr,
    HAS_CHANGE: tl.constexpr,
):
    column = tl.arange(0, COLUMNS)
    is_column = column < WIDTH
    place = tl.program_id(0).to(tl.int64) * WIDTH + column
    row = tl.load(hidden + place, mask=is_column, other=0.0).to(tl.float32)
    scale = tl.load(weight + column, mask=is_column, other=0.0).to(tl.float32)
    if HAS_CHANGE:
        row += tl.load(change + place, mask=is_column, other=0.0).to(tl.float32)
        rounded = row.to(total.dtype.element_ty)
        tl.store(total + place, rounded, mask=is_column)
        # The next layer reads the rounded sum, so its norm is of that.
        row = rounded.to(tl.float32)
    mean_square = tl.sum(row * row, 0) / WIDTH
    tl.store(normalised + place, row * tl.rsqrt(mean_square + epsilon) * scale, mask=is_column)


@triton.jit
def _gate(gate_up, gated, WIDTH: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    is_column = column < WIDTH
    gates = tl.load(gate_up + row * 2 * WIDTH + column, mask=is_column, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * WIDTH + WIDTH + column, mask=is_column, other=0.0).to(tl.float32)
    tl.store(gated + row * WIDTH + column, gates * tl.sigmoid(gates) * up, mask=is_column)


@triton.jit
def _rotate_and_store(
    qkv,
    queries,
    keys_values,
    positions,
    first_block,
    blocks,
    cosine,
    sine,
    query_norm,
    key_norm,
    epsilon,
    cache_stride,
    NUM_HEADS: tl.constexpr,
    NUM_KV_HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    PADDED_SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
    HAS_NORMS: tl.constexpr,
):
    """Program (row, head), over query heads, then key heads, then value heads, as they stand in the row."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    position = tl.load(positions + row)
    if position < 0:
        return
    column = tl.arange(0, PADDED_SIZE)
    is_column = column < SIZE
    partner = (column + SIZE // 2) % SIZE
    source = qkv + (row * (NUM_HEADS + 2 * NUM_KV_HEADS) + head) * SIZE
    plain = tl.load(source + column, mask=is_column, other=0.0)
    result = plain.to(tl.float32)
    if head < NUM_HEADS + NUM_KV_HEADS:
        other = tl.load(source + partner, mask=is_column, other=0.0).to(tl.float32)
        if HAS_NORMS:
            norm = query_norm
            if head >= NUM_HEADS:
                norm = key_norm
            scale = tl.rsqrt(tl.sum(result * result, 0) / SIZE + epsilon)
            own = tl.load(norm + column, mask=is_column, other=0.0).to(tl.float32)
            others = tl.load(norm + partner, mask=is_column, other=0.0).to(tl.float32)
            result = (result * scale * own).to(plain.dtype).to(tl.float32)
            other = (other * scale * others).to(plain.dtype).to(tl.float32)
        turn = position * SIZE + column
        result = result * tl.load(cosine + turn, mask=is_column, other=0.0).to(tl.float32)
        result += other * tl.load(sine + turn, mask=is_column, other=0.0).to(tl.float32)
    if head < NUM_HEADS:
        tl.store(queries + (row * NUM_HEADS + head) * SIZE + column, result, mask=is_column)
    else:
        block = tl.load(blocks + tl.load(first_block + row) + position // BLOCK).to(tl.int64)
        place = keys_values + (block * BLOCK + position % BLOCK) * cache_stride + (head - NUM_HEADS) * SIZE
        tl.store(place + column, result, mask=is_column)
