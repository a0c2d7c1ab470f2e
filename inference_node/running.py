"""A sequence that holds blocks of the cache, and what the last step left of it."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import torch

from inference_node.block_pool import BlockTable
from inference_node.mask_filler import MaskFill
from inference_node.sequence import DecodingSequence


@dataclass(slots=True, kw_only=True, eq=False)
class Computed:
    """Logits of a sequence's last token and of the drafts after it."""

    logits: torch.Tensor
    """Of the whole step, [rows, vocabulary]. May be overwritten by the next pass (`ModelRunner.reuses_logits`)."""
    row: int
    """Of the last token; the drafts' follow it."""
    position: int
    """Where in the sequence that token stands."""
    drafts: Sequence[int] = ()
    is_kept: bool = False
    """Whether these are a copy of our own."""


@dataclass(slots=True, kw_only=True, eq=False)
class Running:
    """Owned by the step loop's thread."""

    sequence: DecodingSequence
    table: BlockTable
    mask_rows: list[int]
    """The rows that its masks are filled into: one, and more where it has drafts."""
    last_step: int
    computed: Computed | None = None
    """What its next tokens are picked from, once the masks are there."""
    fill: MaskFill | None = None
    repair: Future[None] | None = None
    """While its matcher is moved to another lexer, on another thread; nobody else touches the matcher meanwhile."""
    drafts: Sequence[int] = field(default=())
    """What is computed and masked beside the next token in this step."""
    is_over: bool = False
    """Whether it has left: nothing more is taken for it."""

    @property
    def is_mask_settled(self) -> bool:
        """Whether nobody else touches the matcher and the mask rows now."""
        return self.fill is None or self.fill.done.done()


def keep_rows(owners: Sequence[Running]) -> None:
    """Copy the rows that these need of one pass's logits, so that they are safe from the next."""
    needed = [(running, running.computed) for running in owners if running.computed is not None]
    if not needed:
        return
    rows: list[int] = []
    firsts: list[int] = []
    for _, computed in needed:
        firsts.append(len(rows))
        rows.extend(range(computed.row, computed.row + 1 + len(computed.drafts)))
    logits = needed[0][1].logits
    kept = logits.index_select(0, torch.tensor(rows, dtype=torch.int64, device=logits.device))
    for (running, computed), first in zip(needed, firsts, strict=True):
        running.computed = Computed(
            logits=kept, row=first, position=computed.position, drafts=computed.drafts, is_kept=True
        )
