"""How far a sequence had come when it was saved, as the step loop needs it to go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch

from inference_node.protocol import TokenLogprob


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedCounters:
    """What `DecodingReport` had counted. Its spreads are of what was measured since, so they begin anew."""

    num_steps: int = 0
    cached_prompt_tokens: int = 0
    drafted_tokens: int = 0
    accepted_draft_tokens: int = 0
    num_preemptions: int = 0


class KeptKeysValues:
    """Keys and values of a sequence's first tokens, on the CPU, [layers, tokens, keys | values], to be written once.

    Never of the last token, whose logits are needed, and in a prompt of whole blocks only. No tokens: all are computed
    again.
    """

    __slots__ = ("_keys_values", "num_tokens")

    def __init__(self, keys_values: torch.Tensor) -> None:
        self.num_tokens: Final[int] = keys_values.shape[1]
        self._keys_values = keys_values

    def take(self) -> torch.Tensor:
        """The numbers; nobody here holds them any longer, for they can be as large as a context."""
        taken, self._keys_values = self._keys_values, self._keys_values[:, :0].clone()
        return taken


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredState:
    """The tokens after the prompt, and what cannot be told from them.

    The grammar's position, the text held back and the thought follow from the tokens and are replayed. The next draw
    follows from the seed and the number of tokens. A token that was picked but not taken is picked again.
    """

    answer_ids: Sequence[int]
    are_forced: Sequence[bool]
    """Of each of them: whether it was taken without a pick, because nothing else was possible."""
    asks_forced: bool
    """Whether the grammar has yet to be asked what must follow. Asked a second time at one place it may say more."""
    owed_forced_ids: Sequence[int]
    """Tokens that must follow, decided and not taken yet: they come before any pick, and are not asked for again."""
    num_sent_tokens: int
    """How many were in events; the rest, whose text is held back, go out with the next."""
    unsent_logprobs: Sequence[tuple[int, TokenLogprob]]
    """Of the tokens not yet sent, where they were asked for, each with the byte of the text where its token begins."""
    counters: SavedCounters
    keys_values: KeptKeysValues
