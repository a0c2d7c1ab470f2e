"""Packed bitmasks over logits: what a grammar forbids becomes minus infinity, in place.

A bitmask is int32 [masks, ceil(vocabulary / 32)]; bit `i % 32` of word `i // 32` is set where token `i` is allowed.
On CUDA a Triton kernel writes the forbidden logits and nothing else (`bitmask_kernels.py`); elsewhere, and as what
tests hold the kernel to, it is plain torch.
"""

from collections.abc import Sequence

import torch

_BITS = 32


class BitmaskError(ValueError):
    """A mask that does not cover the logits exactly. Applying what fits would leave the rest allowed."""


def bitmask_words(vocabulary_size: int) -> int:
    """Words of a mask row."""
    return -(-vocabulary_size // _BITS)


def apply_bitmask_(
    logits: torch.Tensor, bitmask: torch.Tensor, *, rows: torch.Tensor | Sequence[int] | None = None
) -> None:
    """Set logits [n, vocabulary] to minus infinity where the masks have no bit. Any strides.

    Without `rows` mask `i` is for row `i` and there are as many masks as rows; with `rows` (int64 [masks], each row at
    most once) mask `i` is for row `rows[i]` and other rows stay as they are. Bits past the vocabulary mean nothing.

    Rows are checked on the host: a sequence or a tensor on the CPU costs nothing, while a tensor on a GPU has to be
    read back, for which all that the device was given before must end. Rows that only a device knows belong in
    `masked_sampling`, where one that is not there loses its token instead.

    Raises:
        BitmaskError: types, shapes or devices do not fit, or a row is out of range; nothing was changed.
    """
    _check_masks(logits, bitmask)
    at = None if rows is None else _checked_rows(rows, bitmask.shape[0], logits)
    if at is None and bitmask.shape[0] != logits.shape[0]:
        raise BitmaskError(f"{bitmask.shape[0]} masks for {logits.shape[0]} rows of logits")
    if not bitmask.shape[0]:
        return
    if logits.is_cuda:
        from kernels.bitmask_kernels import apply_bitmask_by_kernel

        apply_bitmask_by_kernel(logits, bitmask, at)
    else:
        apply_bitmask_reference_(logits, bitmask, at)


def apply_bitmask_reference_(logits: torch.Tensor, bitmask: torch.Tensor, rows: torch.Tensor | None) -> None:
    """The definition, for arguments that were checked and on any device: it unpacks a boolean for each token."""
    bits = torch.ones((), dtype=torch.int32, device=bitmask.device) << torch.arange(
        _BITS, dtype=torch.int32, device=bitmask.device
    )
    forbidden_tokens = ((bitmask.unsqueeze(-1) & bits) == 0).flatten(1)[:, : logits.shape[1]]
    if rows is None:
        logits.masked_fill_(forbidden_tokens, float("-inf"))
    else:
        logits[rows] = logits[rows].masked_fill_(forbidden_tokens, float("-inf"))


def _check_masks(logits: torch.Tensor, bitmask: torch.Tensor) -> None:
    if logits.ndim != 2 or not logits.is_floating_point():
        raise BitmaskError(f"logits must be floating [rows, vocabulary], not {logits.dtype} {tuple(logits.shape)}")
    if bitmask.ndim != 2 or bitmask.dtype != torch.int32:
        raise BitmaskError(f"a bitmask must be int32 [masks, words], not {bitmask.dtype} {tuple(bitmask.shape)}")
    num_words = bitmask_words(logits.shape[1])
    if bitmask.shape[1] != num_words:
        raise BitmaskError(f"a mask row has {bitmask.shape[1]} words; {logits.shape[1]} logits need {num_words}")
    if bitmask.device != logits.device:
        raise BitmaskError(f"the mask is on {bitmask.device}, the logits on {logits.device}")


def _checked_rows(rows: torch.Tensor | Sequence[int], num_masks: int, logits: torch.Tensor) -> torch.Tensor:
    """The rows beside the logits."""
    if isinstance(rows, torch.Tensor):
        if (
            rows.shape != (num_masks,)
            or rows.dtype != torch.int64
            or rows.device.type not in {"cpu", logits.device.type}
        ):
            raise BitmaskError(
                f"rows must be int64 [{num_masks}] on the host or beside the logits, "
                f"not {rows.dtype} {tuple(rows.shape)} on {rows.device}"
            )
        known = rows.tolist()
    else:
        known = list(rows)
    if len(known) != num_masks:
        raise BitmaskError(f"{num_masks} masks for {len(known)} rows")
    num_rows = logits.shape[0]
    if not all(0 <= row < num_rows for row in known):
        raise BitmaskError(f"a row is outside 0 to {num_rows - 1}")
    if len(set(known)) != num_masks:
        raise BitmaskError("a row is masked twice")
    beside = rows if isinstance(rows, torch.Tensor) else torch.tensor(known, dtype=torch.int64)
    return beside.to(logits.device, non_blocking=True)
