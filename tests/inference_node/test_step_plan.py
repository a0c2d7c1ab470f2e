"""Sizes of a step: which are refused, and that the least are enough."""

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.slices import BLOCK_TOKENS
from inference_node.step_plan import StepLimits
from tests.inference_node.loop_worlds import OBJECT, run
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop


def limits(*, chunk_tokens: int, max_rows: int) -> StepLimits:
    return StepLimits(
        max_waiting=1, partition_share=1.0, max_sequences=1, chunk_tokens=chunk_tokens, max_rows=max_rows, max_drafts=0
    )


@pytest.mark.parametrize("chunk_tokens", [0, 1, BLOCK_TOKENS - 1, BLOCK_TOKENS + 1])
def test_a_chunk_that_is_not_whole_blocks_is_refused(chunk_tokens: int) -> None:
    with pytest.raises(ValueError, match="chunk_tokens"):
        limits(chunk_tokens=chunk_tokens, max_rows=128)


def test_a_step_that_holds_no_chunk_is_refused() -> None:
    with pytest.raises(ValueError, match="max_rows"):
        limits(chunk_tokens=2 * BLOCK_TOKENS, max_rows=2 * BLOCK_TOKENS - 1)


def test_with_the_smallest_steps_that_are_taken_long_prompts_end_with_the_same_tokens(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    prompts = ["word " * count for count in (1, 15, 16, 40)]
    collectors = [Collector() for _ in prompts]
    with running_loop(on_cpu(tiny_decoder), tokenizer, chunk_tokens=BLOCK_TOKENS, max_rows=BLOCK_TOKENS) as loop:
        for prompt, collector in zip(prompts, collectors, strict=True):
            loop.submit(new_sequence(tokenizer, collector, prompt, grammar=OBJECT))
        causes = [collector.finish().stop_cause for collector in collectors]
    assert causes == ["grammar_end"] * len(prompts)
    alone = [run(tiny_decoder, tokenizer, prompt, grammar=OBJECT)[0].token_ids for prompt in prompts]
    assert [collector.token_ids for collector in collectors] == alone
