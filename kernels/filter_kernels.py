"""Top-k and top-p in Triton: a least logit and, among its equals, a last id for each row that asks.

Nothing is sorted. The least logit is the highest value above which enough tokens, or enough probability, lies: it is
found by halving, first between values, then between floats in their order as integers, which is exact. Sums of fewer
terms in one order are never greater, so halving finds what it looks for despite rounding.
"""

from typing import Final

import torch
import triton
import triton.language as tl

from kernels.draws import Draws
from kernels.sampling_reference import LEAST_TEMPERATURE
from kernels.tile_kernels import allowed_by, load_tile, load_words, row_of

_TILE: Final = 8192
_NUM_WARPS: Final = 16
"""A row has one program: it has to be a large one."""
_LOG2_E: Final = tl.constexpr(1.4426950408889634)
_LEAST_TEMPERATURE: Final = tl.constexpr(LEAST_TEMPERATURE)
_LEAST_TARGET: Final = tl.constexpr(1e-30)
_FAR_NATS: Final = tl.constexpr(64.0)
"""All tokens so far below the highest together have less probability than any `top_p` below 1 leaves out."""
_VALUE_STEPS: Final = tl.constexpr(8)
"""Halvings between values, before those between floats: most floats lie near 0, where thresholds seldom do."""
_UNUSED_BITS: Final = {torch.bfloat16: 16, torch.float16: 13}
"""Low bits of a float32 that values of the type never set: they need no halving."""


