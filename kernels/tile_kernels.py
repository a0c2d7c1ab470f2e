"""What the sampling kernels read: a tile of a row's logits, its mask, and what the row's filters let through."""

import triton
import triton.language as tl


@triton.jit
def row_of(rows, draw, num_rows):
    """Which row is sampled, and whether it is there; a row that is not is never read from."""
    row = draw.to(tl.int64) if rows is None else tl.load(rows + draw)
    is_there = (row >= 0) & (row < num_rows)
    return tl.where(is_there, row, 0), is_there


@triton.jit
def load_tile(logits, row, first, vocabulary_size, row_stride, token_stride, TILE: tl.constexpr):
    """Ids and float32 logits [TILE / 32, 32] from the token `first`; minus infinity past the vocabulary."""
    offset = tl.arange(0, TILE // 32)[:, None] * 32 + tl.arange(0, 32)[None, :]
    token = first + offset
    start = logits + row * row_stride + first.to(tl.int64) * token_stride
    return token, tl.load(start + offset * token_stride, token < vocabulary_size, other=float("-inf")).to(tl.float32)


@triton.jit
def load_words(
    bitmask, mask_rows, draw, first, is_there, vocabulary_size, num_masks, mask_stride, word_stride, TILE: tl.constexpr
):
    """Mask words [TILE / 32] from the token `first`, without bits past the vocabulary.

    All set where there is no mask, and then none is read; none set for a mask or a row that is not there.
    """
    num_bits = tl.minimum(tl.maximum(vocabulary_size - (first + tl.arange(0, TILE // 32) * 32), 0), 32)
    valid = tl.where(num_bits == 32, -1, (1 << num_bits) - 1)
    words = tl.full((TILE // 32,), -1, tl.int32)
    if bitmask is not None:
        mask = tl.load(mask_rows + draw)
        if mask != -1:
            is_mask = (mask >= 0) & (mask < num_masks)
            at = bitmask + mask.to(tl.int64) * mask_stride + (first // 32 + tl.arange(0, TILE // 32)) * word_stride
            words = tl.load(at, (num_bits > 0) & is_mask, other=0)
    return tl.where(is_there, words & valid, 0)


@triton.jit
def allowed_by(words):
    """Boolean [TILE / 32, 32]."""
    return (words[:, None] & (1 << tl.arange(0, 32)[None, :])) != 0


@triton.jit
def passes(token, values, least, last, draw):
    """Whether the row's filters let a token through: above the least logit, or equal to it and not after the last."""
    limit = tl.load(least + draw)
    return (values > limit) | ((values == limit) & (token <= tl.load(last + draw)))
