"""What masked sampling is asked for and what it answers: one entry a sampled row, all on the logits' device."""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, float32, int64

TILE_TOKENS: Final = 1024
"""Neighbouring tokens between which the second stage of a draw decides. A part of the function: another size draws
other tokens from the same seeds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """How each row's token is picked. A value outside its range gives that row no token."""

    temperature: Tensor
    """float32 [n], at least 0 and finite. 0 is greedy."""
    top_k: Tensor
    """int32 [n], at least 0. 0: all."""
    top_p: Tensor
    """float32 [n]. 1 and above: all; however small, one token is left."""
    seed: Tensor
    """int64 [n]."""
    place: Tensor
    """int64 [n]: the token's place in the answer. The same seed and place draw the same from the same row."""
    has_filters: bool
    """Whether any row asks for top-k or top-p, as the host knows it. Where this is false neither is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampled:
    """What was picked, and what the mask took away. "Raw" is before mask, temperature and filters."""

    token_ids: Tensor
    """int64 [n]. -1: nothing is allowed, or what is allowed holds no finite maximum or something that is no number."""
    logprobs: Tensor
    """float32 [n], nats: of the token in the raw distribution. Not a number without a token or such a distribution."""
    removed_mass: Tensor
    """float32 [n]: the raw probability of what is not allowed. Exactly 0 where nothing is forbidden."""
    num_allowed: Tensor
    """int32 [n]: ids that the mask allows; the vocabulary for a row without one."""
    packed: Tensor | None = None
    """The memory that all four lie in, where they lie in one (`unpacked`), for one copy."""


def nothing_sampled(draws: Draws) -> Sampled:
    """No token for any row."""
    return Sampled(
        token_ids=torch.full_like(draws.seed, -1),
        logprobs=torch.full_like(draws.temperature, float("nan")),
        removed_mass=torch.full_like(draws.temperature, float("nan")),
        num_allowed=torch.zeros_like(draws.top_k),
    )


def padded_width(num_draws: int) -> int:
    """How many places of 4 bytes an array of so many draws takes, for the next to begin on 16 bytes."""
    return -(-num_draws // 4) * 4


def unpacked(packed: Tensor, num_draws: int) -> Sampled:
    """The four of `Sampled.packed`, int32 [5 x `padded_width`], without a copy."""
    width = padded_width(num_draws)
    return Sampled(
        token_ids=packed[: 2 * width].view(int64)[:num_draws],
        logprobs=packed[2 * width :][:num_draws].view(float32),
        removed_mass=packed[3 * width :][:num_draws].view(float32),
        num_allowed=packed[4 * width :][:num_draws],
        packed=packed,
    )
