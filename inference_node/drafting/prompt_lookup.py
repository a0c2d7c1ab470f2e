"""Drafts from the sequence itself: what followed the last few tokens where they stood before, in prompt or answer.

Answers under a contract repeat a lot: member names of the second item of a list, values that the prompt names, code
that is quoted. A lookup is some three microseconds, so the only price is the rows of drafts that were wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from inference_node.drafting.draft_length import DraftLength, cost_beside
from inference_node.drafting.ngram_index import Match, NgramIndex
from inference_node.drafting.source import DraftWant


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupLimits:
    """Sizes. They decide how often drafts are found, never what comes out."""

    shortest: int = 2
    """Tokens that must have stood together before. One token recurs everywhere and says little."""
    longest: int = 4
    """Longer runs are looked up by their last so many tokens."""
    max_tokens_per_sequence: int = 16_384
    """The latest tokens of one sequence that are indexed."""
    max_tokens: int = 262_144
    """Of all sequences together: some 70 MB. Where it is used up, a sequence keeps its own latest places only."""
    max_new_tokens: int = 2_048
    """Indexed in one call, all sequences together: half a millisecond. A long prompt is indexed over several steps."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Looked:
    """What is known of one sequence. Lengths by the run's: long runs promise more than short ones."""

    index: NgramIndex
    lengths: dict[int, DraftLength] = field(default_factory=dict)
    asked: DraftLength | None = None
    """Whose proposal is out."""
    num_proposed: int = 0


class PromptLookup:
    """See `DraftSource`. `row_cost` as in `cost_beside`: measured, because it depends on the machine and the model."""

    name: Final = "prompt_lookup"

    def __init__(self, *, row_cost: float, limits: LookupLimits | None = None) -> None:
        if not 0.0 <= row_cost <= 1.0:
            raise ValueError(f"a row costs between none and all of a step, not {row_cost}")
        self._row_cost: Final = row_cost
        self._limits: Final = limits or LookupLimits()
        self._sequences: Final[dict[int, _Looked]] = {}
        self._num_tokens = 0

    @property
    def num_tokens(self) -> int:
        """Places held for all sequences."""
        return self._num_tokens

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        """See `DraftSource`."""
        cost = cost_beside(self._row_cost, len(wants))
        num_new = self._limits.max_new_tokens
        drafts = []
        for want in wants:
            looked = self._sequences.get(want.key)
            if looked is None:
                index = NgramIndex(shortest=self._limits.shortest, longest=self._limits.longest)
                looked = self._sequences[want.key] = _Looked(index=index)
            num_new -= self._extend(looked.index, want.token_ids, num_new)
            drafts.append(self._drafts(looked, want, cost))
        return drafts

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        """See `DraftSource`."""
        looked = self._sequences.get(key)
        if looked is not None and looked.asked is not None:
            looked.asked.observe(proposed=looked.num_proposed, accepted=min(accepted, drafted))
            looked.asked = None

    def forget(self, key: int) -> None:
        """See `DraftSource`."""
        looked = self._sequences.pop(key, None)
        if looked is not None:
            self._num_tokens -= looked.index.num_tokens

    def _extend(self, index: NgramIndex, token_ids: Sequence[int], max_new: int) -> int:
        """Bring an index up to its sequence as far as limits allow. How many tokens that took."""
        num_held, end = index.num_tokens, index.end
        num_free = self._limits.max_tokens - self._num_tokens
        max_held = min(self._limits.max_tokens_per_sequence, num_held + num_free)
        index.extend(token_ids, max_new=max_new, max_held=max_held)
        self._num_tokens += index.num_tokens - num_held
        return min(max_new, index.end - end)

    def _drafts(self, looked: _Looked, want: DraftWant, cost: float) -> list[int]:
        looked.asked = None
        match looked.index.match(want.token_ids):
            case Match(position=position, length=run):
                length = looked.lengths.setdefault(run, DraftLength())
                num_drafts = length.next(cost=cost, most=want.max_drafts)
                if num_drafts:
                    looked.asked, looked.num_proposed = length, num_drafts
                return copied(want.token_ids, position, num_drafts)
            case _:
                return []


def copied(token_ids: Sequence[int], position: int, num_tokens: int) -> list[int]:
    """So many tokens from a position on; past the end it goes on with what was copied, so that a cycle goes on too."""
    tokens = list(token_ids[position : position + num_tokens])
    period = len(token_ids) - position
    while len(tokens) < num_tokens:
        tokens.append(tokens[-period])
    return tokens
