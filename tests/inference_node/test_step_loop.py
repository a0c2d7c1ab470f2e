import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.errors import RefusedRequestError
from inference_node.grammar import Bitmask, Prototype
from inference_node.kv_cache import KvCache
from inference_node.protocol import TokenEvent
from inference_node.sequence import DecodingSequence
from inference_node.step_batch import Slice
from inference_node.step_loop import StepLoop
from policy.limits import TENANT
from tests.inference_node.worlds import (
    Collector,
    eventually,
    load_decoder,
    new_cache,
    new_sequence,
    running_loop,
)

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


def mix(tokenizer: BoundTokenizer) -> list[dict[str, Any]]:
    """Eight requests that have little in common."""
    long = " ".join(f"word{number}" for number in range(90))
    return [
        {"prompt": "My profile:", "grammar": OBJECT, "temperature": 1.0, "seed": 1},
        {"prompt": long, "grammar": LIST, "temperature": 0.0},
        {"prompt": "Tell me", "temperature": 1.0, "seed": 3, "max_tokens": 40},
        {"prompt": "A colour", "grammar": CHOICE, "temperature": 2.0, "seed": 4},
        {"prompt": long[:200], "temperature": 0.0, "max_tokens": 25},
        {"prompt": "Words", "grammar": WORDS, "temperature": 1.0, "top_p": 0.9, "seed": 6},
        {"prompt": "x", "temperature": 0.7, "top_p": 0.5, "seed": 7, "max_tokens": 33},
        {"prompt": "My profile:", "grammar": OBJECT, "temperature": 1.0, "seed": 8},
    ]


def ids_alone(decoder: Decoder, tokenizer: BoundTokenizer, requests: list[dict[str, Any]]) -> list[list[int]]:
    return [run(decoder, tokenizer, **request)[0].token_ids for request in requests]


def ids_together(
    decoder: Decoder, tokenizer: BoundTokenizer, requests: list[dict[str, Any]], order: list[int], *, num_places: int
) -> list[list[int]]:
    collectors = [Collector() for _ in requests]
    with running_loop(decoder.forward, new_cache(decoder, num_places=num_places), tokenizer) as loop:
        for index in order:
            loop.submit(new_sequence(tokenizer, collectors[index], **requests[index]))
        for collector in collectors:
            collector.finish()
    return [collector.token_ids for collector in collectors]


@pytest.mark.parametrize(("seed", "num_places"), [(0, 8), (1, 8), (2, 3)])
def test_a_request_gives_the_same_tokens_alone_and_in_any_mix(
    seed: int, num_places: int, tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    requests = mix(tokenizer)
    order = list(range(len(requests)))
    random.Random(seed).shuffle(order)
    alone = ids_alone(tiny_decoder, tokenizer, requests)
    assert ids_together(tiny_decoder, tokenizer, requests, order, num_places=num_places) == alone
    assert alone[0] != alone[7]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_real_model_gives_the_same_tokens_alone_and_in_a_mix_of_eight(
    dtype: torch.dtype, model_directory: Path, tokenizer: BoundTokenizer
) -> None:
    decoder = load_decoder(model_directory, dtype=dtype)
    requests = mix(tokenizer)
    alone = ids_alone(decoder, tokenizer, requests)
    assert ids_together(decoder, tokenizer, requests, [5, 2, 7, 0, 3, 1, 6, 4], num_places=8) == alone


@pytest.mark.parametrize("chunk_tokens", [1, 7, 128])
def test_how_a_prompt_is_cut_changes_neither_the_grammar_nor_the_counts(
    chunk_tokens: int, tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector = Collector()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder), tokenizer, chunk_tokens=chunk_tokens) as loop:
        loop.submit(new_sequence(tokenizer, collector, "word " * 60, grammar=OBJECT))
        finish = collector.finish()
    assert finish.stop_cause == "grammar_end"
    assert finish.accepting is True
    assert finish.usage.completion_tokens == len(collector.token_ids)


