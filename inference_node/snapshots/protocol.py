"""What a saved sequence's header says: read back by this node or another, so it is a wire type.

Nothing in it is of the messages themselves: the prompt is its tokens.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from inference_node.protocol import ReasoningSpan, Sampling, TokenLogprob, Wire
from inference_node.snapshots.restored_state import SavedCounters

VERSION: Final = 1

TokenId = Annotated[int, Field(ge=0, lt=2**31)]
Number = Annotated[int, Field(ge=0, lt=2**63)]
KeysValuesChoice = Literal["include", "recompute"]
"""Whether keys and values go along, or are computed again from the tokens wherever the sequence goes on."""


class SavedModel(Wire):
    """What has to be the same for the sequence to go on, except the last two, which are told to whoever asks.

    On another engine version or device the sequence goes on under the same contract, but perhaps with other tokens
    than it would have had.
    """

    name: str
    model_digest: str
    """Of weights and configuration."""
    dtype: str
    tokenizer_digest: str
    chat_template_digest: str
    engine_version: str
    device: str


class SavedRequest(Wire):
    """`GenerateRequest` without what has become the prompt."""

    request_id: str
    artifact_key: str | None
    sampling: Sampling
    max_tokens: int | None
    stop: list[str]
    top_logprobs: int | None
    partition: str
    adapter: str | None
    reasoning: ReasoningSpan | None
    drafts: bool
    is_thought_open: bool = False
    """Whether the prompt ends within a thought."""


class SavedLogprob(Wire):
    """Of a token that has not been sent yet."""

    begins_at: Number
    """The byte of the answer at which the token's text begins."""
    logprob: TokenLogprob


class IncludedKeysValues(Wire):
    """The payload: keys and values of the first tokens, [layers, tokens, keys | values], as the device wrote them."""

    kind: Literal["included"] = "included"
    dtype: Literal["float32", "bfloat16", "float16"]
    num_layers: Annotated[int, Field(ge=1, le=1 << 16)]
    num_tokens: Annotated[int, Field(ge=1, le=1 << 31)]
    width: Annotated[int, Field(ge=1, le=1 << 24)]
    """Numbers of one token in one layer."""
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class RecomputedKeysValues(Wire):
    """No payload."""

    kind: Literal["recomputed"] = "recomputed"


class SnapshotHeader(Wire):
    """One sequence between two steps. What follows from the tokens is not here, or only to be compared."""

    model: SavedModel
    request: SavedRequest
    prompt_ids: list[TokenId]
    answer_ids: list[TokenId]
    forced_places: list[Number]
    """Which tokens of the answer were forced, ascending."""
    asks_forced: bool
    owed_forced_ids: list[TokenId]
    num_sent_tokens: Number
    num_sent_characters: Number
    """Of the text; replaying the tokens has to come to the same."""
    unsent_logprobs: list[SavedLogprob]
    counters: SavedCounters
    keys_values: Annotated[IncludedKeysValues | RecomputedKeysValues, Field(discriminator="kind")]
