"""`gumbel_noise.py` in Triton: the same words, bit for bit, and the same noise but for last digits of logarithms."""

from typing import Final

import triton
import triton.language as tl

from kernels.gumbel_noise import (
    CHAIN_STARTS,
    LARGEST_UNIFORM,
    MIX_FACTORS,
    SERIES_BELOW,
    UNIFORM_STEP,
    WORD_STRIDE,
)

_START_A: Final = tl.constexpr(CHAIN_STARTS[0])
_START_B: Final = tl.constexpr(CHAIN_STARTS[1])
_FACTOR_A: Final = tl.constexpr(MIX_FACTORS[0])
_FACTOR_B: Final = tl.constexpr(MIX_FACTORS[1])
_STRIDE: Final = tl.constexpr(WORD_STRIDE)
_STEP: Final = tl.constexpr(UNIFORM_STEP)
_LARGEST: Final = tl.constexpr(LARGEST_UNIFORM)
_SERIES_BELOW: Final = tl.constexpr(SERIES_BELOW)
_THIRD: Final = tl.constexpr(1 / 3)


@triton.jit
def _mix(words):
    words = (words ^ (words >> 16)) * _FACTOR_A
    words = (words ^ (words >> 15)) * _FACTOR_B
    return words ^ (words >> 15)


@triton.jit
def row_key(seed, place):
    """Both halves of the key, uint32, from int64 each."""
    half_a = seed.to(tl.uint32) * 0 + _START_A
    half_b = seed.to(tl.uint32) * 0 + _START_B
    half_a = _mix(half_a ^ seed.to(tl.uint32)) + _START_A
    half_b = _mix(half_b ^ seed.to(tl.uint32)) + _START_B
    half_a = _mix(half_a ^ (seed >> 32).to(tl.uint32)) + _START_A
    half_b = _mix(half_b ^ (seed >> 32).to(tl.uint32)) + _START_B
    half_a = _mix(half_a ^ place.to(tl.uint32)) + _START_A
    half_b = _mix(half_b ^ place.to(tl.uint32)) + _START_B
    half_a = _mix(half_a ^ (place >> 32).to(tl.uint32)) + _START_A
    half_b = _mix(half_b ^ (place >> 32).to(tl.uint32)) + _START_B
    return half_a, half_b


@triton.jit
def gumbel_of_token(half_a, half_b, words):
    """float32 noise for words uint32 of any shape: a token's id, or a tile's index with the top bit set."""
    mixed = _mix(_mix(words * _STRIDE + half_a) ^ half_b)
    uniform = tl.minimum((mixed.to(tl.float32) + 0.5) * _STEP, _LARGEST)
    series = uniform * (1.0 + uniform * (0.5 + uniform * (_THIRD + uniform * 0.25)))
    return -tl.log(tl.where(uniform < _SERIES_BELOW, series, -tl.log(1.0 - uniform)))
