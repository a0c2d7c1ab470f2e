"""Too few blocks for all: some give theirs up and go on later, with the same tokens."""

from collections.abc import Sequence
from typing import Any

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.step_loop import StepLoop
from tests.inference_node.loop_worlds import LIST, run, submitted
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

PROMPTS = [
    "Once upon a time there was a king who had three sons",
    "The list of all numbers that nobody has asked for is",
    "A short story about the sea and the people who live by it, told by one of them",
    "x",
]
GRAMMARS = [None, LIST, None, None]


REQUESTS: list[dict[str, Any]] = [
    {"prompt": prompt, "grammar": grammar, "temperature": 1.0, "seed": seed, "max_tokens": 60, "context_tokens": 96}
    for seed, (prompt, grammar) in enumerate(zip(PROMPTS, GRAMMARS, strict=True))
]


def tokens_together(decoder: Decoder, tokenizer: BoundTokenizer, *, num_blocks: int) -> tuple[list[list[int]], int]:
    """All of them at once; and how often one lost its blocks."""
    with running_loop(on_cpu(decoder, num_blocks=num_blocks), tokenizer, num_blocks=num_blocks) as loop:
        collectors = submitted(loop, tokenizer, REQUESTS)
        finishes = [collector.finish() for collector in collectors]
        counts = loop.between_steps(loop.pool.counts).result(timeout=10)
    assert counts.num_used == 0
    assert all(collector.is_well_formed for collector in collectors)
    return [collector.token_ids for collector in collectors], sum(f.decoding.num_preemptions for f in finishes)


@pytest.fixture(scope="module")
def tokens_alone(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> list[list[int]]:
    return [run(tiny_decoder, tokenizer, **request)[0].token_ids for request in REQUESTS]


@pytest.mark.parametrize("num_blocks", [6, 7, 9])
def test_who_loses_its_blocks_goes_on_with_the_tokens_that_it_would_have_had(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, tokens_alone: list[list[int]], num_blocks: int
) -> None:
    together, num_preemptions = tokens_together(tiny_decoder, tokenizer, num_blocks=num_blocks)
    assert together == tokens_alone
    assert num_preemptions > 0


def test_with_room_for_all_nobody_is_preempted(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, tokens_alone: list[list[int]]
) -> None:
    together, num_preemptions = tokens_together(tiny_decoder, tokenizer, num_blocks=64)
    assert together == tokens_alone
    assert num_preemptions == 0


def test_one_that_waits_for_blocks_again_can_be_cancelled(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collectors = [Collector(), Collector()]

    def is_waiting_again(loop: StepLoop) -> bool:
        running = loop.find("second")
        return running is not None and running.sequence.is_preempted and not running.table.blocks

    with running_loop(on_cpu(tiny_decoder, num_blocks=6), tokenizer, num_blocks=6) as loop:
        first, second = (
            new_sequence(
                tokenizer,
                collector,
                PROMPTS[2],
                grammar=None,
                temperature=1.0,
                seed=seed,
                max_tokens=None,
                context_tokens=96,
                request_id=name,
            )
            for seed, (name, collector) in enumerate(zip(["first", "second"], collectors, strict=True))
        )
        loop.submit(first)
        loop.submit(second)
        while not collectors[0].events or not loop.between_steps(lambda: is_waiting_again(loop)).result(timeout=10):
            pass
        loop.cancel(second)
        assert collectors[1].finish().stop_cause == "cancelled"
        collectors[0].finish()
        assert loop.between_steps(loop.pool.counts).result(timeout=10).num_used == 0


def test_the_order_of_arrival_does_not_matter(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    def tokens(order: Sequence[int]) -> dict[int, list[int]]:
        with running_loop(on_cpu(tiny_decoder, num_blocks=7), tokenizer, num_blocks=7) as loop:
            collectors = submitted(loop, tokenizer, [REQUESTS[number] | {"max_tokens": 40} for number in order])
            for collector in collectors:
                collector.finish()
        return {number: collector.token_ids for number, collector in zip(order, collectors, strict=True)}

    assert tokens([0, 1, 2, 3]) == tokens([3, 1, 0, 2])
