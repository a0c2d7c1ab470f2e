"""Grammars, a forward pass that counts, and one sequence run alone: what tests of the step loop share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.model_runner import ModelRunner
from inference_node.sequence import DecodingSequence
from inference_node.slices import Slice
from inference_node.step_loop import StepLoop
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

OBJECT = 'start: "{\\"name\\":\\"" /[a-z ]{1,12}/ "\\",\\"age\\":" /[1-9][0-9]{0,2}/ "}"'
LIST = 'start: "[" N ("," N){2,6} "]"\nN: /-?[0-9]{1,6}/'
CHOICE = 'start: "red" | "green" | "blue" | "ultraviolet light"'
WORDS = "start: /[a-z]{3,8}( [a-z]{3,8}){2,9}\\./"


@dataclass(slots=True)
class Counting:
    """A runner that counts, and breaks when told to."""

    inner: ModelRunner
    num_steps: int = 0
    rows: int = 0
    error: BaseException | None = None

    looks_ahead = False
    reuses_logits = False

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        self.num_steps += 1
        self.rows += sum(len(part.token_ids) for part in slices)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.inner.forward(slices, ahead)

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        return self.inner.read_keys_values(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        self.inner.write_keys_values(blocks, keys_values)


def submitted(loop: StepLoop, tokenizer: BoundTokenizer, requests: Sequence[dict[str, Any]]) -> list[Collector]:
    """What collects the events of each, in order."""
    collectors = [Collector() for _ in requests]
    for collector, request in zip(collectors, requests, strict=True):
        loop.submit(new_sequence(tokenizer, collector, **request))
    return collectors


def run(
    decoder: Decoder, tokenizer: BoundTokenizer, prompt: str = "Once upon a time", **options: Any
) -> tuple[Collector, DecodingSequence]:
    """One sequence, alone, to its end."""
    collector = Collector()
    with running_loop(on_cpu(decoder), tokenizer) as loop:
        sequence = new_sequence(tokenizer, collector, prompt, **options)
        loop.submit(sequence)
        collector.finish()
    assert collector.is_well_formed
    return collector, sequence
