"""The next tokens of one sequence, as one step computes them, and how their attention is divided."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BLOCK_TOKENS: Final = 16
"""Tokens of a block of the cache, and of a tile of a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """`token_ids` stand at positions `start` and after; the sequence's `blocks` reach at least to their end.

    A slice that begins in the prompt begins at a whole number of blocks. Where its tokens are known to the device only
    (`ModelRunner.forward`), there is one and its id here means nothing.
    """

    blocks: Sequence[int]
    start: int
    token_ids: Sequence[int]
    num_prompt_tokens: int
    """Of the whole sequence."""
    num_logits: int
    """The last so many rows need logits: none, the last one, or one for each draft besides."""
    adapter: int = 0
    """The slot of the adapter that applies to these rows; 0: none."""

    @property
    def end(self) -> int:
        """The position after the last."""
        return self.start + len(self.token_ids)


def attention_parts(part: Slice) -> list[int]:
    """How many rows are attended together, in order: tiles of the prompt, and every later token alone.

    It follows from positions alone, never from how a prompt was cut into steps, whether a token was forced, drafted,
    picked or computed again: that is half of what makes results independent of all these (the other half is
    `row_padding`).
    """
    num_in_prompt = max(0, min(part.end, part.num_prompt_tokens) - part.start)
    whole, rest = divmod(num_in_prompt, BLOCK_TOKENS)
    return [BLOCK_TOKENS] * whole + [rest] * (rest > 0) + [1] * (len(part.token_ids) - num_in_prompt)
