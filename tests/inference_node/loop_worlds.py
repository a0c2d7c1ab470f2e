"""Grammars, a forward pass that counts, and one sequence run alone: what tests of the step loop share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.kv_cache import KvCache
from inference_node.sequence import DecodingSequence
from inference_node.step_batch import Slice
from tests.inference_node.model_worlds import new_cache
from tests.inference_node.worlds import Collector, new_sequence, running_loop

OBJECT = 'start: "{\\"name\\":\\"" /[a-z ]{1,12}/ "\\",\\"age\\":" /[1-9][0-9]{0,2}/ "}"'
LIST = 'start: "[" N ("," N){2,6} "]"\nN: /-?[0-9]{1,6}/'
CHOICE = 'start: "red" | "green" | "blue" | "ultraviolet light"'
WORDS = "start: /[a-z]{3,8}( [a-z]{3,8}){2,9}\\./"


@dataclass(slots=True)
class Counting:
    """A forward pass that counts, and breaks when told to."""

    decoder: Decoder
    num_steps: int = 0
    rows: int = 0
    error: BaseException | None = None

    def __call__(self, slices: Sequence[Slice], cache: KvCache) -> torch.Tensor:
        self.num_steps += 1
        self.rows += sum(len(part.token_ids) for part in slices)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.decoder.forward(slices, cache)


def run(
    decoder: Decoder, tokenizer: BoundTokenizer, prompt: str = "Once upon a time", **options: Any
) -> tuple[Collector, DecodingSequence]:
    """One sequence, alone, to its end."""
    collector = Collector()
    with running_loop(decoder.forward, new_cache(decoder), tokenizer) as loop:
        sequence = new_sequence(tokenizer, collector, prompt, **options)
        loop.submit(sequence)
        collector.finish()
    assert collector.is_well_formed
    return collector, sequence
