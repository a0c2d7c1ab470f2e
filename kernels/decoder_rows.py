"""What a decoder does to its rows between matrix products, each as one pass over memory.

Every function works row by row: a row's result depends on nothing beside it. Arithmetic is float32 with one rounding at
the end. On a CUDA device these are Triton kernels (`decoder_rows_kernels.py`); elsewhere the definitions here in torch.
None waits for the device, so all can be captured in a graph.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from kernels.paged_attention import PagedRows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadShape:
    """How a row of queries, keys and values beside each other divides into heads."""

    num_heads: int
    num_kv_heads: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rotation:
    """`cosine` and `sine` are [positions, head size]; `sine` carries the sign in its first half."""

    cosine: torch.Tensor
    sine: torch.Tensor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadNorms:
    """Weights [head size] of the normalisation of each query and key head before it is rotated (Qwen3)."""

    query: torch.Tensor
    key: torch.Tensor
    epsilon: float


def add_and_normalise(
    hidden: torch.Tensor, change: torch.Tensor | None, weight: torch.Tensor, epsilon: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """`hidden + change` and its root-mean-square norm times `weight`, both [rows, width]."""
    if hidden.is_cuda:
        from kernels.decoder_rows_kernels import add_and_normalise_by_kernel

        return add_and_normalise_by_kernel(hidden, change, weight, epsilon)
    total = hidden if change is None else hidden + change
    return total, _normalised(total, weight, epsilon)


def gate(gate_up: torch.Tensor) -> torch.Tensor:
    """[rows, gate | up] to silu(gate) x up, [rows, width]."""
    if gate_up.is_cuda:
        from kernels.decoder_rows_kernels import gate_by_kernel

        return gate_by_kernel(gate_up)
    gates, up = gate_up.float().chunk(2, dim=-1)
    return (F.silu(gates) * up).to(gate_up.dtype)


def rotate_and_store(
    qkv: torch.Tensor,
    keys_values: torch.Tensor,
    rows: PagedRows,
    *,
    shape: HeadShape,
    rotation: Rotation,
    norms: HeadNorms | None,
    block_tokens: int,
) -> torch.Tensor:
    """Rotated queries [rows, heads, size]; rotated keys, and values as they are, go to their places in the cache.

    `qkv` is [rows, queries | keys | values], `keys_values` a layer of the cache, [cache rows, keys | values]. Fillers
    store nothing, and what is returned for them means nothing.
    """
    if qkv.is_cuda:
        from kernels.decoder_rows_kernels import rotate_and_store_by_kernel

        return rotate_and_store_by_kernel(
            qkv, keys_values, rows, shape=shape, rotation=rotation, norms=norms, block_tokens=block_tokens
        )
    positions = rows.positions.long().clamp(min=0)
    heads = qkv.view(len(qkv), shape.num_heads + 2 * shape.num_kv_heads, shape.size)
    split = [shape.num_heads, shape.num_kv_heads, shape.num_kv_heads]
    queries, keys, values = torch.split(heads, split, dim=1)
    if norms is not None:
        queries = _normalised(queries, norms.query, norms.epsilon)
        keys = _normalised(keys, norms.key, norms.epsilon)
    is_real = rows.positions >= 0
    cache_rows = rows.blocks[rows.first_block.long() + positions // block_tokens] * block_tokens
    stored = torch.cat([_rotated(keys, rotation, positions), values], dim=1).flatten(1)
    keys_values[(cache_rows + positions % block_tokens)[is_real].long()] = stored[is_real]
    return _rotated(queries, rotation, positions)


def _normalised(rows: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    wide = rows.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon) * weight.float()
    return wide.to(rows.dtype)


def _rotated(heads: torch.Tensor, rotation: Rotation, positions: torch.Tensor) -> torch.Tensor:
    wide = heads.float()
    swapped = wide.roll(heads.shape[-1] // 2, dims=-1)
    cosine, sine = rotation.cosine[positions].unsqueeze(1), rotation.sine[positions].unsqueeze(1)
    return (wide * cosine + swapped * sine).to(heads.dtype)
