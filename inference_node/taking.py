"""A sequence's picks of one step: one token, and more where drafts stand behind it."""

from collections.abc import Sequence
from typing import NamedTuple

from inference_node.ending import Ending
from inference_node.logprobs import token_logprob
from inference_node.mask_filler import MaskFill
from inference_node.protocol import TokenLogprob
from inference_node.running import Computed, Running
from inference_node.sampling import SamplingError
from inference_node.step_sampler import Pick, Picked


class Taken(NamedTuple):
    """What came of a step's picks."""

    ending: Ending | None
    num_drafted: int = 0
    num_accepted: int = 0


class PickedFrom(NamedTuple):
    """Logits and masks of a step."""

    computed: Computed
    fill: MaskFill | None


def picks_of(running: Running) -> list[Pick]:
    """What to pick, with a token's own place and mask for each draft too: whether drafted or not, it is the same draw.

    The fill is done, if there is one, and what is computed is there.
    """
    computed, request, fill = _computed(running), running.sequence.request, running.fill
    place = computed.position + 1 - len(request.prompt_ids)
    damped_ids: Sequence[int] = ()
    if request.choice.is_damped:
        damped_ids = request.choice.damped_ids(running.sequence.token_ids[len(request.prompt_ids) :])
    num_rows = 1 + len(computed.drafts)
    if fill is None:
        mask_rows: Sequence[int | None] = [None] * num_rows
    else:
        mask_rows = fill.rows[: min(num_rows, fill.done.result().num_rows)]
    return [
        Pick(computed.logits, computed.row + index, request.choice, place + index, mask_row, damped_ids)
        for index, mask_row in enumerate(mask_rows)
    ]


def pick_from(running: Running) -> PickedFrom:
    """What was picked from, which is over with that: what the sequence holds from now on is of its next step."""
    computed, fill = _computed(running), running.fill
    running.computed, running.fill, running.drafts = None, None, ()
    return PickedFrom(computed, fill)


def take_picked(running: Running, picked: Sequence[Picked], source: PickedFrom) -> Taken:
    """Go on by what was picked, as far as the drafts before it were what was picked there too.

    Raises:
        SamplingError: nothing can be picked.
    """
    sequence, (computed, fill) = running.sequence, source
    ending = _take_one(running, picked[0], source, index=0)
    if not computed.drafts:
        return Taken(ending)
    # Forced tokens after it are among the drafts as well, or put an end to them.
    while ending is None and (index := len(sequence.token_ids) - 1 - computed.position) < len(picked):
        if fill is None and sequence.matcher is not None:
            break  # the thought is over: what comes after it has to be picked under the grammar
        if sequence.is_behind or sequence.token_ids[computed.position + 1 :] != list(computed.drafts[:index]):
            break
        ending = _take_one(running, picked[index], source, index=index)
    num_accepted = _num_common(sequence.token_ids[computed.position + 1 :], computed.drafts)
    sequence.tally.drafted(len(computed.drafts), num_accepted)
    # What was computed for drafts that stand holds; the last token is always computed for its logits.
    sequence.num_computed = min(computed.position + 1 + num_accepted, len(sequence.token_ids) - 1)
    return Taken(ending, num_drafted=len(computed.drafts), num_accepted=num_accepted)


def _take_one(running: Running, pick: Picked, source: PickedFrom, *, index: int) -> Ending | None:
    """`index`: of the step's picks, 0 for the one before the drafts."""
    if pick.token_id < 0:
        raise SamplingError("the logits allow no token")
    sequence, (computed, fill) = running.sequence, source
    if fill is None:
        sequence.tally.step()
    else:
        mask_seconds = fill.done.result().seconds if index == 0 else None
        sequence.tally.step(mask_seconds, pick.num_allowed, pick.removed_mass)
    return sequence.take(pick.token_id, _logprob(running, computed, index, pick.token_id))


def _computed(running: Running) -> Computed:
    assert running.computed is not None, "picks are of what was computed"
    return running.computed


def _logprob(running: Running, computed: Computed, index: int, token_id: int) -> TokenLogprob | None:
    num_top = running.sequence.request.num_top_logprobs
    if num_top is None:
        return None
    return token_logprob(computed.logits[computed.row + index], token_id, running.sequence.tokenizer, num_top=num_top)


def _num_common(tokens: Sequence[int], drafts: Sequence[int]) -> int:
    """How many of the drafts are what was taken."""
    for index, (token_id, draft) in enumerate(zip(tokens, drafts, strict=False)):
        if token_id != draft:
            return index
    return min(len(tokens), len(drafts))