def find_limits(
    logits: torch.Tensor, draws: Draws, where: tuple[object, ...], strides: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The least logits, float32 [n], and the last ids, int32 [n]. `where` and `strides` as the kernels take them."""
    least = torch.empty_like(draws.temperature)
    last = torch.empty_like(draws.top_k)
    _find_limits[(len(least),)](
        logits, draws.temperature, draws.top_k, draws.top_p, least, last, *where, *strides,
        TILE=_TILE, TILES=triton.cdiv(logits.shape[1], _TILE), UNUSED_BITS=_UNUSED_BITS.get(logits.dtype, 0),
        num_warps=_NUM_WARPS,
    )  # fmt: skip
    return least, last


@triton.jit
def _key_of(value, UNUSED_BITS: tl.constexpr):
    """int64: the place of a float32 among floats."""
    bits = value.to(tl.int32, bitcast=True)
    return (tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits) >> UNUSED_BITS).to(tl.int64)


@triton.jit
def _value_of(key, UNUSED_BITS: tl.constexpr):
    bits = tl.where(key < 0, ((key << UNUSED_BITS) | ((1 << UNUSED_BITS) - 1)) ^ 0x7FFFFFFF, key << UNUSED_BITS)
    return bits.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def _between(low, high, step, UNUSED_BITS: tl.constexpr):
    """A key above `low` and below `high`."""
    middle = low + (high - low) // 2
    if step < _VALUE_STEPS:
        mean = 0.5 * _value_of(low, UNUSED_BITS) + 0.5 * _value_of(high, UNUSED_BITS)
        middle = tl.minimum(tl.maximum(_key_of(mean, UNUSED_BITS), low + 1), high - 1)
    return middle


@triton.jit
def _load(
    logits, bitmask, mask_rows, draw, row, index, vocabulary_size, num_masks,
    row_stride, token_stride, mask_stride, word_stride, TILE: tl.constexpr,
):  # fmt: skip
    """Ids and logits of the tile of that index, minus infinity where the mask forbids."""
    first = draw * 0 + index * TILE
    token, values = load_tile(logits, row, first, vocabulary_size, row_stride, token_stride, TILE)
    words = load_words(
        bitmask, mask_rows, draw, first, True, vocabulary_size, num_masks, mask_stride, word_stride, TILE
    )
    return token, tl.where(allowed_by(words) & (values == values), values, float("-inf"))


@triton.jit
def _count_from(
    limit, logits, bitmask, mask_rows, draw, row, vocabulary_size, num_masks,
    row_stride, token_stride, mask_stride, word_stride, TILE: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """How many allowed logits are at least `limit`."""
    counts = tl.zeros((TILE // 32, 32), tl.int32)
    for index in tl.range(TILES, num_stages=3):
        _, values = _load(
            logits, bitmask, mask_rows, draw, row, index, vocabulary_size, num_masks,
            row_stride, token_stride, mask_stride, word_stride, TILE,
        )  # fmt: skip
        counts += (values >= limit).to(tl.int32)
    return tl.sum(counts)


@triton.jit
def _mass_from(
    limit, top, sharpness, logits, bitmask, mask_rows, draw, row, vocabulary_size, num_masks,
    row_stride, token_stride, mask_stride, word_stride, TILE: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """The tempered weight of allowed logits that are at least `limit`; that of the highest is 1."""
    masses = tl.zeros((TILE // 32, 32), tl.float32)
    for index in tl.range(TILES, num_stages=3):
        _, values = _load(
            logits, bitmask, mask_rows, draw, row, index, vocabulary_size, num_masks,
            row_stride, token_stride, mask_stride, word_stride, TILE,
        )  # fmt: skip
        masses += tl.where(values >= limit, tl.exp2((values - top) * sharpness), 0.0)
    return tl.sum(masses)


@triton.jit(do_not_specialize=["num_rows", "num_masks"])
def _find_limits(
    logits, temperatures, top_ks, top_ps, least, last, rows, bitmask, mask_rows, num_rows, vocabulary_size, num_masks,
    row_stride, token_stride, mask_stride, word_stride,
    TILE: tl.constexpr, TILES: tl.constexpr, UNUSED_BITS: tl.constexpr,
):  # fmt: skip
    draw = tl.program_id(0)
    row, is_there = row_of(rows, draw, num_rows)
    temperature = tl.load(temperatures + draw)
    top_k = tl.load(top_ks + draw)
    top_p = tl.load(top_ps + draw)
    tl.store(least + draw, float("-inf"))
    tl.store(last + draw, vocabulary_size)
    if is_there & (temperature > 0) & ((top_k > 0) | (top_p < 1)):
        sharpness = _LOG2_E / tl.maximum(temperature, _LEAST_TEMPERATURE)
        tops = tl.full((TILE // 32, 32), float("-inf"), tl.float32)
        lows = tl.full((TILE // 32, 32), float("inf"), tl.float32)
        counts = tl.zeros((TILE // 32, 32), tl.int32)
        for index in tl.range(TILES, num_stages=3):
            _, values = _load(
                logits, bitmask, mask_rows, draw, row, index, vocabulary_size, num_masks,
                row_stride, token_stride, mask_stride, word_stride, TILE,
            )  # fmt: skip
            tops = tl.maximum(tops, values)
            lows = tl.minimum(lows, tl.where(values > float("-inf"), values, float("inf")))
            counts += (values > float("-inf")).to(tl.int32)
        top = tl.max(tops)
        num_finite = tl.sum(counts)
        if (num_finite > 0) & (top < float("inf")):
            low = _key_of(tl.min(lows), UNUSED_BITS)
            num_ties = num_finite
            cuts = (top_k > 0) & (top_k < num_finite)
            if cuts:
                # At least `top_k` tokens are at or above `low`, fewer at or above `high`.
                high = _key_of(top, UNUSED_BITS) + 1
                num_above = 0
                step = 0
                while high - low > 1:
                    middle = _between(low, high, step, UNUSED_BITS)
                    count = _count_from(
                        _value_of(middle, UNUSED_BITS), logits, bitmask, mask_rows, draw, row, vocabulary_size,
                        num_masks, row_stride, token_stride, mask_stride, word_stride, TILE, TILES,
                    )  # fmt: skip
                    if count >= top_k:
                        low = middle
                    else:
                        high = middle
                        num_above = count
                    step += 1
                num_ties = top_k - num_above
            if top_p < 1:
                lowest = _value_of(low, UNUSED_BITS)
                if cuts:
                    total = num_ties * tl.exp2((lowest - top) * sharpness)
                    total += _mass_from(
                        _value_of(low + 1, UNUSED_BITS), top, sharpness, logits, bitmask, mask_rows, draw, row,
                        vocabulary_size, num_masks, row_stride, token_stride, mask_stride, word_stride, TILE, TILES,
                    )  # fmt: skip
                else:
                    total = _mass_from(
                        lowest, top, sharpness, logits, bitmask, mask_rows, draw, row,
                        vocabulary_size, num_masks, row_stride, token_stride, mask_stride, word_stride, TILE, TILES,
                    )  # fmt: skip
                # However small the part, the highest token stays.
                target = tl.maximum(total * top_p, _LEAST_TARGET)
                far = _key_of(top - _FAR_NATS * temperature, UNUSED_BITS)
                cuts = cuts & (far <= low)
                low = tl.maximum(low, far)
                high = _key_of(top, UNUSED_BITS) + 1
                mass_above = 0.0
                step = 0
                while high - low > 1:
                    middle = _between(low, high, step, UNUSED_BITS)
                    mass = _mass_from(
                        _value_of(middle, UNUSED_BITS), top, sharpness, logits, bitmask, mask_rows, draw, row,
                        vocabulary_size, num_masks, row_stride, token_stride, mask_stride, word_stride, TILE, TILES,
                    )  # fmt: skip
                    if mass >= target:
                        low = middle
                        cuts = False
                    else:
                        high = middle
                        mass_above = mass
                    step += 1
                weight = tl.exp2((_value_of(low, UNUSED_BITS) - top) * sharpness)
                needed = tl.ceil((target - mass_above) / tl.maximum(weight, _LEAST_TARGET))
                needed = tl.minimum(tl.maximum(needed, 1.0), vocabulary_size * 1.0).to(tl.int32)
                # Where top-k ends at the same logit it has already counted its equals.
                num_ties = tl.where(cuts, tl.minimum(needed, num_ties), needed)
                cuts = True
            if cuts:
                limit = _value_of(low, UNUSED_BITS)
                tl.store(least + draw, limit)
                seen = 0
                for index in range(TILES):
                    token, values = _load(
                        logits, bitmask, mask_rows, draw, row, index, vocabulary_size, num_masks,
                        row_stride, token_stride, mask_stride, word_stride, TILE,
                    )  # fmt: skip
                    ties = tl.reshape((values == limit).to(tl.int32), (TILE,))
                    count = tl.sum(ties)
                    if (seen < num_ties) & (seen + count >= num_ties):
                        is_last = (ties != 0) & (seen + tl.cumsum(ties) == num_ties)
                        tl.store(last + draw, tl.min(tl.where(is_last, tl.reshape(token, (TILE,)), vocabulary_size)))
                    seen += count
