"""Fills the rows of several matchers by one call into the grammar engine.

The engine fills all rows of a call on threads of its own, and the interpreter lock is taken once for it. What a matcher
looks for after a mask of its own (`GrammarMatcher.fill_bitmask`) is looked for here after all of them are there: every
engine's error state, the soundness of every lexer, what the rows offer. A lexer that broke stays broken, so one sound
answer at the end vouches for all rows of its prototype.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from inference_node.bitmask_row import Offer, offer_rule
from inference_node.draft_walk import DraftWalk
from inference_node.grammar_engine import ParallelFill, is_engine_fault
from inference_node.mask_rows import MaskRows, RowBlock
from inference_node.matcher import GrammarMatcher


class RowsWanted(Protocol):
    """One matcher's next mask, and those after each of its drafts."""

    @property
    def matcher(self) -> GrammarMatcher:
        """No other thread uses it meanwhile, and it stands where it stood afterwards."""

    @property
    def rows(self) -> Sequence[int]:
        """One, and one for each draft that is to have its mask."""

    @property
    def drafts(self) -> Sequence[int]:
        """Token ids."""


def fill_rows(wanted: Sequence[RowsWanted], rows: MaskRows, parallel: ParallelFill) -> list[int]:
    """Of each, how many of its rows are valid: the first, and one for each draft up to the first that the grammar
    refuses, that its mask does not offer, or after which the text is whole and nothing can follow. Other rows hold
    zeros: nothing is allowed. None is valid where the matcher does not stand afterwards, or is broken.
    """
    num_valid = [0] * len(wanted)
    live = [index for index, fill in enumerate(wanted) if fill.matcher.has_next_token]
    written = _write({index: wanted[index].rows[0] for index in live}, wanted, rows, parallel)
    sharers = Counter(wanted[index].matcher.prototype for index in live)
    sound = {prototype: prototype.is_sound() for prototype in sharers}
    for prototype, num_masks in sharers.items():
        prototype.num_masks += num_masks
    for index, offer in written.items():
        matcher = wanted[index].matcher
        is_valid = matcher.settle_mask(
            offer,
            is_sound=sound[matcher.prototype],
            is_shared=sharers[matcher.prototype] > 1,
        )
        num_valid[index] = int(is_valid)
    walks = {
        index: DraftWalk(matcher=wanted[index].matcher, drafts=wanted[index].drafts)
        for index in written
        if num_valid[index] and wanted[index].drafts and wanted[index].matcher.takes_drafts
    }
    if walks:
        try:
            _fill_drafts(walks, wanted, rows, parallel, num_valid)
        except BaseException:
            # Not the engine's doing, but some engines are ahead now: none of these may be used as it is.
            for walk in walks.values():
                walk.matcher.break_over_draft("the drafts were left half way")
            raise
    for fill, num_filled in zip(wanted, num_valid, strict=True):
        for row in fill.rows[num_filled:]:
            rows.row(row)[:] = 0
    return num_valid


def _fill_drafts(
    walks: Mapping[int, DraftWalk],
    wanted: Sequence[RowsWanted],
    rows: MaskRows,
    parallel: ParallelFill,
    num_valid: list[int],
) -> None:
    """The engines move on by their drafts, all together by one place after another, and back."""
    ahead = list(walks)
    while ahead:
        row_of = {}
        for index in ahead:
            place, own = num_valid[index], wanted[index].rows
            if walks[index].move_on(rows.row(own[place - 1])) and place < len(own):
                row_of[index] = own[place]
        written = _write(row_of, wanted, rows, parallel)
        ahead = [
            index
            for index, offer in written.items()
            if walks[index].believes(offers=offer.anything, offers_end=offer.ends)
        ]
        for index in ahead:
            num_valid[index] += 1
    for walk in walks.values():
        walk.move_back()
    sound = {prototype: prototype.is_sound() for prototype in {walk.matcher.prototype for walk in walks.values()}}
    for index, walk in walks.items():
        # The first row was proved before. Those of a walk that went wrong were not, and the matcher has to be repaired.
        if walk.settle(is_sound=sound[walk.matcher.prototype]):
            continue
        num_valid[index] = 0


def _write(
    row_of: Mapping[int, int], wanted: Sequence[RowsWanted], rows: MaskRows, parallel: ParallelFill
) -> dict[int, Offer]:
    """Have the engine write rows, and look at what they offer. A matcher whose engine raises is broken and left out."""
    written: dict[int, Offer] = {}
    for block in rows.blocks:
        indices = [index for index, row in row_of.items() if block.first <= row < block.end]
        asked = _ask(block, indices, row_of, wanted, parallel)
        if not asked:
            continue
        rule = offer_rule(wanted[asked[0]].matcher.prototype.tokenizer)
        chosen = np.array([row_of[index] - block.first for index in asked], dtype=np.intp)
        written.update(zip(asked, rule.apply_to_rows(block.words, chosen), strict=True))
    return written


def _ask(
    block: RowBlock, indices: list[int], row_of: Mapping[int, int], wanted: Sequence[RowsWanted], parallel: ParallelFill
) -> list[int]:
    """Whose engine did not raise."""
    row_bytes = block.words.strides[0]
    if len(indices) > 1:
        engines = [(wanted[index].matcher.engine, row_of[index] - block.first) for index in indices]
        try:
            parallel.unsafe_compute_mask_ptr(engines, block.address, row_bytes, len(block.words))
        except BaseException as error:
            if not is_engine_fault(error):
                raise
            # Somebody's fault: asking each alone shows whose. A mask can be asked for twice.
        else:
            return indices
    asked = []
    for index in indices:
        try:
            address = block.address + (row_of[index] - block.first) * row_bytes
            wanted[index].matcher.engine.unsafe_compute_mask_ptr(address, row_bytes)
            asked.append(index)
        except BaseException as error:
            wanted[index].matcher.break_by(error)
    return asked
