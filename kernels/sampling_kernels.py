"""Masked sampling in Triton: summaries of every tile of every row, then one tile of each row again.

The first kernel reads the logits once and keeps six numbers a tile; the second adds them up, draws a tile, and draws a
token in it. Sums are trees over a tile, then over tiles: their order depends on the vocabulary's size alone.
"""

from contextlib import nullcontext
from typing import Final

import torch
import triton
import triton.language as tl

from kernels.draws import TILE_TOKENS, Draws, Sampled, nothing_sampled, padded_width, unpacked
from kernels.filter_kernels import find_limits
from kernels.gumbel_kernels import gumbel_of_token, row_key
from kernels.sampling_reference import LEAST_TEMPERATURE, SHARED_NATS
from kernels.tile_kernels import allowed_by, load_tile, load_words, passes, row_of

NUM_WARPS: Final = 1
"""Of the first kernel, which then needs no barriers: the quickest of those measured on an H200 (docs/kernels.md)."""
_DRAW_WARPS: Final = 8
"""A row has one program there, which has to be quick rather than thrifty."""
_LOG2_E: Final = tl.constexpr(1.4426950408889634)
_SHARED_NATS: Final = tl.constexpr(SHARED_NATS)
_LEAST_TEMPERATURE: Final = tl.constexpr(LEAST_TEMPERATURE)
_SUMMARY: Final = 6
# The rows of a summary [6, n, tiles].
_RAW_TOP: Final = tl.constexpr(0)
_RAW_SUM: Final = tl.constexpr(1)
_ALLOWED_SUM: Final = tl.constexpr(2)
_TOP: Final = tl.constexpr(3)
_TEMPERED_SUM: Final = tl.constexpr(4)
_NUM_ALLOWED: Final = tl.constexpr(5)


def masked_sample_by_kernels(
    logits: torch.Tensor,
    draws: Draws,
    rows: torch.Tensor | None,
    bitmask: torch.Tensor | None,
    mask_rows: torch.Tensor | None,
    tile_tokens: int = TILE_TOKENS,
    num_warps: int = NUM_WARPS,
) -> Sampled:
    """`masked_sampling.masked_sample` for arguments that were checked there. Waits for nothing."""
    if not logits.shape[0]:
        return nothing_sampled(draws)
    num_draws, vocabulary_size = len(draws.seed), logits.shape[1]
    num_tiles = triton.cdiv(vocabulary_size, tile_tokens)
    packed = torch.empty(5 * padded_width(num_draws), dtype=torch.int32, device=logits.device)
    sampled = unpacked(packed, num_draws)
    if not num_draws:
        return sampled
    summary = torch.empty((_SUMMARY, num_draws, num_tiles), dtype=torch.float32, device=logits.device)
    num_masks, mask_stride, word_stride = (0, 0, 0) if bitmask is None else (bitmask.shape[0], *bitmask.stride())
    where = (rows, bitmask, mask_rows, logits.shape[0], vocabulary_size, num_masks)
    strides = (logits.stride(0), logits.stride(1), mask_stride, word_stride)
    with torch.cuda.device(logits.device) if logits.is_cuda else nullcontext():
        least, last = find_limits(logits, draws, where, strides) if draws.has_filters else (None, None)
        _summarise[(num_draws * num_tiles,)](
            logits, summary, draws.temperature, least, last, *where, *strides, num_draws, num_tiles,
            TILE=tile_tokens, num_warps=num_warps,
        )  # fmt: skip
        _draw[(num_draws,)](
            logits, summary, draws.temperature, draws.top_k, draws.top_p, draws.seed, draws.place, least, last,
            sampled.token_ids, sampled.logprobs, sampled.removed_mass, sampled.num_allowed,
            *where, *strides, num_draws, num_tiles,
            TILE=tile_tokens, TILES=triton.next_power_of_2(num_tiles), num_warps=_DRAW_WARPS,
        )  # fmt: skip
    return sampled


