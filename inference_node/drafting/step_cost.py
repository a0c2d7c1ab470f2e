"""What a pass of a model costs here, and what one more row in it: whether drafts pay is a matter of these two."""

from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Final

from inference_node.model_runner import ModelRunner
from inference_node.slices import BLOCK_TOKENS, Slice

_NUM_ROWS: Final = BLOCK_TOKENS // 2
"""Beside the first, in the longer pass: about as many drafts as are worth making."""

_NUM_ROUNDS: Final = 7
"""The median of so many passes, the first of which are not counted: they lay out what later ones find."""

_NUM_WARM_UPS: Final = 2

_LEAST_ROW_COST: Final = 0.005
"""No row is free, whatever a noisy measurement says: at nothing, drafts that are hardly ever right would be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Of one sequence alone, on this machine as busy as it was."""

    seconds: float
    """Of a pass that computes one token."""
    row_cost: float
    """What one more row adds, as a share of that; from just above 0 to 1."""


def measure_step_cost(runner: ModelRunner) -> StepCost:
    """Time passes over the cache's first block, so only before anything else is in it. Tens of passes."""
    alone = _median_seconds(runner, 1)
    longer = _median_seconds(runner, 1 + _NUM_ROWS)
    row_cost = (longer - alone) / _NUM_ROWS / alone
    return StepCost(seconds=alone, row_cost=min(1.0, max(_LEAST_ROW_COST, row_cost)))


def _median_seconds(runner: ModelRunner, num_rows: int) -> float:
    # Tokens of an answer, each attended alone: as drafts are.
    part = Slice(blocks=[0], start=0, token_ids=[0] * num_rows, num_prompt_tokens=0, num_logits=num_rows)
    seconds = []
    for _ in range(_NUM_WARM_UPS + _NUM_ROUNDS):
        started = perf_counter()
        logits = runner.forward([part])
        # A device may still be busy when `forward` returns; reading a number waits for it.
        logits[-1, -1].item()
        seconds.append(perf_counter() - started)
    return median(seconds[_NUM_WARM_UPS:])
