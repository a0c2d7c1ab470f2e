"""Masked sampling in plain torch: the definition that the kernels are held to, and what runs on a CPU.

All in float32. Exponentials of tempered logits are taken relative to the highest allowed one of their tile, so neither
a small temperature nor a mask that leaves only unlikely tokens can overflow or vanish. Masks are applied to the bits of
floats: that keeps whatever is forbidden out, numbers or not, and on a CPU it is ten times as fast as selecting.
"""

from functools import lru_cache
from typing import Final

import torch

from kernels.draws import TILE_TOKENS, Draws, Sampled, nothing_sampled
from kernels.gumbel_noise import TILE_WORD, gumbel_noise, row_keys
from kernels.token_filters import filter_tokens

LEAST_TEMPERATURE: Final = 1e-30
"""Divides without overflow. Far above it any two logits that differ are infinitely far apart already."""
_LOWEST_EXPONENT: Final = -87.0
"""Its exponential is about the least that float32 holds at full precision."""
_MINUS_INFINITY_BITS: Final = -0x800000
SHARED_NATS: Final = 40.0
"""How far below the tile's raw maximum the highest allowed logit may lie for exponentials of one to serve the other."""


def masked_sample_reference(
    logits: torch.Tensor,
    draws: Draws,
    rows: torch.Tensor | None,
    bitmask: torch.Tensor | None,
    mask_rows: torch.Tensor | None,
) -> Sampled:
    """`masked_sampling.masked_sample` for arguments that were checked there."""
    is_there = None if rows is None else (rows >= 0) & (rows < logits.shape[0])
    if not logits.shape[0]:
        return nothing_sampled(draws)
    raw = _chosen_rows(logits, rows).float()
    num_allowed = torch.full_like(draws.top_k, raw.shape[1])
    keep: torch.Tensor | None = None
    if bitmask is not None and mask_rows is not None and bool((mask_rows != -1).any()):
        words = _row_words(bitmask, mask_rows, raw.shape[1])
        num_allowed = _num_bits(words)
        keep = _tiles(_spread_bits(words)[:, : raw.shape[1]], fill=0)
    sampled = _sample(_tiles(raw, fill=float("-inf")), keep, draws, num_allowed, raw.shape[1])
    if is_there is None:
        return sampled
    return Sampled(
        token_ids=sampled.token_ids.masked_fill_(~is_there, -1),
        logprobs=sampled.logprobs.masked_fill_(~is_there, float("nan")),
        removed_mass=sampled.removed_mass.masked_fill_(~is_there, float("nan")),
        num_allowed=sampled.num_allowed.masked_fill_(~is_there, 0),
    )


