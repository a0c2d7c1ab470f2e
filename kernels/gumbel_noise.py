"""Gumbel noise by counter: a function of a row's key and a word, so nothing is kept between draws or shared by rows.

The key is 64 bits hashed from seed and place. A token's word is its id; a tile's is its index with the top bit set, so
that no tile shares its noise with a token. `sampling_kernels.py` computes the same in Triton.
"""

from typing import Final

import torch

TILE_WORD: Final = -(1 << 31)
"""The top bit of 32."""
CHAIN_STARTS: Final = (0x243F6A88, 0x13198A2E)
"""Where the two halves of a key begin: digits of pi, nothing up a sleeve."""
WORD_STRIDE: Final = 0x1E3779B1
"""Spreads neighbouring words before they are mixed. Odd, so that no two words meet."""
MIX_FACTORS: Final = (0x21F0AAAD, 0x735A2D97)
"""Multipliers of the 32-bit finaliser `x ^= x >> 16; x *= a; x ^= x >> 15; x *= b; x ^= x >> 15`, a bijection that was
found by search for the least bias (Ellis, "Hash prospector", 2018, with the later improvement of its parameters)."""
SERIES_BELOW: Final = 1 / 64
"""Below it -log(1 - v) is taken from its series, which keeps all of float32's digits where they decide."""
LARGEST_UNIFORM: Final = 1 - 2**-24
UNIFORM_STEP: Final = 2**-32


def row_keys(seed: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """Keys int32 [2, n] from int64 [n] each."""
    starts = torch.tensor(CHAIN_STARTS, dtype=torch.int32, device=seed.device)
    keys = starts[:, None].expand(2, len(seed))
    for words in (seed, seed >> 32, place, place >> 32):
        keys = _mix(keys ^ _low_word(words)) + starts[:, None]
    return keys


def gumbel_noise(keys: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """float32 [n, k], from -2.9 to 22.9, for keys int32 [2, n] and words int32 [k] or [n, k]."""
    mixed = _mix(_mix(words * WORD_STRIDE + keys[0, :, None]) ^ keys[1, :, None])
    unsigned = mixed.to(torch.int64).bitwise_and_(0xFFFFFFFF)
    uniform = unsigned.to(torch.float32).add_(0.5).mul_(UNIFORM_STEP).clamp_(max=LARGEST_UNIFORM)
    series = uniform * (1 + uniform * (0.5 + uniform * (1 / 3 + uniform * 0.25)))
    exponential = torch.where(uniform < SERIES_BELOW, series, -torch.log(1 - uniform))
    return exponential.log_().neg_()


def _mix(words: torch.Tensor) -> torch.Tensor:
    # int32 products wrap; shifts drag the sign in, so what they bring from above is cut off.
    words = (words ^ ((words >> 16) & 0xFFFF)) * MIX_FACTORS[0]
    words = (words ^ ((words >> 15) & 0x1FFFF)) * MIX_FACTORS[1]
    return words ^ ((words >> 15) & 0x1FFFF)


def _low_word(words: torch.Tensor) -> torch.Tensor:
    """The low 32 bits of int64 words, as int32."""
    return ((words & 0xFFFFFFFF) ^ 0x80000000).sub_(0x80000000).to(torch.int32)
