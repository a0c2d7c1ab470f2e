"""A device that works while the host does: the pass over a token is launched before the host has read it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.cpu_runner import CpuRunner
from inference_node.decoder import Decoder
from inference_node.slices import Slice
from tests.inference_node.loop_worlds import CHOICE, LIST, OBJECT, WORDS, run, submitted
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop


@dataclass(slots=True)
class Ahead:
    """A CPU runner that takes tokens as a device does, and overwrites its logits at the next pass as one does."""

    inner: CpuRunner
    num_ahead: int = 0
    num_passes: int = 0
    looks_ahead: bool = True
    reuses_logits: bool = True
    _logits: list[torch.Tensor] = field(default_factory=list)

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        self.num_passes += 1
        for old in self._logits:
            old.fill_(float("nan"))
        if ahead is not None:
            self.num_ahead += len(ahead)
            known = [replace(slices[row], token_ids=[token_id]) for row, token_id in enumerate(ahead.tolist())]
            slices = [*known, *slices[len(known) :]]
        logits = self.inner.forward(slices)
        self._logits = [logits]
        return logits

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        return self.inner.read_keys_values(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        self.inner.write_keys_values(blocks, keys_values)


@pytest.mark.parametrize("num_blocks", [7, 256])
def test_the_tokens_are_those_of_a_device_that_waits(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, num_blocks: int
) -> None:
    wanted = [("Once upon", OBJECT), ("A list", LIST), ("Say", WORDS), ("Colour", CHOICE), ("Free", None)]
    requests: list[dict[str, Any]] = [
        {"prompt": prompt, "grammar": grammar, "temperature": 1.0, "seed": seed, "max_tokens": 40, "context_tokens": 96}
        for seed, (prompt, grammar) in enumerate(wanted)
    ]
    runner = Ahead(on_cpu(tiny_decoder, num_blocks=num_blocks))
    with running_loop(runner, tokenizer, num_blocks=num_blocks, max_sequences=4) as loop:
        collectors = submitted(loop, tokenizer, requests)
        finishes = [collector.finish() for collector in collectors]
    alone = [run(tiny_decoder, tokenizer, **request)[0] for request in requests]
    assert [one.token_ids for one in collectors] == [one.token_ids for one in alone]
    assert [one.text for one in collectors] == [one.text for one in alone]
    assert [one.stop_cause for one in finishes] == [one.finish().stop_cause for one in alone]
    assert [one.usage for one in finishes] == [one.finish().usage for one in alone]
    assert runner.num_ahead > 20


def test_an_answer_that_a_stop_string_ends_is_sent_to_its_last_token(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    requests: list[dict[str, Any]] = [
        {"prompt": "Say", "grammar": WORDS, "temperature": 1.0, "seed": seed, "stop": ["e", "ou", "st"]}
        for seed in range(8)
    ]
    with running_loop(Ahead(on_cpu(tiny_decoder)), tokenizer) as loop:
        collectors = submitted(loop, tokenizer, requests)
        finishes = [collector.finish() for collector in collectors]
    assert {finish.stop_cause for finish in finishes} == {"stop_string"}
    assert [finish.usage.completion_tokens for finish in finishes] == [len(one.token_ids) for one in collectors]


def test_log_probabilities_are_of_the_row_that_was_picked_from(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    told = []
    for runner in (on_cpu(tiny_decoder), Ahead(on_cpu(tiny_decoder))):
        collector = Collector()
        with running_loop(runner, tokenizer) as loop:
            loop.submit(new_sequence(tokenizer, collector, "Once", grammar=LIST, num_top_logprobs=3, temperature=1.0))
            collector.finish()
        told.append([event for event in collector.events if event.event == "token"])
    assert told[0] == told[1]


def test_one_that_ends_costs_its_row_and_no_more(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collector = Collector()
    runner = Ahead(on_cpu(tiny_decoder))
    with running_loop(runner, tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, collector, "Once upon a time", max_tokens=6))
        assert collector.finish().stop_cause == "max_tokens"
        assert loop.between_steps(loop.pool.counts).result(timeout=10).num_used == 0
    # The prompt, and one pass for each token but the last, whose end was known.
    assert runner.num_passes == 6
