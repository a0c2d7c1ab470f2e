"""Answers with drafts follow the distribution that the model has, to the probability of each whole answer."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.drafting.draft_model import DraftModel
from inference_node.drafting.source import DraftSource, DraftWant
from inference_node.grammar import Prototype
from inference_node.slices import Slice
from policy.limits import TENANT
from tests.inference_node.drafting.sources import drafting_by
from tests.inference_node.model_worlds import new_cache
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

Answers = dict[tuple[int, ...], float]
"""Token ids and how probable they are."""

PROMPT = "abba baab abab"
TEMPERATURE = 3.0


def exact_answers(
    decoder: Decoder, tokenizer: BoundTokenizer, choices_after: Callable[[tuple[int, ...], torch.Tensor], list[int]]
) -> Answers:
    """All answers, by going through them: `choices_after` says what may follow some tokens, nothing after the last."""
    prompt_ids = tokenizer.encode_exact(PROMPT.encode())
    cache = new_cache(decoder)
    found: Answers = {}
    pending: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while pending:
        said, probability = pending.pop()
        part = Slice(
            blocks=range(256),
            start=0,
            token_ids=[*prompt_ids, *said],
            num_prompt_tokens=len(prompt_ids),
            num_logits=1,
        )
        logits = decoder.forward([part], cache)[0]
        choices = choices_after(said, logits)
        if not choices:
            found[said] = probability
            continue
        chances = torch.softmax(logits[choices].double() / TEMPERATURE, dim=-1).tolist()
        pending += [
            ((*said, token_id), probability * chance) for token_id, chance in zip(choices, chances, strict=True)
        ]
    assert sum(found.values()) == pytest.approx(1.0)
    return found


def decoded(
    decoder: Decoder,
    tokenizer: BoundTokenizer,
    source: DraftSource,
    num_draws: int,
    new: Callable[[Collector, int], Any],
) -> tuple[Counter[tuple[int, ...]], int, int]:
    """So many answers, each of its own seed, counted; and how many tokens were drafted and taken."""
    with running_loop(
        on_cpu(decoder), tokenizer, drafts=source, max_sequences=16, max_waiting=num_draws, max_drafts=3
    ) as loop:
        collectors = [Collector() for _ in range(num_draws)]
        for seed, collector in enumerate(collectors):
            loop.submit(new(collector, seed))
        reports = [collector.finish().decoding for collector in collectors]
    counts = Counter(tuple(collector.token_ids) for collector in collectors)
    return counts, sum(each.drafted_tokens for each in reports), sum(each.accepted_draft_tokens for each in reports)


def assert_follows(counts: Counter[tuple[int, ...]], exact: Answers) -> None:
    """Chi-square, answers that are too rare for it counted as one."""
    assert set(counts) <= set(exact)
    num_draws = counts.total()
    cells = [(probability * num_draws, counts[answer]) for answer, probability in exact.items()]
    common = [cell for cell in cells if cell[0] >= 5]
    rare = [cell for cell in cells if cell[0] < 5]
    if sum(expected for expected, _ in rare) >= 5:
        common.append((sum(expected for expected, _ in rare), sum(observed for _, observed in rare)))
    freedom = len(common) - 1
    assert freedom >= 8
    statistic = sum((observed - expected) ** 2 / expected for expected, observed in common)
    # Wilson and Hilferty's approximation of the bound that one in ten thousand passes; the seeds are fixed.
    assert statistic < freedom * (1 - 2 / (9 * freedom) + 3.72 * (2 / (9 * freedom)) ** 0.5) ** 3


@dataclass(slots=True)
class Guessing:
    """Proposes the rest of some answer that the grammar has."""

    answers: list[tuple[int, ...]]
    name: str = "guessing"
    draw: random.Random = field(default_factory=lambda: random.Random(0))

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        return [self._guess(tuple(want.token_ids[want.num_prompt_tokens :]))[: want.max_drafts] for want in wants]

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        assert accepted <= drafted

    def forget(self, key: int) -> None:
        pass

    def _guess(self, said: tuple[int, ...]) -> list[int]:
        possible = [answer for answer in self.answers if answer[: len(said)] == said]
        return list(self.draw.choice(possible)[len(said) :])


@dataclass(slots=True)
class OutOfStep:
    """The model itself, drawing with the noise of another seed: right as often as chance has it."""

    inner: DraftModel
    name: str = "out of step"

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        return self.inner.propose([replace(want, seed=want.seed + 10_000) for want in wants])

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        pass

    def forget(self, key: int) -> None:
        self.inner.forget(key)


def test_under_a_grammar_drafted_answers_follow_the_exact_distribution(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    prototype = Prototype.build(tokenizer, "start: /[ab]{4}/", TENANT.engine)

    def choices_after(said: tuple[int, ...], _: torch.Tensor) -> list[int]:
        matcher = prototype.matcher()
        assert matcher.accept_tokens(said)
        if matcher.is_terminated:
            return []
        row = np.zeros(-(-tokenizer.vocabulary_size // 32), dtype=np.int32)
        matcher.fill_bitmask(row)
        return [int(index) for index in np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))]

    exact = exact_answers(tiny_decoder, tokenizer, choices_after)
    counts, num_drafted, num_accepted = decoded(
        tiny_decoder,
        tokenizer,
        Guessing(list(exact)),
        1000,
        lambda collector, seed: new_sequence(
            tokenizer, collector, PROMPT, grammar=prototype.matcher(), temperature=TEMPERATURE, seed=seed
        ),
    )
    assert num_drafted > num_accepted > 100
    assert_follows(counts, exact)


def test_without_a_grammar_drafted_answers_follow_the_exact_distribution(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    def choices_after(said: tuple[int, ...], logits: torch.Tensor) -> list[int]:
        return [] if len(said) == 3 else [int(index) for index in logits.topk(3).indices]

    exact = exact_answers(tiny_decoder, tokenizer, choices_after)
    counts, num_drafted, num_accepted = decoded(
        tiny_decoder,
        tokenizer,
        OutOfStep(drafting_by(tiny_decoder)),
        1000,
        lambda collector, seed: new_sequence(
            tokenizer, collector, PROMPT, temperature=TEMPERATURE, top_k=3, seed=seed, max_tokens=3
        ),
    )
    assert num_drafted > num_accepted > 100
    assert_follows(counts, exact)