@triton.jit
def _num_bits(words):
    words = words - ((words >> 1) & 0x55555555)
    words = (words & 0x33333333) + ((words >> 2) & 0x33333333)
    words = (words + (words >> 4)) & 0x0F0F0F0F
    return (words * 0x01010101) >> 24


@triton.jit
def _number(top):
    """A maximum over nothing but what is no number: as if nothing were there."""
    return tl.where(top == top, top, float("-inf"))


@triton.jit
def _base(top):
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit(do_not_specialize=["num_rows", "num_masks", "num_draws", "num_tiles"])
def _summarise(
    logits, summary, temperatures, least, last, rows, bitmask, mask_rows, num_rows, vocabulary_size, num_masks,
    row_stride, token_stride, mask_stride, word_stride, num_draws, num_tiles, TILE: tl.constexpr,
):  # fmt: skip
    """One tile of one draw. Programs of one row are neighbours."""
    draw = tl.program_id(0) // num_tiles
    tile = tl.program_id(0) % num_tiles
    row, is_there = row_of(rows, draw, num_rows)
    first = tile * TILE
    token, values = load_tile(logits, row, first, vocabulary_size, row_stride, token_stride, TILE)
    words = load_words(
        bitmask, mask_rows, draw, first, is_there, vocabulary_size, num_masks, mask_stride, word_stride, TILE
    )
    num_bits = tl.sum(_num_bits(words))
    temperature = tl.load(temperatures + draw)
    # Maxima pass over what is no number; sums keep it, which is how it is noticed.
    raw_top = _number(tl.max(values))
    weights = tl.exp2(values * _LOG2_E - _base(raw_top) * _LOG2_E)
    raw_sum = tl.sum(weights)
    top = raw_top
    allowed_sum = raw_sum
    if num_bits != tl.minimum(vocabulary_size - first, TILE):
        allowed = allowed_by(words)
        top = _number(tl.max(tl.where(allowed, values, float("-inf"))))
        allowed_sum = tl.sum(tl.where(allowed, weights, 0.0))
    if least is not None:
        kept = allowed_by(words) & passes(token, values, least, last, draw)
        top = _number(tl.max(tl.where(kept, values, float("-inf"))))
    tempered_sum = 0.0
    if (temperature != 0) & (top > float("-inf")):
        shares = (temperature == 1) & (top > raw_top - _SHARED_NATS)
        if least is not None:
            # By this row's filters alone: others may have none, or be the only ones that have.
            shares = shares & (tl.load(least + draw) == float("-inf"))
        if shares:
            tempered_sum = allowed_sum * tl.exp2((raw_top - top) * _LOG2_E)
        else:
            kept = allowed_by(words)
            if least is not None:
                kept = kept & passes(token, values, least, last, draw)
            sharpness = _LOG2_E / tl.maximum(temperature, _LEAST_TEMPERATURE)
            tempered_sum = tl.sum(tl.where(kept, tl.exp2((values - top) * sharpness), 0.0))
    at = summary + tl.program_id(0)
    field = num_draws.to(tl.int64) * num_tiles
    tl.store(at + _RAW_TOP * field, raw_top)
    tl.store(at + _RAW_SUM * field, raw_sum)
    tl.store(at + _ALLOWED_SUM * field, allowed_sum)
    tl.store(at + _TOP * field, top)
    tl.store(at + _TEMPERED_SUM * field, tempered_sum)
    tl.store(at + _NUM_ALLOWED * field, num_bits.to(tl.float32))


