"""Drafts from a smaller model with the same tokenizer, which draws with the noise that the verifying sample will have.

Noise is a function of seed, place and token id, so where both models think alike they draw the same token: a draft is
taken more often than two independent draws would agree, and no token changes by it (a Gumbel coupling).
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

import torch

from inference_node.block_pool import BlockPool, BlockTable
from inference_node.drafting.draft_length import DraftLength, cost_beside
from inference_node.drafting.source import DraftWant
from inference_node.model_runner import ModelRunner
from inference_node.slices import BLOCK_TOKENS, Slice
from kernels.masked_sampling import Draws, masked_sample


@dataclass(slots=True, kw_only=True, eq=False)
class _Followed:
    """One sequence as the draft model has seen it."""

    table: BlockTable = field(default_factory=BlockTable)
    token_ids: list[int] = field(default_factory=list)
    """Those whose keys and values are in the draft model's cache: of the sequence, and after it drafts."""
    num_agreed: int = 0
    """So many of them were the sequence's own when it was last asked about."""
    length: DraftLength = field(default_factory=DraftLength)
    num_proposed: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class _Drafting:
    """One want while it is answered."""

    want: DraftWant
    followed: _Followed
    num_drafts: int
    drafts: list[int] = field(default_factory=list)


class DraftModel:
    """See `DraftSource`. Runs its model on the step loop's thread, all wants in one pass per draft.

    `row_cost` is the verifying model's (`cost_beside`), `pass_cost` what one pass of this model costs as a share of one
    of the verifying model's.
    """

    def __init__(
        self,
        runner: ModelRunner,
        pool: BlockPool,
        *,
        name: str,
        context_tokens: int,
        max_rows: int,
        row_cost: float,
        pass_cost: float,
        device: torch.device,
    ) -> None:
        self.name: Final = name
        self._runner: Final = runner
        self._pool: Final = pool
        self._context_tokens: Final = context_tokens
        self._max_rows: Final = max_rows
        self._row_cost: Final = row_cost
        self._pass_cost: Final = pass_cost
        self._device: Final = device
        self._followed: Final[OrderedDict[int, _Followed]] = OrderedDict()
        """Those asked about least recently first."""

    @property
    def num_followed(self) -> int:
        """Sequences that hold blocks, or did until they were needed elsewhere."""
        return len(self._followed)

    @torch.inference_mode()
    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        """See `DraftSource`."""
        cost = cost_beside(self._row_cost, len(wants)) + self._pass_cost
        draftings = [self._begun(want, cost) for want in wants]
        live = self._caught_up(draftings, {want.key for want in wants})
        while live:
            slices = [self._slice(drafting, [drafting.drafts[-1]], num_logits=1) for drafting in live]
            live = self._drawn(live, self._runner.forward(slices))
        for drafting in draftings:
            drafting.followed.num_proposed = len(drafting.drafts)
        return [drafting.drafts for drafting in draftings]

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        """See `DraftSource`."""
        followed = self._followed.get(key)
        if followed is not None and followed.num_proposed:
            followed.length.observe(proposed=followed.num_proposed, accepted=min(accepted, drafted))
            followed.num_proposed = 0

    def forget(self, key: int) -> None:
        """See `DraftSource`."""
        followed = self._followed.pop(key, None)
        if followed is not None:
            self._pool.release(followed.table)

    def _begun(self, want: DraftWant, cost: float) -> _Drafting:
        followed = self._followed.setdefault(want.key, _Followed())
        self._followed.move_to_end(want.key)
        # The last draft is not computed here, so it may stand just past the context.
        possible = min(want.max_drafts, self._context_tokens + 1 - len(want.token_ids))
        return _Drafting(want=want, followed=followed, num_drafts=followed.length.next(cost=cost, most=possible))

    def _caught_up(self, draftings: Sequence[_Drafting], wanted: Collection[int]) -> list[_Drafting]:
        """Compute what the sequences have that this model has not seen, as far as rows go; then the first drafts."""
        slices: list[Slice] = []
        complete: list[_Drafting] = []
        num_rows = 0
        for drafting in draftings:
            is_preparing = not drafting.want.max_drafts
            if not drafting.num_drafts and not is_preparing:
                continue
            part = self._unseen(drafting, self._max_rows - num_rows, wanted)
            if part is None:
                continue
            num_rows += len(part.token_ids)
            slices.append(part)
            if part.num_logits:
                complete.append(drafting)
        if not slices:
            return []
        return self._drawn(complete, self._runner.forward(slices))

    def _unseen(self, drafting: _Drafting, max_rows: int, wanted: Collection[int]) -> Slice | None:
        """The next slice of a sequence here; None: there is no room for it, or nothing to do."""
        want, followed = drafting.want, drafting.followed
        start = self._agreed(followed, want)
        length = len(want.token_ids) - start
        if length > max_rows:
            length = (start + max_rows) // BLOCK_TOKENS * BLOCK_TOKENS - start
        is_complete = start + length == len(want.token_ids)
        end = start + length + (max(0, drafting.num_drafts - 1) if is_complete else 0)
        if length <= 0 or end > self._context_tokens or not self._has_room(followed, end, wanted):
            drafting.num_drafts = 0
            return None
        del followed.token_ids[start:]
        token_ids = want.token_ids[start : start + length]
        followed.num_agreed = start + length
        return self._slice(drafting, token_ids, num_logits=int(is_complete and drafting.num_drafts > 0))

    def _agreed(self, followed: _Followed, want: DraftWant) -> int:
        """Up to where what this model has seen is the sequence; the last token is always computed (again)."""
        seen = followed.token_ids
        most = min(len(seen), len(want.token_ids) - 1)
        start = min(followed.num_agreed, most)
        while start < most and seen[start] == want.token_ids[start]:
            start += 1
        # What begins in the prompt begins on a whole block (`Slice`).
        return start if start >= want.num_prompt_tokens else start // BLOCK_TOKENS * BLOCK_TOKENS

    def _has_room(self, followed: _Followed, num_tokens: int, wanted: Collection[int]) -> bool:
        """Whether its blocks reach so far now, those of sequences not asked about lately taken for it if need be."""
        while not self._pool.grow(followed.table, num_tokens):
            idle = next((key for key, other in self._followed.items() if key not in wanted and other.token_ids), None)
            if idle is None:
                return False
            self.forget(idle)
        return True

    def _slice(self, drafting: _Drafting, token_ids: Sequence[int], *, num_logits: int) -> Slice:
        """The next tokens of a sequence as this model computes them, noted as seen."""
        followed = drafting.followed
        part = Slice(
            blocks=followed.table.blocks,
            start=len(followed.token_ids),
            token_ids=token_ids,
            num_prompt_tokens=drafting.want.num_prompt_tokens,
            num_logits=num_logits,
        )
        followed.token_ids.extend(token_ids)
        return part

    def _drawn(self, draftings: Sequence[_Drafting], logits: torch.Tensor) -> list[_Drafting]:
        """Draw the next draft of each from its row. Those that want another one."""
        if not draftings:
            return []
        drawn = masked_sample(logits, self._draws(draftings)).token_ids.tolist()
        for drafting, token_id in zip(draftings, drawn, strict=True):
            # Below 0 is a row that nothing can be drawn from.
            if token_id < 0:
                drafting.num_drafts = 0
            else:
                drafting.drafts.append(token_id)
        return [drafting for drafting in draftings if len(drafting.drafts) < drafting.num_drafts]

    def _draws(self, draftings: Sequence[_Drafting]) -> Draws:
        wants = [drafting.want for drafting in draftings]
        device = self._device
        return Draws(
            temperature=torch.tensor([want.temperature for want in wants], dtype=torch.float32, device=device),
            top_k=torch.tensor([want.top_k for want in wants], dtype=torch.int32, device=device),
            top_p=torch.tensor([want.top_p for want in wants], dtype=torch.float32, device=device),
            seed=torch.tensor([want.seed for want in wants], dtype=torch.int64, device=device),
            place=torch.tensor(
                [drafting.want.place + len(drafting.drafts) for drafting in draftings], dtype=torch.int64, device=device
            ),
            has_filters=any(want.top_k > 0 or want.top_p < 1 for want in wants),
        )
