"""One poisoned contract leaves every other running sequence untouched: the same tokens as alone, the same ends."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.grammar import Prototype
from inference_node.matcher import GrammarMatcher
from inference_node.metrics import NodeMetrics
from inference_node.protocol import Finish
from inference_node.prototype_shelf import PrototypeShelf
from tests.inference_node.loop_worlds import LIST, OBJECT, submitted
from tests.inference_node.poison import BUDGET, GRAMMAR, guilty, innocent, new_shelf
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

Source = PrototypeShelf | Prototype


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One request: where its matcher begins, and how it is sampled."""

    begin: Callable[[Source], GrammarMatcher]
    prompt: str
    seed: int
    max_tokens: int = 160

    def options(self, matcher: GrammarMatcher) -> dict[str, Any]:
        return {
            "prompt": self.prompt,
            "grammar": matcher,
            "temperature": 1.0,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
        }


def rows(seed: int) -> Wish:
    return Wish(begin=innocent, prompt=f"Words {seed}", seed=seed)


def maze(seed: int) -> Wish:
    return Wish(begin=guilty, prompt=f"Letters {seed}", seed=seed)


def run_together(
    decoder: Decoder, tokenizer: BoundTokenizer, requests: list[dict[str, Any]]
) -> list[tuple[list[int], Finish]]:
    with running_loop(on_cpu(decoder), tokenizer) as loop:
        collectors = submitted(loop, tokenizer, requests)
        ends = [collector.finish() for collector in collectors]
    assert all(collector.is_well_formed for collector in collectors)
    return [(collector.token_ids, end) for collector, end in zip(collectors, ends, strict=True)]


def run_alone(decoder: Decoder, tokenizer: BoundTokenizer, wish: Wish) -> tuple[list[int], Finish]:
    matcher = wish.begin(Prototype.build(tokenizer, GRAMMAR, BUDGET))
    return run_together(decoder, tokenizer, [wish.options(matcher)])[0]


def outcome(run: tuple[list[int], Finish]) -> tuple[Any, ...]:
    token_ids, finish = run
    return token_ids, finish.stop_cause, finish.accepting, finish.usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """Who runs together, and how each that does no harm ends alone."""

    wishes: list[Wish]
    bystander: dict[str, Any]
    """Of another contract."""
    alone: list[tuple[Any, ...]]
    bystander_alone: tuple[Any, ...]


@pytest.fixture(scope="module", params=[0, 10, 20])
def company(request: pytest.FixtureRequest, tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> Company:
    seed: int = request.param
    wishes = [rows(seed + 1), maze(seed + 2), *(rows(seed + number) for number in range(3, 7)), maze(seed + 8)]
    bystander = {"prompt": "Numbers", "grammar": LIST, "temperature": 1.0, "seed": seed}
    return Company(
        wishes=wishes,
        bystander=bystander,
        alone=[outcome(run_alone(tiny_decoder, tokenizer, wish)) for wish in wishes if wish.begin is innocent],
        bystander_alone=outcome(run_together(tiny_decoder, tokenizer, [bystander])[0]),
    )


@pytest.mark.parametrize("capacity", [1, 2])
def test_siblings_of_a_poisoned_sequence_end_as_if_it_had_never_been(
    capacity: int, company: Company, tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics, capacity=capacity)
    requests = [wish.options(wish.begin(shelf)) for wish in company.wishes]
    *together, bystander = run_together(tiny_decoder, tokenizer, [*requests, company.bystander])
    assert outcome(bystander) == company.bystander_alone
    innocents = [run for wish, run in zip(company.wishes, together, strict=True) if wish.begin is innocent]
    assert [outcome(run) for run in innocents] == company.alone
    for token_ids, finish in innocents:
        assert len(token_ids) > 30
        assert (finish.stop_cause, finish.accepting) == ("grammar_end", True)
    for wish, (_, finish) in zip(company.wishes, together, strict=True):
        if wish.begin is guilty:
            assert (finish.stop_cause, finish.accepting) == ("grammar_failed", False)
            assert finish.message == "the grammar engine hit a limit or failed"
    moved = metrics.registry.get_sample_value("schemagate_node_replayed_sequences_total", {"move": "beside"})
    assert moved, "the lexer broke under nobody"


def test_another_tenants_same_contract_and_other_contracts_do_not_notice(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    metrics = NodeMetrics()
    poisoned, well = new_shelf(tokenizer), new_shelf(tokenizer, metrics)
    mine = [rows(seed) for seed in range(3)]
    others = [
        {"prompt": "My profile:", "grammar": OBJECT, "temperature": 1.0, "seed": 5},
        {"prompt": "Tell me", "temperature": 1.0, "seed": 6, "max_tokens": 40},
    ]
    alone = [run_alone(tiny_decoder, tokenizer, wish) for wish in mine]
    alone += [run_together(tiny_decoder, tokenizer, [dict(other)])[0] for other in others]
    together = run_together(
        tiny_decoder,
        tokenizer,
        [
            *(wish.options(wish.begin(well)) for wish in mine),
            *others,
            *(wish.options(wish.begin(poisoned)) for wish in (maze(7), maze(8), maze(9))),
        ],
    )
    assert [outcome(run) for run in together[:5]] == [outcome(run) for run in alone]
    assert {finish.stop_cause for _, finish in together[5:]} == {"grammar_failed"}
    for move in ("beside", "alone", "repeat"):
        assert not metrics.registry.get_sample_value("schemagate_node_replayed_sequences_total", {"move": move})


def test_a_sequence_that_is_cancelled_while_its_matcher_is_repaired_frees_its_place(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    ill, next_one = Collector(), Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer, max_sequences=1) as loop:
        shelf = new_shelf(tokenizer)
        sequence = new_sequence(tokenizer, ill, **maze(1).options(guilty(shelf)))
        loop.submit(sequence)
        ill.wait_for_tokens(10)
        loop.cancel(sequence)
        loop.submit(new_sequence(tokenizer, next_one, **rows(2).options(innocent(shelf))))
        assert ill.finish().stop_cause in {"cancelled", "grammar_failed"}
        assert next_one.finish().stop_cause == "grammar_end"
