"""Packed bitmasks over logits: what a grammar forbids becomes minus infinity, in place.

A bitmask is int32 [masks, ceil(vocabulary / 32)]; bit `i % 32` of word `i // 32` is set where token `i` is allowed.
This is the reference in plain torch, for any device.
"""

import torch

_BITS = 32


class BitmaskError(ValueError):
    """A mask that does not cover the logits exactly. Applying what fits would leave the rest allowed."""


def bitmask_words(vocabulary_size: int) -> int:
    """Words of a mask row."""
    return -(-vocabulary_size // _BITS)


def apply_bitmask_(logits: torch.Tensor, bitmask: torch.Tensor, *, rows: torch.Tensor | None = None) -> None:
    """Set logits [n, vocabulary] to minus infinity where the masks have no bit. Any strides.

    Without `rows` mask `i` is for row `i` and there are as many masks as rows; with `rows` (int64 [masks], each row at
    most once) mask `i` is for row `rows[i]` and other rows stay as they are. Bits past the vocabulary mean nothing.

    Raises:
        BitmaskError: types, shapes or devices do not fit, or a row is out of range; nothing was changed.
    """
    _check(logits, bitmask, rows)
    if not bitmask.shape[0]:
        return
    bits = torch.ones((), dtype=torch.int32, device=bitmask.device) << torch.arange(
        _BITS, dtype=torch.int32, device=bitmask.device
    )
    forbidden_tokens = ((bitmask.unsqueeze(-1) & bits) == 0).flatten(1)[:, : logits.shape[1]]
    if rows is None:
        logits.masked_fill_(forbidden_tokens, float("-inf"))
    else:
        logits[rows] = logits[rows].masked_fill_(forbidden_tokens, float("-inf"))


def _check(logits: torch.Tensor, bitmask: torch.Tensor, rows: torch.Tensor | None) -> None:
    if logits.ndim != 2 or not logits.is_floating_point():
        raise BitmaskError(f"logits must be floating [rows, vocabulary], not {logits.dtype} {tuple(logits.shape)}")
    num_rows, vocabulary_size = logits.shape
    if bitmask.ndim != 2 or bitmask.dtype != torch.int32:
        raise BitmaskError(f"a bitmask must be int32 [masks, words], not {bitmask.dtype} {tuple(bitmask.shape)}")
    num_masks, num_words = bitmask.shape
    if num_words != bitmask_words(vocabulary_size):
        raise BitmaskError(
            f"a mask row has {num_words} words; {vocabulary_size} logits need {bitmask_words(vocabulary_size)}"
        )
    if bitmask.device != logits.device:
        raise BitmaskError(f"the mask is on {bitmask.device}, the logits on {logits.device}")
    if rows is None:
        if num_masks != num_rows:
            raise BitmaskError(f"{num_masks} masks for {num_rows} rows of logits")
        return
    if rows.shape != (num_masks,) or rows.dtype != torch.int64 or rows.device != logits.device:
        raise BitmaskError(f"rows must be int64 [{num_masks}] beside the logits, not {rows.dtype} {tuple(rows.shape)}")
    if num_masks and not bool(((rows >= 0) & (rows < num_rows)).all()):
        raise BitmaskError(f"a row is outside 0 to {num_rows - 1}")
    if len(set(rows.tolist())) != num_masks:
        raise BitmaskError("a row is masked twice")
