"""Top-k and top-p, in torch and in Triton, against their definition."""

import math
import warnings

import pytest
import torch

from kernels.draws import Draws
from kernels.filter_kernels import find_limits
from kernels.token_filters import filter_tokens
from tests.kernels.sampling_worlds import DEVICE, kept_by_definition, new_draws, packed, row_numbers


def kept_in_torch(row: torch.Tensor, draws: Draws) -> list[int]:
    no_failure = torch.zeros(1, dtype=torch.bool, device=DEVICE)
    return filter_tokens(row.float()[None, None], draws, no_failure).flatten().isfinite().nonzero()[:, 0].tolist()


def kept_by_kernel(row: torch.Tensor, draws: Draws) -> list[int]:
    """Where forbidden logits are not minus infinity but masked, as the kernel has them."""
    allowed = row.isfinite()
    logits = torch.where(allowed, row, 99.0)[None]
    mask = packed(allowed[None])
    where = (None, mask, row_numbers([0]), 1, len(row), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, in the interpreter
        least, last = find_limits(logits, draws, where, (*logits.stride(), *mask.stride()))
    ids = torch.arange(len(row), device=DEVICE)
    kept = allowed & ((row > least) | ((row == least) & (ids <= last)))
    return kept.nonzero()[:, 0].tolist()


WAYS = {"torch": kept_in_torch, "kernel": kept_by_kernel}


def random_logits(vocabulary_size: int, seed: int, *, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    row = 2 * torch.randn(vocabulary_size, generator=generator)
    row[torch.rand(vocabulary_size, generator=generator) < 0.3] = -math.inf
    return row.to(dtype).to(DEVICE)


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1.0, 1, 1.0), (1.0, 7, 1.0), (0.6, 0, 0.5), (1.3, 0, 0.97), (0.8, 30, 0.6), (1.0, 5000, 1.0), (1.0, 0, 0.0)],
)
def test_what_stays_is_what_the_definition_says(way: str, temperature: float, top_k: int, top_p: float) -> None:
    for vocabulary_size in (40, 300):
        row = random_logits(vocabulary_size, vocabulary_size)
        draws = new_draws(1, temperature=temperature, top_k=top_k, top_p=top_p)
        assert WAYS[way](row, draws) == sorted(kept_by_definition(row, temperature, top_k, top_p))


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_with_its_many_equals(way: str, dtype: torch.dtype) -> None:
    row = random_logits(2000, 3, dtype=dtype)
    for top_k, top_p in ((100, 1.0), (400, 0.7)):
        draws = new_draws(1, top_k=top_k, top_p=top_p)
        assert WAYS[way](row, draws) == sorted(kept_by_definition(row.float(), 1.0, top_k, top_p))


@pytest.mark.parametrize("way", list(WAYS))
def test_of_equals_the_first_stay(way: str) -> None:
    row = torch.zeros(600, device=DEVICE)
    row[[5, 300]] = -0.0
    row[550] = 1.0
    assert WAYS[way](row, new_draws(1, top_k=11)) == [*range(10), 550]
    weight_of_all = 599 + math.e
    assert WAYS[way](row, new_draws(1, top_p=(math.e + 9.5) / weight_of_all)) == [*range(10), 550]
    assert WAYS[way](row, new_draws(1, top_k=11, top_p=(math.e + 4.5) / (math.e + 10))) == [*range(5), 550]


@pytest.mark.parametrize("way", list(WAYS))
def test_extremes_of_floats(way: str) -> None:
    row = torch.tensor([-3e38, 3e38, 1e-40, -1e-40, 0.0, -math.inf, 2e38], device=DEVICE)
    assert WAYS[way](row, new_draws(1, top_k=2)) == [1, 6]
    assert WAYS[way](row, new_draws(1, top_k=6)) == [0, 1, 2, 3, 4, 6]
    assert WAYS[way](row, new_draws(1, top_p=0.9)) == [1]
