"""Masked sampling by its definition, in float64, and the two ways that the product computes it."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields

import torch

from kernels.bitmask import bitmask_words
from kernels.draws import Draws, Sampled
from kernels.sampling_kernels import masked_sample_by_kernels
from kernels.sampling_reference import masked_sample_reference

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
NONE = -1

Sample = Callable[
    [torch.Tensor, Draws, torch.Tensor | None, torch.Tensor | None, torch.Tensor | None],
    Sampled,
]


def by_kernels(
    logits: torch.Tensor,
    draws: Draws,
    rows: torch.Tensor | None = None,
    bitmask: torch.Tensor | None = None,
    mask_rows: torch.Tensor | None = None,
) -> Sampled:
    """On a GPU, or in Triton's interpreter, whose numpy warns of infinities that a GPU computes in silence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return masked_sample_by_kernels(logits, draws, rows, bitmask, mask_rows)


WAYS: dict[str, Sample] = {"reference": masked_sample_reference, "kernels": by_kernels}


def packed(allowed: Sequence[Sequence[bool]] | torch.Tensor) -> torch.Tensor:
    """A bitmask from booleans [masks, vocabulary], by its definition; bits past the vocabulary are set."""
    booleans = torch.as_tensor(allowed, dtype=torch.bool).cpu()
    num_masks, vocabulary_size = booleans.shape
    padded = torch.ones(num_masks, bitmask_words(vocabulary_size) * 32, dtype=torch.int64)
    padded[:, :vocabulary_size] = booleans.long()
    words = (padded.view(num_masks, -1, 32) << torch.arange(32)).sum(2)
    return words.to(torch.int32).to(DEVICE)


def new_draws(
    num_draws: int,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    first_seed: int = 0,
    place: int = 0,
    has_filters: bool | None = None,
) -> Draws:
    """The same choice for all, with neighbouring seeds."""
    return Draws(
        temperature=torch.full((num_draws,), temperature, device=DEVICE),
        top_k=torch.full((num_draws,), top_k, dtype=torch.int32, device=DEVICE),
        top_p=torch.full((num_draws,), top_p, device=DEVICE),
        seed=torch.arange(first_seed, first_seed + num_draws, device=DEVICE),
        place=torch.full((num_draws,), place, device=DEVICE),
        has_filters=top_k > 0 or top_p < 1 if has_filters is None else has_filters,
    )


def joined(parts: Sequence[Draws]) -> Draws:
    """Draws one after another."""
    tensors = {
        field.name: torch.cat([getattr(part, field.name) for part in parts])
        for field in fields(Draws)
        if field.name != "has_filters"
    }
    return Draws(**tensors, has_filters=any(part.has_filters for part in parts))


def row_numbers(numbers: Sequence[int]) -> torch.Tensor:
    return torch.tensor(list(numbers), dtype=torch.int32, device=DEVICE)


def kept_by_definition(row: torch.Tensor, temperature: float, top_k: int, top_p: float) -> list[int]:
    """Ids of a row of masked logits that the filters leave, the most probable first, equals by id."""
    scaled = (row.double().cpu() - row.double().cpu().max()) / temperature
    order = sorted((-value, index) for index, value in enumerate(scaled.tolist()) if value > float("-inf"))
    ids = [index for _, index in order][: top_k or None]
    weights = scaled[ids].exp()
    reached = 0.0
    for count, weight in enumerate((weights / weights.sum()).tolist(), start=1):
        reached += weight
        if reached >= top_p:
            return ids[:count]
    return ids


def chi_square(counts: torch.Tensor, probabilities: torch.Tensor) -> float:
    """How far counts are from what is expected, in standard deviations of the statistic (for some degrees or more)."""
    expected = probabilities.double().cpu() * counts.sum().item()
    assert expected.min() >= 5
    statistic = ((counts.double().cpu() - expected) ** 2 / expected).sum().item()
    degrees = len(counts) - 1
    return float((statistic - degrees) / (2 * degrees) ** 0.5)
