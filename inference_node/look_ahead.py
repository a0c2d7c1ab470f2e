"""Passes over tokens that only the device knows yet, where it works while the host does."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from inference_node.running import Running
from inference_node.slices import Slice
from inference_node.step_sampler import Pick


class Ahead(NamedTuple):
    """A row that was computed before the host knew its token."""

    part: Slice
    logits: torch.Tensor
    row: int


class GoingOn(NamedTuple):
    """One that will most likely go on with what is picked for it, and which of the step's picks that is."""

    running: Running
    part: Slice
    pick: int


def going_on(
    ready: Sequence[Running],
    picks: Sequence[Sequence[Pick]],
    *,
    has_drafts: bool,
    has_room: Callable[[Running, int], bool],
) -> list[GoingOn]:
    """Those of `ready`, whose picks these are, with room for one more token and no drafts to be looked at first."""
    chosen: list[GoingOn] = []
    index = 0
    for running, of_one in zip(ready, picks, strict=True):
        sequence = running.sequence
        start = len(sequence.token_ids)
        if (
            len(of_one) == 1
            and sequence.num_left > 1
            and not (has_drafts and sequence.request.may_draft)
            and has_room(running, start + 1)
        ):
            part = Slice(
                blocks=running.table.blocks,
                start=start,
                token_ids=(0,),
                num_prompt_tokens=len(sequence.request.prompt_ids),
                num_logits=1,
                adapter=sequence.request.adapter.slot,
            )
            chosen.append(GoingOn(running, part, index))
        index += len(of_one)
    return chosen
