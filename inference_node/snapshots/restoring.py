"""From what was kept of a sequence to one that goes on: whether it may do so here, and whether it came to the same."""

from typing import Final

from inference_node.errors import RefusedRequestError
from inference_node.model_config import ModelConfig
from inference_node.protocol import NodeFault
from inference_node.sequence import DecodingSequence
from inference_node.slices import BLOCK_TOKENS
from inference_node.snapshots.blob import Snapshot
from inference_node.snapshots.protocol import IncludedKeysValues, SavedModel, SnapshotHeader
from inference_node.snapshots.restored_state import KeptKeysValues, RestoredState

_COMPARED: Final = {
    "tokenizer_digest": "snapshot_tokenizer_mismatch",
    "model_digest": "snapshot_model_mismatch",
    "dtype": "snapshot_model_mismatch",
    "chat_template_digest": "snapshot_model_mismatch",
}
"""In this order: another tokenizer is another model too, and says more."""


def check_model(saved: SavedModel, here: SavedModel) -> None:
    """Whether a sequence of one model can go on with another.

    Raises:
        RefusedRequestError: `snapshot_tokenizer_mismatch` or `snapshot_model_mismatch`, with what differs.
    """
    for member, code in _COMPARED.items():
        there_value, here_value = getattr(saved, member), getattr(here, member)
        if there_value != here_value:
            message = f"{member} of the saved sequence ({saved.name}) is {there_value}; this node has {here_value}"
            raise RefusedRequestError(NodeFault.model_validate({"code": code, "message": message}))


def restored_state(snapshot: Snapshot, config: ModelConfig, *, vocabulary_size: int) -> RestoredState:
    """What the step loop needs of a snapshot.

    Raises:
        RefusedRequestError: `snapshot_damaged`: its parts contradict each other.
    """
    header, keys_values = snapshot.header, snapshot.keys_values
    _check_parts(header, num_computed=keys_values.shape[1], vocabulary_size=vocabulary_size)
    _check_shape(header, config)
    forced = set(header.forced_places)
    return RestoredState(
        answer_ids=tuple(header.answer_ids),
        are_forced=tuple(place in forced for place in range(len(header.answer_ids))),
        asks_forced=header.asks_forced,
        owed_forced_ids=tuple(header.owed_forced_ids),
        num_sent_tokens=header.num_sent_tokens,
        unsent_logprobs=tuple((saved.begins_at, saved.logprob) for saved in header.unsent_logprobs),
        counters=header.counters,
        keys_values=KeptKeysValues(keys_values),
    )


def replay(sequence: DecodingSequence, header: SnapshotHeader) -> None:
    """Bring a sequence to where it had come, and see that it is there: it can go on, and the same text was sent.

    As long as the answer: not for the step loop.

    Raises:
        RefusedRequestError: `snapshot_artifact_mismatch`, the answer is none of this artifact's; `snapshot_damaged`.
    """
    try:
        sequence.replay()
    except ValueError:  # a thought that this node would have framed otherwise
        raise _damaged("its tokens are none that follow each other here") from None
    if sequence.sender.stream.stopped_by is not None or sequence.num_left < 1:
        raise _damaged("it is over")
    if len(sequence.sender.stream.sent_text) != header.num_sent_characters:
        raise _damaged("its tokens say another text than was sent")


def _check_parts(header: SnapshotHeader, *, num_computed: int, vocabulary_size: int) -> None:
    num_prompt, num_answer = len(header.prompt_ids), len(header.answer_ids)
    if num_prompt == 0:
        raise _damaged("it has no prompt")
    if any(
        token_id >= vocabulary_size for token_id in (*header.prompt_ids, *header.answer_ids, *header.owed_forced_ids)
    ):
        raise _damaged("it has a token that the vocabulary does not have")
    if num_computed >= num_prompt + num_answer or (num_computed < num_prompt and num_computed % BLOCK_TOKENS):
        raise _damaged("its keys and values end where none can go on")
    if header.num_sent_tokens > num_answer:
        raise _damaged("more tokens were sent than it has")
    if any(place >= num_answer for place in header.forced_places):
        raise _damaged("more tokens were forced than it has")


def _check_shape(header: SnapshotHeader, config: ModelConfig) -> None:
    """Nothing of another shape comes as far as the cache: one sequence's fault would be everybody's there."""
    said = header.keys_values
    if isinstance(said, IncludedKeysValues):
        shape, expected = (said.num_layers, said.width), (config.num_layers, 2 * config.kv_size)
        if shape != expected or said.dtype != header.model.dtype:
            raise _damaged("its keys and values are none of this model's")


def _damaged(reason: str) -> RefusedRequestError:
    return RefusedRequestError(NodeFault(code="snapshot_damaged", message=f"not a usable saved sequence: {reason}"))
