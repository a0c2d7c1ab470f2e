"""Which slices of which sequences make up a step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inference_node.running import Running
from inference_node.slices import BLOCK_TOKENS, Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLimits:
    """Sizes of a step. They decide when work is done, never what comes out."""

    max_waiting: int
    """Sequences that wait for a place."""
    partition_share: float
    """Of the queue, as much as one partition can fill."""
    max_sequences: int
    """Sequences that run at once."""
    chunk_tokens: int
    """The longest slice of one sequence in a step: what others wait for a long prompt. Whole blocks."""
    max_rows: int
    """Tokens computed in a step, all slices together; at least `chunk_tokens`."""
    max_drafts: int
    """Tokens drafted for one sequence in a step."""

    def __post_init__(self) -> None:
        # A slice of less than a block could be cut to nothing, and its sequence would wait for ever.
        if self.chunk_tokens < BLOCK_TOKENS or self.chunk_tokens % BLOCK_TOKENS:
            raise ValueError(f"chunk_tokens {self.chunk_tokens} is not whole blocks of {BLOCK_TOKENS}")
        if self.max_rows < self.chunk_tokens:
            raise ValueError(f"max_rows {self.max_rows} is less than chunk_tokens {self.chunk_tokens}")


def plan_step(
    running: Sequence[Running], limits: StepLimits, *, max_rows: int, has_room: Callable[[Running, int], bool]
) -> list[tuple[Running, Slice]]:
    """A slice of each sequence that has something to compute, those left out longest first, while rows last.

    `has_room(running, num_tokens)`: whether its blocks reach so far now. Who has no room is left out.
    """
    planned: list[tuple[Running, Slice]] = []
    num_rows = 0
    for candidate in sorted(running, key=lambda candidate: candidate.last_step):
        sequence = candidate.sequence
        if sequence.is_behind or candidate.computed is not None or not sequence.num_pending:
            continue
        start = sequence.num_computed
        length = _length(start, sequence.num_pending, min(limits.chunk_tokens, max_rows - num_rows))
        if not length:
            continue
        is_last = length == sequence.num_pending
        drafts = candidate.drafts[: max_rows - num_rows - length] if is_last else ()
        if drafts and not has_room(candidate, start + length + len(drafts)):
            drafts = ()  # they are worth nobody's waiting
        if not has_room(candidate, start + length + len(drafts)):
            continue
        candidate.drafts = drafts
        num_rows += length + len(drafts)
        part = Slice(
            blocks=candidate.table.blocks,
            start=start,
            token_ids=[*sequence.token_ids[start : start + length], *drafts],
            num_prompt_tokens=len(sequence.request.prompt_ids),
            num_logits=1 + len(drafts) if is_last else 0,
            adapter=sequence.request.adapter.slot,
        )
        planned.append((candidate, part))
    return planned


def _length(start: int, num_pending: int, num_possible: int) -> int:
    """All that is pending, or as much as ends on a whole block, so that prompts are cut at the same places whatever
    the step had room for."""
    if num_pending <= num_possible:
        return num_pending
    return max(0, (start + num_possible) // BLOCK_TOKENS * BLOCK_TOKENS - start)
