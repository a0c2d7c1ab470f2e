import gc
from threading import Barrier, Thread

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.errors import GrammarError
from inference_node.matcher import GrammarMatcher
from inference_node.metrics import NodeMetrics
from tests.inference_node.poison import innocent, new_shelf


def built(metrics: NodeMetrics) -> dict[str, float]:
    return {
        reason: value
        for reason in ("first", "spread", "worn", "broken", "alone")
        if (value := metrics.registry.get_sample_value("schemagate_node_built_prototypes_total", {"reason": reason}))
    }


def test_sequences_of_one_artifact_are_spread_over_as_many_prototypes_as_it_may_have(
    tokenizer: BoundTokenizer,
) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics, capacity=2)
    matchers = [shelf.matcher() for _ in range(8)]
    shares = [sum(matcher.prototype is prototype for matcher in matchers) for prototype in _prototypes(matchers)]
    assert shares == [4, 4]
    assert built(metrics) == {"first": 1, "spread": 1}


def test_one_sequence_after_another_needs_one_prototype(tokenizer: BoundTokenizer) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics, capacity=2)
    for _ in range(5):
        shelf.matcher()
    assert shelf.num_prototypes == 1
    assert built(metrics) == {"first": 1}


def test_a_worn_prototype_makes_way_for_a_fresh_one_and_its_sequences_keep_it(tokenizer: BoundTokenizer) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics)
    old = shelf.matcher()
    for _ in range(300):
        shelf.matcher()
    assert shelf.matcher().prototype is not old.prototype
    assert shelf.num_prototypes == 1
    assert built(metrics) == {"first": 1, "worn": 1}
    assert old.accept_tokens(tokenizer.encode_exact(b"a"))


def test_a_prototype_is_worn_by_masks_too(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    prototype = shelf.matcher().prototype
    assert not prototype.is_worn
    prototype.num_masks = 20_000
    assert shelf.matcher().prototype is not prototype


def test_nobody_gets_a_copy_of_a_broken_prototype(tokenizer: BoundTokenizer) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics)
    first = innocent(shelf)
    first.prototype.is_broken = True
    second = shelf.matcher()
    assert second.prototype is not first.prototype
    assert second.prototype.is_sound()
    assert built(metrics) == {"first": 1, "broken": 1}


def test_a_prototype_is_counted_while_a_sequence_uses_it_and_not_after(tokenizer: BoundTokenizer) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics, capacity=2)
    matchers = [shelf.matcher() for _ in range(4)]

    def num_live() -> float | None:
        gc.collect()
        return metrics.registry.get_sample_value("schemagate_node_prototypes")

    assert num_live() == 2
    assert shelf.drop_spares() == 1
    assert num_live() == 2
    matchers.clear()
    assert num_live() == 1


def test_a_grammar_that_does_not_compile_is_an_error_for_everyone_who_asks(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer, grammar="start: missing")
    for _ in range(2):
        with pytest.raises(GrammarError):
            shelf.matcher()


def test_many_who_come_at_once_compile_no_more_than_the_shelf_holds(tokenizer: BoundTokenizer) -> None:
    metrics = NodeMetrics()
    shelf = new_shelf(tokenizer, metrics, capacity=2)
    together = Barrier(8)
    matchers: list[GrammarMatcher] = []

    def come() -> None:
        together.wait(30)
        matchers.append(shelf.matcher())

    threads = [Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(matchers) == 8
    assert shelf.num_prototypes <= 2
    assert sum(built(metrics).values()) <= 2


def _prototypes(matchers: list[GrammarMatcher]) -> list[object]:
    return list(dict.fromkeys(matcher.prototype for matcher in matchers))