def test_text_under_a_grammar_ends_with_the_grammar_and_is_a_sentence_of_it(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    for seed in range(10):
        collector, sequence = run(tiny_decoder, tokenizer, grammar=OBJECT, temperature=1.0, seed=seed)
        finish = collector.finish()
        assert (finish.stop_cause, finish.accepting) == ("grammar_end", True)
        assert sequence.matcher is not None
        assert sequence.matcher.accepts_text(collector.text.encode())


def test_forced_tokens_are_counted_and_cost_no_step_of_their_own(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    forward = Counting(tiny_decoder)
    collector = Collector()
    with running_loop(forward, new_cache(tiny_decoder), tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, collector, "x", grammar='start: "{\\"a\\":" /[0-9]/ ",\\"bcd\\":true}"'))
        finish = collector.finish()
    assert finish.usage.completion_tokens == finish.usage.forced_tokens + 1
    assert forward.num_steps == 1
    events = [event for event in collector.events if isinstance(event, TokenEvent)]
    assert sum(event.num_forced_tokens for event in events) == finish.usage.forced_tokens
    assert [event.accepting for event in events][-1] is True
    assert not any(event.accepting for event in events[:-1])


def test_a_grammar_with_one_sentence_never_reaches_the_model(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    forward = Counting(tiny_decoder)
    collector = Collector()
    with running_loop(forward, new_cache(tiny_decoder), tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, collector, "x", grammar='start: "only this"'))
        finish = collector.finish()
    assert collector.text == "only this"
    assert (finish.stop_cause, finish.accepting) == ("grammar_end", True)
    assert forward.num_steps == 0


def test_a_budget_that_ends_before_the_sentence_is_not_accepting(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector, _ = run(tiny_decoder, tokenizer, grammar=OBJECT, max_tokens=5)
    finish = collector.finish()
    assert (finish.stop_cause, finish.accepting) == ("max_tokens", False)
    assert finish.usage.completion_tokens == 5


def test_a_budget_that_ends_where_the_text_is_complete_is_accepting(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector, _ = run(tiny_decoder, tokenizer, grammar="start: /[0-9]+/", max_tokens=4)
    finish = collector.finish()
    assert (finish.stop_cause, finish.accepting) == ("max_tokens", True)


def test_a_budget_that_ends_inside_forced_text_cuts_it_there(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collector, _ = run(tiny_decoder, tokenizer, grammar='start: "one two three four five"', max_tokens=2)
    finish = collector.finish()
    assert (finish.stop_cause, finish.accepting) == ("max_tokens", False)
    assert finish.usage.completion_tokens == finish.usage.forced_tokens == 2
    assert "one two three four five".startswith(collector.text)


def test_a_grammar_that_ends_on_the_last_token_of_the_budget_has_ended(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    count = len(tokenizer.encode_exact(b"one two three"))
    collector, _ = run(tiny_decoder, tokenizer, grammar='start: "one two three"', max_tokens=count)
    finish = collector.finish()
    assert (finish.stop_cause, finish.accepting) == ("grammar_end", True)


def test_a_full_context_is_its_own_cause(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collector = Collector()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder, context_tokens=64), tokenizer) as loop:
        sequence = new_sequence(
            tokenizer, collector, [5] * 60, grammar="start: /[a-z]{400}/", max_tokens=None, context_tokens=64
        )
        loop.submit(sequence)
        finish = collector.finish()
    assert (finish.stop_cause, finish.accepting) == ("context_full", False)
    assert finish.usage.completion_tokens == 4


def test_an_end_token_is_taken_only_where_the_grammar_accepts(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    causes = set()
    for seed in range(12):
        collector, _ = run(
            tiny_decoder, tokenizer, grammar="start: /[ab]{1,40}/", temperature=2.0, seed=seed, max_tokens=200
        )
        finish = collector.finish()
        assert finish.accepting is True
        causes.add(finish.stop_cause)
        if finish.stop_cause == "end_of_sequence":
            assert collector.token_ids[-1] in tokenizer.end_ids
            assert not set(collector.token_ids[:-1]) & set(tokenizer.end_ids)
    assert "end_of_sequence" in causes


def test_a_dead_end_is_reported_as_one(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collector, _ = run(tiny_decoder, tokenizer, grammar='start: A B\nA: "a"\nB: /b/ & /c/')
    finish = collector.finish()
    assert (finish.stop_cause, finish.accepting) == ("dead_end", False)
    assert finish.message


def test_a_grammar_that_hits_a_limit_has_failed_and_its_neighbour_has_not(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    failing, well = Collector(), Collector()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder), tokenizer) as loop:
        budget = replace(TENANT.engine, step_max_items=3)
        loop.submit(new_sequence(tokenizer, failing, "x", grammar=LIST, budget=budget))
        loop.submit(new_sequence(tokenizer, well, "x", grammar=OBJECT))
        finish = failing.finish()
        assert (finish.stop_cause, finish.accepting) == ("grammar_failed", False)
        assert finish.message == "the grammar engine hit a limit or failed"
        assert well.finish().stop_cause == "grammar_end"


def test_a_stop_string_cuts_the_text_and_the_rest_is_judged(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collector, _ = run(tiny_decoder, tokenizer, grammar='start: /[0-9]{3}/ ";end"', stop=[";e"])
    finish = collector.finish()
    assert (finish.stop_cause, finish.stop_string, finish.accepting) == ("stop_string", ";e", False)
    assert len(collector.text) == 3
    assert collector.text.isdecimal()


def test_text_before_a_stop_string_that_is_complete_is_accepting(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector, _ = run(tiny_decoder, tokenizer, grammar='start: "ok" | "ok, and more"', stop=[", a"], seed=3)
    finish = collector.finish()
    assert collector.text == "ok"
    assert finish.accepting is True
    forced, _ = run(tiny_decoder, tokenizer, grammar='start: "ok, and" ", more"?', stop=[", m", ", a"])
    assert (forced.text, forced.finish().stop_string, forced.finish().accepting) == ("ok", ", a", False)


def test_an_unfinished_character_is_not_sent_and_the_sent_text_is_judged(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    # A character of four bytes that takes several tokens, and a budget that ends within it.
    face = "\U0001f9ff"
    num_tokens = len(tokenizer.encode_exact(face.encode()))
    assert num_tokens > 1
    for budget in range(1, num_tokens + 1):
        collector, _ = run(tiny_decoder, tokenizer, grammar=f'start: "{face}"', max_tokens=budget)
        assert collector.text in {"", face}
        assert collector.finish().accepting is (collector.text == face)


def test_unconstrained_text_has_no_opinion_about_acceptance(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collector, _ = run(tiny_decoder, tokenizer, max_tokens=6)
    finish = collector.finish()
    assert finish.accepting is None
    assert all(event.accepting is None for event in collector.events if isinstance(event, TokenEvent))
    assert finish.usage.completion_tokens <= 6


def test_a_cancelled_sequence_frees_its_place_for_one_that_waits(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    first, second = Collector(), Collector()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder, num_places=1), tokenizer) as loop:
        endless = new_sequence(tokenizer, first, "x", grammar="start: /[a-z]{480}/", max_tokens=None)
        loop.submit(endless)
        first.wait_for_tokens(3)
        loop.submit(new_sequence(tokenizer, second, "x", max_tokens=2))
        loop.cancel(endless)
        assert first.finish().stop_cause == "cancelled"
        assert second.finish().stop_cause in {"max_tokens", "end_of_sequence"}


def test_a_sequence_can_be_cancelled_while_it_waits(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    first, second = Collector(), Collector()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder, num_places=1), tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, first, "x", grammar="start: /[a-z]{480}/", max_tokens=None))
        waiting = new_sequence(tokenizer, second, "x")
        loop.submit(waiting)
        loop.cancel(waiting)
        assert second.finish().stop_cause == "cancelled"
        assert second.token_ids == []


def test_a_full_queue_refuses_with_a_time_to_come_back(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collectors = [Collector() for _ in range(3)]
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder, num_places=1), tokenizer, max_waiting=1) as loop:
        loop.submit(new_sequence(tokenizer, collectors[0], "x", grammar="start: /[a-z]{480}/", max_tokens=None))
        collectors[0].wait_for_tokens(1)
        loop.submit(new_sequence(tokenizer, collectors[1], "x"))
        with pytest.raises(RefusedRequestError) as caught:
            loop.submit(new_sequence(tokenizer, collectors[2], "x"))
    assert caught.value.fault.code == "overloaded"
    assert caught.value.fault.limit == 1
    assert caught.value.retry_after_seconds
    assert collectors[2].events == []


def test_stopping_ends_every_sequence_as_cancelled_and_refuses_new_ones(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collectors = [Collector() for _ in range(3)]
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder, num_places=1), tokenizer) as loop:
        for collector in collectors[:2]:
            loop.submit(new_sequence(tokenizer, collector, "x", grammar="start: /[a-z]{480}/", max_tokens=None))
        collectors[0].wait_for_tokens(1)
        assert loop.stop(timeout_seconds=30)
        assert [collector.finish().stop_cause for collector in collectors[:2]] == ["cancelled"] * 2
        assert not any(collector.finish().accepting for collector in collectors[:2])
        with pytest.raises(RefusedRequestError) as caught:
            loop.submit(new_sequence(tokenizer, collectors[2], "x"))
    assert caught.value.fault.code == "draining"


def test_what_breaks_in_one_sequence_ends_it_alone(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    broken, well = Collector(), Collector()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder), tokenizer) as loop:
        sequence = new_sequence(tokenizer, broken, "x", grammar=LIST)

        def fail(token_id: int) -> None:
            raise RuntimeError(f"token {token_id}")

        sequence.take = fail  # type: ignore[method-assign]
        loop.submit(sequence)
        loop.submit(new_sequence(tokenizer, well, "x", grammar=OBJECT))
        assert (broken.finish().stop_cause, broken.finish().accepting) == ("engine_failed", False)
        assert well.finish().stop_cause == "grammar_end"
        assert loop.failure is None


def test_a_fill_that_raises_ends_its_sequence_alone(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    broken, well = Collector(), Collector()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder), tokenizer) as loop:
        matcher = _FaultyMatcher(Prototype.build(tokenizer, LIST, TENANT.engine).matcher())
        loop.submit(new_sequence(tokenizer, broken, "x", grammar=matcher))  # type: ignore[arg-type]
        loop.submit(new_sequence(tokenizer, well, "x", grammar=OBJECT))
        assert broken.finish().stop_cause == "engine_failed"
        assert well.finish().stop_cause == "grammar_end"


def test_a_step_that_fails_ends_its_sequences_and_the_loop_goes_on(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    forward = Counting(tiny_decoder, error=RuntimeError("out of memory"))
    first, second = Collector(), Collector()
    with running_loop(forward, new_cache(tiny_decoder), tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, first, "x", grammar=LIST))
        assert (first.finish().stop_cause, first.finish().accepting) == ("engine_failed", False)
        loop.submit(new_sequence(tokenizer, second, "x", grammar=OBJECT))
        assert second.finish().stop_cause == "grammar_end"
        assert loop.failure is None


def test_a_loop_that_dies_says_so_and_leaves_nobody_waiting(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    forward = Counting(tiny_decoder, error=KeyboardInterrupt("stray"))
    running, waiting, late = Collector(), Collector(), Collector()
    with running_loop(forward, new_cache(tiny_decoder, num_places=1), tokenizer) as loop:
        with loop._changed:
            loop.submit(new_sequence(tokenizer, running, "x", grammar=LIST))
            loop.submit(new_sequence(tokenizer, waiting, "x"))
        assert running.finish().stop_cause == "engine_failed"
        assert waiting.finish().stop_cause == "engine_failed"
        eventually(lambda: loop.failure is not None)
        with pytest.raises(RefusedRequestError) as caught:
            loop.submit(new_sequence(tokenizer, late, "x"))
        assert caught.value.fault.code == "not_ready"


def test_a_slow_mask_holds_up_nobody_else(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    slow, quick = Collector(), Collector()
    release = Event()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder), tokenizer) as loop:
        matcher = _SlowMatcher(Prototype.build(tokenizer, LIST, TENANT.engine).matcher(), release)
        loop.submit(new_sequence(tokenizer, slow, "x", grammar=matcher))  # type: ignore[arg-type]
        assert matcher.is_filling.wait(30)
        loop.submit(new_sequence(tokenizer, quick, "x", grammar=OBJECT))
        assert quick.finish().stop_cause == "grammar_end"
        assert len(slow.events) < 3
        release.set()
        assert slow.finish().stop_cause == "grammar_end"


def test_a_place_whose_mask_is_still_being_filled_is_not_given_away(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    slow, second = Collector(), Collector()
    release = Event()
    with running_loop(tiny_decoder.forward, new_cache(tiny_decoder, num_places=1), tokenizer) as loop:
        matcher = _SlowMatcher(Prototype.build(tokenizer, LIST, TENANT.engine).matcher(), release)
        cancelled = new_sequence(tokenizer, slow, "x", grammar=matcher)  # type: ignore[arg-type]
        loop.submit(cancelled)
        assert matcher.is_filling.wait(30)
        loop.cancel(cancelled)
        assert slow.finish().stop_cause == "cancelled"
        loop.submit(new_sequence(tokenizer, second, "x", grammar=OBJECT))
        assert _held(loop) == 1
        assert second.token_ids == []
        release.set()
        assert second.finish().stop_cause == "grammar_end"


def _held(loop: StepLoop) -> int:
    return len(loop._held_places)


class _FaultyMatcher:
    """A real matcher whose fill raises."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fill_bitmask(self, row: Bitmask) -> None:
        raise RuntimeError("Already borrowed")


class _SlowMatcher:
    """A real matcher whose fills wait."""

    def __init__(self, inner: Any, release: Event) -> None:
        self._inner = inner
        self._release = release
        self.is_filling = Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fill_bitmask(self, row: Bitmask) -> None:
        self.is_filling.set()
        assert self._release.wait(60)
        self._inner.fill_bitmask(row)
