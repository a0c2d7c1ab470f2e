"""What a pass of a model costs here, and what one more row in it: whether drafts pay is a matter of these two."""

from dataclasses import dataclass
from time import perf_counter
from typing import Final

from inference_node.model_runner import ModelRunner
from inference_node.slices import BLOCK_TOKENS, Slice

_NUM_ROWS: Final = BLOCK_TOKENS // 2
"""Beside the first, in the longer pass: about as many drafts as are worth making."""

_NUM_ROUNDS: Final = 8
"""The quickest of so many passes of each length, in turn: what else the machine does only makes them longer."""

_LEAST_ROW_COST: Final = 0.005
"""No row is free, whatever a noisy measurement says: at nothing, drafts that are hardly ever right would be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Of one sequence alone, on this machine at its quickest."""

    seconds: float
    """Of a pass that computes one token."""
    row_cost: float
    """What one more row adds, as a share of that; from just above 0 to 1."""


def measure_step_cost(runner: ModelRunner) -> StepCost:
    """Time passes over the cache's first block, so only before anything else is in it. Some twenty passes."""
    for num_rows in (1, 1 + _NUM_ROWS):
        _pass_seconds(runner, num_rows)  # lays out what later passes find
    rounds = [(_pass_seconds(runner, 1), _pass_seconds(runner, 1 + _NUM_ROWS)) for _ in range(_NUM_ROUNDS)]
    alone, longer = (min(seconds) for seconds in zip(*rounds, strict=True))
    row_cost = (longer - alone) / _NUM_ROWS / alone
    return StepCost(seconds=alone, row_cost=min(1.0, max(_LEAST_ROW_COST, row_cost)))


def _pass_seconds(runner: ModelRunner, num_rows: int) -> float:
    # Tokens of an answer, each attended alone: as drafts are.
    part = Slice(blocks=[0], start=0, token_ids=[0] * num_rows, num_prompt_tokens=0, num_logits=num_rows)
    started = perf_counter()
    logits = runner.forward([part])
    # A device may still be busy when `forward` returns; reading a number waits for it.
    logits[-1, -1].item()
    return perf_counter() - started