def _chosen_rows(logits: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
    """[n, vocabulary]: nearly always all rows in their order, and then no copy."""
    if rows is None or torch.equal(rows, torch.arange(len(logits), device=rows.device)):
        return logits
    return logits[rows.clamp(0, len(logits) - 1)]


def _sample(
    raw: torch.Tensor, keep: torch.Tensor | None, draws: Draws, num_allowed: torch.Tensor, vocabulary_size: int
) -> Sampled:
    """From tiles [n, tiles, tile]; `keep` is int32 of that shape, all bits set where the token is allowed, or none.

    `keep` is used up. Every new tensor of this size is memory that the system may have to clear first, which costs a
    CPU more than the arithmetic: hence in place what can be.
    """
    raw_top = raw.amax(2)
    if bool(raw_top.isnan().any()):
        raw_top = raw.nan_to_num(nan=float("-inf"), posinf=float("inf"), neginf=float("-inf")).amax(2)
    weights = (raw - _base(raw_top)[:, :, None]).exp_()
    raw_sum = weights.sum(2)
    scale = (raw_top - _base(raw_top.amax(1, keepdim=True))).exp_()
    raw_total = (raw_sum * scale).sum(1)
    allowed, top, allowed_sum, removed = raw, raw_top, raw_sum, torch.zeros_like(raw_total)
    if keep is not None:
        weights.view(torch.int32).bitwise_and_(keep)
        allowed_sum = weights.sum(2)
        removed_sum = (raw_sum - allowed_sum).clamp_(min=0.0)
        nothing_removed = (num_allowed == vocabulary_size) | (removed_sum.sum(1) == 0)
        removed = ((removed_sum * scale).sum(1) / raw_total).masked_fill_(nothing_removed, 0.0)
        kept = raw.view(torch.int32) & keep
        forbidden = keep.bitwise_not_().bitwise_and_(_MINUS_INFINITY_BITS)
        allowed = kept.bitwise_or_(forbidden).view(torch.float32)
        top = allowed.amax(2)
    fails = ~(allowed_sum.sum(1).isfinite() & top.amax(1).isfinite() & _in_range(draws))
    if draws.has_filters:
        allowed = filter_tokens(allowed, draws, fails)
        top = allowed.amax(2)
    token_ids = _draw(allowed, top, _tempered_sums(allowed, top, raw_top, allowed_sum, draws), draws, fails)
    picked = raw.flatten(1).gather(1, token_ids.clamp(min=0)[:, None])[:, 0]
    logprobs = (picked - raw_top.amax(1)) - raw_total.log()
    return Sampled(
        token_ids=token_ids,
        logprobs=logprobs.masked_fill_(fails, float("nan")),
        removed_mass=removed,
        num_allowed=num_allowed,
    )


def _draw(
    allowed: torch.Tensor, top: torch.Tensor, sums: torch.Tensor, draws: Draws, fails: torch.Tensor
) -> torch.Tensor:
    num_rows, num_tiles, tile_tokens = allowed.shape
    places = torch.arange(num_rows, device=allowed.device)
    tokens = torch.arange(tile_tokens, dtype=torch.int32, device=allowed.device)
    greedy = draws.temperature == 0
    all_greedy = bool(greedy.all())
    scores = top
    keys = None if all_greedy else row_keys(draws.seed, draws.place)
    sharpness = draws.temperature.clamp(min=LEAST_TEMPERATURE).reciprocal()[:, None]
    if keys is not None:
        tiles = torch.arange(num_tiles, dtype=torch.int32, device=allowed.device)
        drawn = (top - _base(top.amax(1, keepdim=True))) * sharpness + sums.log()
        drawn += gumbel_noise(keys, tiles + TILE_WORD)
        scores = torch.where(greedy[:, None], top, drawn)
    tile = _first_highest(scores)
    chosen = allowed[places, tile]
    first = tile * TILE_TOKENS
    scores = chosen
    if keys is not None:
        drawn = (chosen - _base(top[places, tile])[:, None]) * sharpness
        drawn += gumbel_noise(keys, tokens + first[:, None].to(torch.int32))
        scores = torch.where(greedy[:, None], chosen, drawn)
    return (first + _first_highest(scores)).masked_fill_(fails, -1)


def _tempered_sums(
    allowed: torch.Tensor, top: torch.Tensor, raw_top: torch.Tensor, allowed_sum: torch.Tensor, draws: Draws
) -> torch.Tensor:
    """[n, tiles]: exponentials of the tempered allowed logits over that of the tile's highest, 0 where none is."""
    is_empty = top == float("-inf")
    sums = (allowed_sum * (_base(raw_top) - _base(top)).exp_()).masked_fill_(is_empty, 0.0)
    far = ~is_empty & (top <= raw_top - SHARED_NATS)
    own = (draws.temperature != 0) & ((draws.temperature != 1) | far.any(1) | _asks_for_filters(draws))
    if not bool(own.any()):
        return sums
    # Rows that do not need it keep their sums: what a row gets does not depend on who else is there.
    some = allowed if bool(own.all()) else allowed[own]
    sharpness = draws.temperature[own].clamp(min=LEAST_TEMPERATURE).reciprocal()
    tempered = (some - _base(top[own])[:, :, None]).mul_(sharpness[:, None, None])
    # Exponentials of minus infinity leave the fast path of the CPU's library; what this one gives is lost in any sum.
    tempered = tempered.clamp_(min=_LOWEST_EXPONENT).exp_()
    sums[own] = tempered.sum(2)
    return sums.masked_fill_(is_empty, 0.0)


def _asks_for_filters(draws: Draws) -> torch.Tensor:
    if not draws.has_filters:
        return torch.zeros_like(draws.top_k, dtype=torch.bool)
    return (draws.top_k != 0) | (draws.top_p < 1)


def _in_range(draws: Draws) -> torch.Tensor:
    valid = (draws.temperature >= 0) & (draws.temperature < float("inf"))
    return valid & (draws.top_k >= 0) & ~draws.top_p.isnan()


def _base(top: torch.Tensor) -> torch.Tensor:
    """What exponentials are taken relative to: minus infinity from itself would be no number."""
    return top.masked_fill(top == float("-inf"), 0.0)


def _first_highest(scores: torch.Tensor) -> torch.Tensor:
    """int64 [n]: the first column that holds its row's maximum; `argmax` promises no order among equals."""
    columns = torch.arange(scores.shape[1], device=scores.device)
    is_highest = scores == scores.amax(1, keepdim=True)
    return torch.where(is_highest, columns, scores.shape[1]).amin(1).clamp_(max=scores.shape[1] - 1)


def _row_words(bitmask: torch.Tensor, mask_rows: torch.Tensor, vocabulary_size: int) -> torch.Tensor:
    """A copy int32 [n, words], without bits past the vocabulary: all set for -1, none for a mask that is not there."""
    words = torch.zeros((len(mask_rows), bitmask.shape[1]), dtype=torch.int32, device=bitmask.device)
    if bitmask.shape[0]:
        words = bitmask[mask_rows.clamp(0, bitmask.shape[0] - 1)]
        words.masked_fill_(((mask_rows < 0) | (mask_rows >= bitmask.shape[0]))[:, None], 0)
    words.masked_fill_((mask_rows == -1)[:, None], -1)
    if vocabulary_size % 32:
        words[:, -1] &= (1 << vocabulary_size % 32) - 1
    return words


def _spread_bits(words: torch.Tensor) -> torch.Tensor:
    """int32 [n, 32 x words]: all bits set where the mask's is."""
    return _spread_bytes(words.device).index_select(0, words.view(torch.uint8).flatten().int()).view(len(words), -1)


@lru_cache(maxsize=8)
def _spread_bytes(device: torch.device) -> torch.Tensor:
    """int32 [256, 8]: what each byte of a mask spreads to. Words lie in memory with their lowest byte first."""
    bits = torch.arange(256, device=device)[:, None] >> torch.arange(8, device=device)
    return -(bits & 1).int()


def _num_bits(words: torch.Tensor) -> torch.Tensor:
    """int32 [n]. Counts within pairs, fours and eights of bits, then adds the four bytes."""
    words = words - ((words >> 1) & 0x55555555)
    words = (words & 0x33333333) + ((words >> 2) & 0x33333333)
    words = (words + (words >> 4)) & 0x0F0F0F0F
    return ((words * 0x01010101) >> 24).sum(1, dtype=torch.int32)


def _tiles(rows: torch.Tensor, *, fill: float) -> torch.Tensor:
    """[n, tiles, tile tokens]; a copy only where the vocabulary is no whole number of tiles."""
    tile = TILE_TOKENS
    rest = -rows.shape[1] % tile
    padded = torch.nn.functional.pad(rows, (0, rest), value=fill) if rest else rows
    return padded.reshape(len(rows), -1, tile)