@triton.jit(do_not_specialize=["num_rows", "num_masks", "num_draws", "num_tiles"])
def _draw(
    logits, summary, temperatures, top_ks, top_ps, seeds, places, least, last,
    token_ids, logprobs, removed_mass, num_allowed, rows, bitmask, mask_rows, num_rows, vocabulary_size, num_masks,
    row_stride, token_stride, mask_stride, word_stride, num_draws, num_tiles,
    TILE: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """One draw: its tile, then its token."""
    draw = tl.program_id(0)
    row, is_there = row_of(rows, draw, num_rows)
    tiles = tl.arange(0, TILES)
    at = summary + draw * num_tiles + tiles
    field = num_draws.to(tl.int64) * num_tiles
    is_tile = tiles < num_tiles
    raw_tops = tl.load(at + _RAW_TOP * field, is_tile, other=float("-inf"))
    raw_sums = tl.load(at + _RAW_SUM * field, is_tile, other=0.0)
    allowed_sums = tl.load(at + _ALLOWED_SUM * field, is_tile, other=0.0)
    tops = tl.load(at + _TOP * field, is_tile, other=float("-inf"))
    tempered_sums = tl.load(at + _TEMPERED_SUM * field, is_tile, other=0.0)
    num_bits = tl.sum(tl.load(at + _NUM_ALLOWED * field, is_tile, other=0.0).to(tl.int32))

    raw_top = tl.max(raw_tops)
    scale = tl.exp2((raw_tops - _base(raw_top)) * _LOG2_E)
    raw_total = tl.sum(raw_sums * scale)
    removed_sums = raw_sums - allowed_sums
    removed_sums = tl.where(removed_sums < 0, 0.0, removed_sums)
    nothing_removed = (num_bits == vocabulary_size) | (tl.sum(removed_sums) == 0)
    removed = tl.where(nothing_removed, 0.0, tl.sum(removed_sums * scale) / raw_total)
    tl.store(removed_mass + draw, tl.where(is_there, removed, float("nan")))
    tl.store(num_allowed + draw, num_bits)

    temperature = tl.load(temperatures + draw)
    top_p = tl.load(top_ps + draw)
    top = tl.max(tops)
    in_range = (temperature >= 0) & (temperature < float("inf")) & (tl.load(top_ks + draw) >= 0) & (top_p == top_p)
    are_numbers = tl.sum(allowed_sums) == tl.sum(allowed_sums)
    picked = tl.full((), -1, tl.int64)
    logprob = tl.full((), float("nan"), tl.float32)
    if is_there & in_range & are_numbers & (top > float("-inf")) & (top < float("inf")):
        half_a, half_b = row_key(tl.load(seeds + draw), tl.load(places + draw))
        sharpness = 1.0 / tl.maximum(temperature, _LEAST_TEMPERATURE)
        scores = tops
        if temperature != 0:
            scores = (tops - top) * sharpness + tl.log(tempered_sums)
            scores += gumbel_of_token(half_a, half_b, tiles.to(tl.uint32) | 0x80000000)
        scores = tl.where(is_tile, scores, float("-inf"))
        tile = tl.min(tl.where(scores == tl.max(scores), tiles, num_tiles - 1))
        token, values = load_tile(logits, row, tile * TILE, vocabulary_size, row_stride, token_stride, TILE)
        words = load_words(
            bitmask, mask_rows, draw, tile * TILE, is_there, vocabulary_size, num_masks, mask_stride, word_stride, TILE
        )
        kept = allowed_by(words)
        if least is not None:
            kept = kept & passes(token, values, least, last, draw)
        drawn = values
        if temperature != 0:
            tile_top = tl.max(tl.where(tiles == tile, tops, float("-inf")))
            drawn = (values - tile_top) * sharpness + gumbel_of_token(half_a, half_b, token.to(tl.uint32))
        drawn = tl.where(kept, drawn, float("-inf"))
        best = tl.max(drawn)
        token_id = tl.min(tl.where(kept & (drawn == best), token, vocabulary_size))
        # Last guard of the mask: what is not in it is no token, whatever arithmetic led to it.
        if (best > float("-inf")) & (token_id < vocabulary_size):
            picked = token_id.to(tl.int64)
            value = tl.max(tl.where(token == token_id, values, float("-inf")))
            logprob = (value - raw_top) - tl.log(raw_total)
    tl.store(token_ids + draw, picked)
    tl.store(logprobs + draw, logprob)
