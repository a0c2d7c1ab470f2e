"""Which slices of which sequences make up a step."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import torch

from inference_node.sequence import DecodingSequence
from inference_node.step_batch import Slice


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLimits:
    """Sizes of a step. They decide when work is done, never what comes out."""

    max_waiting: int
    """Sequences that wait for a place."""
    chunk_tokens: int
    """The longest slice of one sequence in a step: what others wait for a long prompt."""
    max_rows: int
    """Rows of a step, all slices together; at least `chunk_tokens`."""


@dataclass(slots=True, kw_only=True, eq=False)
class Running:
    """A sequence that holds a place of the cache."""

    sequence: DecodingSequence
    place: int
    last_step: int
    logits: torch.Tensor | None = None
    """What its next token is picked from, once its mask is there."""
    mask: Future[float] | None = None
    repair: Future[None] | None = None
    """While its matcher is moved to another lexer, on another thread; nobody else touches the matcher meanwhile."""
    is_masked: bool = False
    """Whether its place's mask row applies to its logits. Always, under a grammar."""

    @property
    def is_mask_settled(self) -> bool:
        """Whether nobody else touches the matcher and the mask row now."""
        return self.mask is None or self.mask.done()


def plan_step(running: Sequence[Running], limits: StepLimits) -> list[tuple[Running, Slice]]:
    """A slice of each sequence that has something to compute, those left out longest first, while rows last."""
    planned: list[tuple[Running, Slice]] = []
    num_rows = 0
    for candidate in sorted(running, key=lambda candidate: candidate.last_step):
        sequence = candidate.sequence
        length = min(sequence.num_pending, limits.chunk_tokens)
        if sequence.is_behind or candidate.logits is not None or not length or num_rows + length > limits.max_rows:
            continue
        num_rows += length
        start = sequence.num_computed
        part = Slice(
            place=candidate.place,
            start=start,
            token_ids=sequence.token_ids[start : start + length],
            needs_logits=length == sequence.num_pending,
        )
        planned.append((candidate, part))
    return planned
