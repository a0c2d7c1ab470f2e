"""Through the whole loop: drafts, right or wrong, change no token."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.drafting.guarded import GuardedDrafts
from inference_node.drafting.prompt_lookup import PromptLookup
from inference_node.drafting.source import DraftSource, DraftWant
from tests.inference_node.drafting.sources import drafting_by
from tests.inference_node.loop_worlds import CHOICE, LIST, OBJECT, WORDS
from tests.inference_node.model_worlds import load_decoder, tiny_config, write_model
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

GRAMMARS = {"object": OBJECT, "list": LIST, "choice": CHOICE, "words": WORDS, "none": None}
PROMPTS = ("The list is [17,17,17,17,17,17] and", 'Say {"name":"a b","age":12} again:', "red or blue")


@dataclass(slots=True)
class Babbling:
    """Proposes as much as it may of anything at all, ends and special tokens included."""

    vocabulary_size: int
    name: str = "babbling"
    draw: random.Random = field(default_factory=lambda: random.Random(0))

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        return [
            [
                self.draw.choice((self.draw.randrange(40), self.draw.randrange(self.vocabulary_size)))
                for _ in range(size)
            ]
            for size in (want.max_drafts for want in wants)
        ]

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        assert accepted <= drafted

    def forget(self, key: int) -> None:
        pass


@dataclass(slots=True)
class Breaking:
    """Raises at every call."""

    name: str = "breaking"

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        raise RuntimeError("no drafts today")

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        raise RuntimeError("nothing to see")

    def forget(self, key: int) -> None:
        raise RuntimeError("nothing to forget")


@pytest.fixture(scope="module")
def first_layer(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Decoder:
    """The first of the tiny model's layers, with the same weights: it agrees now and then."""
    path = tmp_path_factory.mktemp("drafting") / "first-layer"
    return load_decoder(write_model(path, model_directory, tiny_config(num_hidden_layers=1)))


def source_named(name: str, tokenizer: BoundTokenizer, itself: Decoder, first_layer: Decoder) -> DraftSource:
    """One of the sources."""
    source: DraftSource
    match name:
        case "lookup":
            source = PromptLookup(row_cost=0.0)
        case "itself":
            source = drafting_by(itself)
        case "first layer":
            source = drafting_by(first_layer)
        case "babbling":
            source = Babbling(vocabulary_size=tokenizer.vocabulary_size)
        case _:
            source = Breaking()
    return GuardedDrafts(source, vocabulary_size=tokenizer.vocabulary_size)


def answers(
    decoder: Decoder, tokenizer: BoundTokenizer, source: DraftSource | None, *, temperature: float
) -> dict[tuple[str, str], Collector]:
    """Every prompt under every grammar, eight sequences at a time, each with its own seed."""
    collected: dict[tuple[str, str], Collector] = {}
    with running_loop(on_cpu(decoder), tokenizer, drafts=source, max_drafts=5) as loop:
        for name, grammar in GRAMMARS.items():
            for seed, prompt in enumerate(PROMPTS):
                collector = collected[name, prompt] = Collector()
                loop.submit(
                    new_sequence(
                        tokenizer, collector, prompt, grammar=grammar, temperature=temperature, seed=seed, max_tokens=24
                    )
                )
        for collector in collected.values():
            collector.finish()
    return collected


@pytest.mark.parametrize("temperature", [0.0, 0.9], ids=["greedy", "sampled"])
def test_no_token_differs_whoever_drafts(
    tiny_decoder: Decoder, first_layer: Decoder, tokenizer: BoundTokenizer, temperature: float
) -> None:
    plain = answers(tiny_decoder, tokenizer, None, temperature=temperature)
    for name in ("lookup", "itself", "first layer", "babbling", "breaking"):
        source = source_named(name, tokenizer, tiny_decoder, first_layer)
        drafted = answers(tiny_decoder, tokenizer, source, temperature=temperature)
        for key, collector in plain.items():
            assert drafted[key].token_ids == collector.token_ids, (name, key)
            assert drafted[key].text == collector.text
            assert drafted[key].finish().stop_cause == collector.finish().stop_cause
            assert drafted[key].finish().accepting == collector.finish().accepting
        num_drafted = sum(each.finish().decoding.drafted_tokens for each in drafted.values())
        assert (num_drafted == 0) == (name == "breaking"), name


@pytest.mark.parametrize("temperature", [0.0, 1.0], ids=["greedy", "sampled"])
def test_what_draws_with_the_same_noise_from_the_same_model_is_always_right(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, temperature: float
) -> None:
    with running_loop(on_cpu(tiny_decoder), tokenizer, drafts=drafting_by(tiny_decoder), max_drafts=5) as loop:
        collectors = [Collector() for _ in range(6)]
        for seed, collector in enumerate(collectors):
            loop.submit(
                new_sequence(
                    tokenizer, collector, PROMPTS[0], temperature=temperature, seed=seed, top_k=40, max_tokens=40
                )
            )
        for collector in collectors:
            report = collector.finish().decoding
            assert report.accepted_draft_tokens == report.drafted_tokens > 20
            assert collector.finish().usage.completion_tokens >= 40 or collector.finish().stop_cause != "max_tokens"
