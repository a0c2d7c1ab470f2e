"""What the step loop asks of whoever proposes tokens.

A draft decides nothing. The loop gives the model the pending token and the drafts in one slice, samples every position
with the noise of its own place and under its own mask, and takes tokens for as long as the sample is the draft. What
comes out is what would have come out one token at a time, greedy or sampled; a wrong draft costs a row, never a token.

So a source may be wrong, late or broken. It may not be slow or grow without bound: it runs on the step loop's thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftWant:
    """One sequence that can use drafts in the next step."""

    key: int
    """The same for one sequence until `DraftSource.forget`, and nobody else's meanwhile."""
    token_ids: Sequence[int]
    """Prompt and answer, the token that the next pass begins with included. Grows between calls, never changes."""
    num_prompt_tokens: int
    max_drafts: int
    """What budget, context and the step's rows leave; 0: prepare only, nothing is proposed."""
    seed: int
    temperature: float
    """0: greedy."""
    top_k: int
    top_p: float
    place: int
    """Of the next token in the answer: what its noise is keyed with. The first draft stands there."""


class DraftSource(Protocol):
    """Used from one thread. Order of calls for a key: `propose` and `observe` in turn, any number; `forget` once."""

    @property
    def name(self) -> str:
        """What the node's identity calls it."""

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        """Drafts for each want in its order, at most `max_drafts`, possibly none."""

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        """Of the last proposal `drafted` tokens went into the pass and `accepted` equalled the sample.

        Fewer drafted than proposed means that the grammar took no more: that counts against the source too. Not
        called where nothing was proposed.
        """

    def forget(self, key: int) -> None:
        """The sequence is over, or will not be asked about for long: everything held for it is freed. Any key."""
