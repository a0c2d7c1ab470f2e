"""Picks each row's token under its bitmask, and tells what the mask took away, in one reading of the logits.

A row's result is a function of its logits, mask, temperature, filters, seed and place alone, bit for bit on one device:
its neighbours, its index and the size of the batch have no part in it. Nothing as wide as the vocabulary is stored on a
GPU, and the logits stay as they are.

The draw has two stages and is exact (the maximum of Gumbel variables is one): over tiles of `TILE_TOKENS` by their
probability, then among the tokens of that tile, each by `argmax(log p + noise)`. So noise is made for one tile a row
instead of the vocabulary. On CUDA it is `sampling_kernels.py`, elsewhere `sampling_reference.py`, one definition: the
two agree but for the last digits of exponentials.
"""

import torch

from kernels.bitmask import BitmaskError, bitmask_words
from kernels.draws import Draws, Sampled
from kernels.sampling_reference import masked_sample_reference

__all__ = ["Draws", "MaskedSamplingError", "Sampled", "masked_sample"]


class MaskedSamplingError(ValueError):
    """Types, shapes or devices that do not fit. Nothing was picked."""


def masked_sample(
    logits: torch.Tensor,
    draws: Draws,
    *,
    rows: torch.Tensor | None = None,
    bitmask: torch.Tensor | None = None,
    mask_rows: torch.Tensor | None = None,
) -> Sampled:
    """Sample from logits [rows, vocabulary], any floating type and strides.

    `rows` (int64 [n]): which rows are sampled, one more than once if it is wanted so; without it all are, in order.
    `mask_rows` (int32 [n]): which row of `bitmask` (int32 [masks, words]) holds for each; -1: none, and nothing is read
    for it. Only types, shapes and devices are checked before the device works, so that nothing waits for it. A row that
    is not there has no token; a mask that is not there allows none.

    Raises:
        BitmaskError: the mask's type or shape does not fit, or one of `bitmask` and `mask_rows` is missing.
        MaskedSamplingError: anything else does not.
    """
    num_draws = _check_rows(logits, rows)
    _check_draws(draws, num_draws, logits.device)
    _check_masks(bitmask, mask_rows, num_draws, logits)
    if logits.is_cuda:
        from kernels.sampling_kernels import masked_sample_by_kernels

        return masked_sample_by_kernels(logits, draws, rows, bitmask, mask_rows)
    return masked_sample_reference(logits, draws, rows, bitmask, mask_rows)


def _check_rows(logits: torch.Tensor, rows: torch.Tensor | None) -> int:
    if logits.ndim != 2 or not logits.is_floating_point() or not logits.shape[1]:
        raise MaskedSamplingError(
            f"logits must be floating [rows, vocabulary], not {logits.dtype} {tuple(logits.shape)}"
        )
    if rows is None:
        return logits.shape[0]
    _check_vector("rows", rows, torch.int64, len(rows) if rows.ndim else 0, logits.device)
    return len(rows)


def _check_draws(draws: Draws, num_draws: int, device: torch.device) -> None:
    _check_vector("temperature", draws.temperature, torch.float32, num_draws, device)
    _check_vector("top_k", draws.top_k, torch.int32, num_draws, device)
    _check_vector("top_p", draws.top_p, torch.float32, num_draws, device)
    _check_vector("seed", draws.seed, torch.int64, num_draws, device)
    _check_vector("place", draws.place, torch.int64, num_draws, device)


def _check_masks(
    bitmask: torch.Tensor | None, mask_rows: torch.Tensor | None, num_draws: int, logits: torch.Tensor
) -> None:
    if bitmask is None and mask_rows is None:
        return
    if bitmask is None or mask_rows is None:
        raise BitmaskError("a bitmask and mask_rows are given together or not at all")
    num_words = bitmask_words(logits.shape[1])
    if bitmask.dtype != torch.int32 or bitmask.ndim != 2 or bitmask.shape[1] != num_words:
        raise BitmaskError(
            f"the mask of {logits.shape[1]} logits is int32 [masks, {num_words}], "
            f"not {bitmask.dtype} {tuple(bitmask.shape)}"
        )
    if bitmask.device != logits.device:
        raise BitmaskError(f"the mask is on {bitmask.device}, the logits on {logits.device}")
    _check_vector("mask_rows", mask_rows, torch.int32, num_draws, logits.device)


def _check_vector(name: str, vector: torch.Tensor, dtype: torch.dtype, length: int, device: torch.device) -> None:
    if vector.shape != (length,) or vector.dtype != dtype or vector.device != device:
        found = f"{vector.dtype} {tuple(vector.shape)} on {vector.device}"
        raise MaskedSamplingError(f"{name} must be {dtype} [{length}] on {device}, not {found}")
