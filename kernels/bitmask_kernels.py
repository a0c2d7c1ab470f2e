"""Applying bitmasks in Triton: only forbidden logits are written, and none is read.

Masks come in words of 32 tokens. A word that forbids all of its tokens is written in the widest stores there are; one
that allows some is written token by token, a lane each; one that allows all touches nothing.
"""

from contextlib import nullcontext
from typing import Final

import torch
import triton
import triton.language as tl

BLOCK_WORDS: Final = 32
"""Words that are looked at together. With one warp a program, which needs no barriers: the quickest of those measured
on an H200 (docs/kernels.md)."""
NUM_WARPS: Final = 1
MAX_BLOCKS: Final = 2
"""Blocks that one program takes one after another, the next one's words on their way while it stores."""
BUSY_PROGRAMS: Final = 4096
"""About what keeps a large GPU busy. Fewer rows than that get more programs each."""


def apply_bitmask_by_kernel(
    logits: torch.Tensor,
    bitmask: torch.Tensor,
    rows: torch.Tensor | None,
    block_words: int = BLOCK_WORDS,
    num_warps: int = NUM_WARPS,
    max_blocks: int = MAX_BLOCKS,
    busy_programs: int = BUSY_PROGRAMS,
) -> None:
    """`bitmask.apply_bitmask_` for arguments that were checked there; `rows` beside the logits. Waits for nothing."""
    num_masks, num_words = bitmask.shape
    num_blocks = triton.cdiv(num_words, block_words)
    if not num_masks or not num_blocks:
        return
    blocks_each = 1
    while blocks_each < max_blocks and num_masks * num_blocks >= 2 * blocks_each * busy_programs:
        blocks_each *= 2
    programs_each = triton.cdiv(num_blocks, blocks_each)
    with torch.cuda.device(logits.device) if logits.is_cuda else nullcontext():
        _forbid[(num_masks * programs_each,)](
            logits, bitmask, rows, logits.shape[0], logits.shape[1], num_words, programs_each,
            *logits.stride(), *bitmask.stride(),
            BLOCK_WORDS=block_words, BLOCKS=blocks_each, num_warps=num_warps,
        )  # fmt: skip


@triton.jit(do_not_specialize=["num_rows", "programs_each"])
def _forbid(
    logits, bitmask, rows, num_rows, vocabulary_size, num_words, programs_each,
    row_stride, token_stride, mask_stride, word_stride, BLOCK_WORDS: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """Some blocks of words of one mask. Programs of one row are neighbours."""
    mask = tl.program_id(0) // programs_each
    first_word = (tl.program_id(0) % programs_each) * (BLOCK_WORDS * BLOCKS)
    row = mask.to(tl.int64) if rows is None else tl.load(rows + mask)
    if row < 0 or row >= num_rows:
        return
    row_start = logits + row * row_stride
    mask_start = bitmask + mask.to(tl.int64) * mask_stride
    at_word = first_word + tl.arange(0, BLOCK_WORDS)
    bit = tl.arange(0, 32)[None, :]
    token = tl.arange(0, BLOCK_WORDS)[:, None] * 32 + bit
    # Said to be aligned to nothing, each lane owns one token: owning neighbours, a warp's stores would leave gaps.
    lane = tl.multiple_of(tl.arange(0, BLOCK_WORDS)[:, None] * 32 + bit, (1, 1))
    next_words = tl.load(mask_start + at_word * word_stride, at_word < num_words, other=-1)
    for _ in range(BLOCKS):
        words = next_words
        at_next = at_word + BLOCK_WORDS
        next_words = tl.load(mask_start + at_next * word_stride, at_next < num_words, other=-1)
        # Past the vocabulary nothing is forbidden. So a last word that is not whole is written token by token.
        num_tokens = tl.minimum(vocabulary_size - at_word * 32, 32)
        words = tl.where(num_tokens < 32, words | (-1 << num_tokens), words)
        is_closed = words == 0
        mixed = tl.where(is_closed, -1, words)
        block = row_start + first_word.to(tl.int64) * (32 * token_stride)
        if tl.max(is_closed.to(tl.int32)) > 0:
            closed = tl.broadcast_to(is_closed[:, None], (BLOCK_WORDS, 32))
            tl.store(block + token * token_stride, float("-inf"), closed)
        if tl.max((mixed != -1).to(tl.int32)) > 0:
            tl.store(block + lane * token_stride, float("-inf"), (mixed[:, None] & (1 << bit)) == 0)
        at_word = at_next
        first_word += BLOCK_WORDS
