"""Drafts change how many passes an answer takes, and never its tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.drafting.source import DraftWant
from tests.inference_node.loop_worlds import CHOICE, LIST, OBJECT, WORDS, Counting, run
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

CASES = [("Once upon", OBJECT), ("A list", LIST), ("Say", WORDS), ("Colour", CHOICE), ("Free", None)]


@dataclass(slots=True)
class Oracle:
    """Proposes what is known to come, or now and then something else."""

    answers: dict[tuple[int, ...], list[int]]
    mistakes: float
    name: str = "oracle"
    seen: list[tuple[int, int]] = field(default_factory=list)
    forgotten: int = 0
    chance: Random = field(default_factory=lambda: Random(5))

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        return [self._of(want) for want in wants]

    def _of(self, want: DraftWant) -> list[int]:
        whole = self.answers[tuple(want.token_ids[: want.num_prompt_tokens])]
        drafts = whole[want.place : want.place + want.max_drafts]
        return [token_id if self.chance.random() >= self.mistakes else 1000 for token_id in drafts]

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        self.seen.append((drafted, accepted))

    def forget(self, key: int) -> None:
        self.forgotten += 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("mistakes", [0.0, 0.3, 1.0])
def test_no_token_differs_whatever_is_drafted(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, mistakes: float, temperature: float
) -> None:
    alone = [
        run(tiny_decoder, tokenizer, prompt, grammar=grammar, temperature=temperature, seed=seed, max_tokens=30)[0]
        for seed, (prompt, grammar) in enumerate(CASES)
    ]
    source = Oracle(
        {
            tuple(tokenizer.encode_exact(prompt.encode())): one.token_ids
            for (prompt, _), one in zip(CASES, alone, strict=True)
        },
        mistakes,
    )
    collectors = [Collector() for _ in CASES]
    with running_loop(on_cpu(tiny_decoder), tokenizer, drafts=source, max_drafts=4) as loop:
        for seed, ((prompt, grammar), collector) in enumerate(zip(CASES, collectors, strict=True)):
            loop.submit(
                new_sequence(
                    tokenizer, collector, prompt, grammar=grammar, temperature=temperature, seed=seed, max_tokens=30
                )
            )
        finishes = [collector.finish() for collector in collectors]
        assert loop.between_steps(loop.pool.counts).result(timeout=10).num_used == 0
    assert [one.token_ids for one in collectors] == [one.token_ids for one in alone]
    assert [one.text for one in collectors] == [one.text for one in alone]
    assert [one.stop_cause for one in finishes] == [one.finish().stop_cause for one in alone]
    num_drafted = sum(one.decoding.drafted_tokens for one in finishes)
    num_accepted = sum(one.decoding.accepted_draft_tokens for one in finishes)
    assert num_drafted == sum(drafted for drafted, _ in source.seen)
    assert num_accepted == sum(accepted for _, accepted in source.seen)
    if mistakes == 0.0:
        assert num_accepted == num_drafted > 40
    assert source.forgotten > 0


def test_right_drafts_save_passes(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    answer = run(tiny_decoder, tokenizer, "Free", max_tokens=30)[0].token_ids
    prompt = tuple(tokenizer.encode_exact(b"Free"))
    passes = []
    for drafts in (None, Oracle({prompt: answer}, 0.0)):
        runner = Counting(on_cpu(tiny_decoder))
        collector = Collector()
        with running_loop(runner, tokenizer, drafts=drafts, max_drafts=4) as loop:
            loop.submit(new_sequence(tokenizer, collector, "Free", max_tokens=30))
            collector.finish()
        passes.append(runner.num_steps)
    assert passes[0] == 30
    assert passes[1] <= 8


def test_who_wants_no_drafts_has_none_and_damped_sequences_never_have(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    prompt = tuple(tokenizer.encode_exact(b"Free"))
    source = Oracle({prompt: [5] * 30}, 0.0)
    collector = Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer, drafts=source) as loop:
        loop.submit(new_sequence(tokenizer, collector, "Free", damping=1.0, max_tokens=30))
        assert collector.finish().decoding.drafted_tokens == 0
