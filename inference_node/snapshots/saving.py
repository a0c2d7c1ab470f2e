"""From a sequence that stands between two steps to what is kept of it."""

import torch

from inference_node.sequence import DecodingSequence
from inference_node.slices import BLOCK_TOKENS
from inference_node.snapshots.blob import Snapshot, described
from inference_node.snapshots.protocol import SavedLogprob, SavedModel, SavedRequest, SnapshotHeader
from inference_node.snapshots.restored_state import SavedCounters


def num_kept(sequence: DecodingSequence) -> int:
    """Of how many tokens keys and values are worth keeping.

    The last token is computed again for its logits. Within a prompt rows are computed in tiles, so that only whole ones
    give the same bits elsewhere.
    """
    num_tokens = min(sequence.num_computed, len(sequence.token_ids) - 1)
    if num_tokens < len(sequence.request.prompt_ids):
        num_tokens -= num_tokens % BLOCK_TOKENS
    return max(0, num_tokens)


def snapshot_of(
    sequence: DecodingSequence, keys_values: torch.Tensor, request: SavedRequest, model: SavedModel
) -> Snapshot:
    """What is kept of a sequence that nobody goes on with. Digests keys and values: not for the step loop."""
    prompt_ids = sequence.request.prompt_ids
    answer_ids = sequence.token_ids[len(prompt_ids) :]
    told = sequence.tally.report()
    header = SnapshotHeader(
        model=model,
        request=request,
        prompt_ids=list(prompt_ids),
        answer_ids=answer_ids,
        forced_places=list(sequence.forced_places),
        asks_forced=sequence.asks_forced,
        owed_forced_ids=list(sequence.owed_forced_ids),
        num_sent_tokens=len(answer_ids) - sequence.sender.num_unsent,
        num_sent_characters=len(sequence.sender.stream.sent_text),
        unsent_logprobs=[
            SavedLogprob(begins_at=begins_at, logprob=logprob) for begins_at, logprob in sequence.sender.unsent_logprobs
        ],
        counters=SavedCounters(
            num_steps=told.num_steps,
            cached_prompt_tokens=told.cached_prompt_tokens,
            drafted_tokens=told.drafted_tokens,
            accepted_draft_tokens=told.accepted_draft_tokens,
            num_preemptions=told.num_preemptions,
        ),
        keys_values=described(keys_values),
    )
    return Snapshot(header=header, keys_values=keys_values)
