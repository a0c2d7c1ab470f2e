"""A prompt that begins like an earlier one is not computed again, and gives the same tokens."""

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.protocol import Finish
from inference_node.slices import BLOCK_TOKENS
from tests.inference_node.loop_worlds import OBJECT, Counting, run
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

SYSTEM = "You answer in JSON and in nothing else. You are brief, you are exact, and you never invent names. " * 3
ASKED = ["Who was the first?", "Who came after her?"]


def test_the_second_of_two_with_one_system_prompt_computes_its_own_part_alone(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    runner = Counting(on_cpu(tiny_decoder))
    finishes: list[Finish] = []
    rows: list[int] = []
    tokens: list[list[int]] = []
    with running_loop(runner, tokenizer) as loop:
        for asked in ASKED:
            before = runner.rows
            collector = Collector()
            loop.submit(new_sequence(tokenizer, collector, SYSTEM + asked, grammar=OBJECT, temperature=1.0, seed=3))
            finishes.append(collector.finish())
            rows.append(runner.rows - before)
            tokens.append(collector.token_ids)
    shared = len(tokenizer.encode_exact(SYSTEM.encode())) // BLOCK_TOKENS * BLOCK_TOKENS
    assert [finish.decoding.cached_prompt_tokens for finish in finishes] == [0, shared]
    assert rows[1] < rows[0] - shared // 2
    assert tokens == [
        run(tiny_decoder, tokenizer, SYSTEM + asked, grammar=OBJECT, temperature=1.0, seed=3)[0].token_ids
        for asked in ASKED
    ]


def test_another_partition_learns_nothing_of_what_was_asked(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        cached = []
        for partition in ("a", "b", "a"):
            collector = Collector()
            loop.submit(new_sequence(tokenizer, collector, SYSTEM, max_tokens=2, partition=partition))
            cached.append(collector.finish().decoding.cached_prompt_tokens)
    assert cached[:2] == [0, 0]
    assert cached[2] > 0


def test_a_prompt_that_was_seen_whole_is_still_computed_at_its_end(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    prompt = tokenizer.encode_exact(SYSTEM.encode())[: 3 * BLOCK_TOKENS]
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        collectors = [Collector(), Collector()]
        for collector in collectors:
            loop.submit(new_sequence(tokenizer, collector, prompt, temperature=1.0, seed=1))
            collector.finish()
    assert collectors[0].token_ids == collectors[1].token_ids
    assert collectors[1].finish().decoding.cached_prompt_tokens == 2 * BLOCK_TOKENS
