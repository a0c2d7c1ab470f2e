from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.bitmask_row import Bitmask
from inference_node.decoder import Decoder
from inference_node.ending import Ending
from inference_node.errors import RefusedRequestError
from inference_node.fair_queue import FairQueue
from inference_node.grammar import Prototype
from inference_node.protocol import TokenLogprob
from policy.limits import TENANT
from tests.inference_node.loop_worlds import LIST, OBJECT, Counting
from tests.inference_node.worlds import DEADLINE_SECONDS, Collector, eventually, new_sequence, on_cpu, running_loop


def test_a_grammar_that_hits_a_limit_has_failed_and_its_neighbour_has_not(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    failing, well = Collector(), Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        budget = replace(TENANT.engine, step_max_items=3)
        loop.submit(new_sequence(tokenizer, failing, "x", grammar=LIST, budget=budget))
        loop.submit(new_sequence(tokenizer, well, "x", grammar=OBJECT))
        finish = failing.finish()
        assert (finish.stop_cause, finish.accepting) == ("grammar_failed", False)
        assert finish.message == "the grammar engine hit a limit or failed"
        assert well.finish().stop_cause == "grammar_end"


def test_a_cancelled_sequence_frees_its_place_for_one_that_waits(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    first, second = Collector(), Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer, max_sequences=1) as loop:
        endless = new_sequence(tokenizer, first, "x", grammar="start: /[a-z]{480}/", max_tokens=None)
        loop.submit(endless)
        first.wait_for_tokens(3)
        loop.submit(new_sequence(tokenizer, second, "x", max_tokens=2))
        loop.cancel(endless)
        assert first.finish().stop_cause == "cancelled"
        assert second.finish().stop_cause in {"max_tokens", "end_of_sequence"}


def test_a_sequence_can_be_cancelled_while_it_waits(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    first, second = Collector(), Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer, max_sequences=1) as loop:
        loop.submit(new_sequence(tokenizer, first, "x", grammar="start: /[a-z]{480}/", max_tokens=None))
        waiting = new_sequence(tokenizer, second, "x")
        loop.submit(waiting)
        loop.cancel(waiting)
        assert second.finish().stop_cause == "cancelled"
        assert second.token_ids == []


def test_a_full_queue_refuses_with_a_time_to_come_back(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collectors = [Collector() for _ in range(3)]
    with running_loop(on_cpu(tiny_decoder), tokenizer, max_sequences=1, max_waiting=1) as loop:
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
    with running_loop(on_cpu(tiny_decoder), tokenizer, max_sequences=1) as loop:
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
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        sequence = new_sequence(tokenizer, broken, "x", grammar=LIST)

        def fail(token_id: int, logprob: TokenLogprob | None = None) -> Ending | None:
            raise RuntimeError(f"token {token_id}, {logprob}")

        sequence.take = fail  # type: ignore[method-assign]
        loop.submit(sequence)
        loop.submit(new_sequence(tokenizer, well, "x", grammar=OBJECT))
        assert (broken.finish().stop_cause, broken.finish().accepting) == ("engine_failed", False)
        assert well.finish().stop_cause == "grammar_end"
        assert loop.failure is None


def test_a_fill_that_raises_ends_its_sequence_alone(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    broken, well = Collector(), Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        matcher = _FaultyMatcher(Prototype.build(tokenizer, LIST, TENANT.engine).matcher())
        loop.submit(new_sequence(tokenizer, broken, "x", grammar=matcher))  # type: ignore[arg-type]
        loop.submit(new_sequence(tokenizer, well, "x", grammar=OBJECT))
        assert broken.finish().stop_cause == "engine_failed"
        assert well.finish().stop_cause == "grammar_end"


def test_a_step_that_fails_ends_its_sequences_and_the_loop_goes_on(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    forward = Counting(on_cpu(tiny_decoder), error=RuntimeError("out of memory"))
    first, second = Collector(), Collector()
    with running_loop(forward, tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, first, "x", grammar=LIST))
        assert (first.finish().stop_cause, first.finish().accepting) == ("engine_failed", False)
        loop.submit(new_sequence(tokenizer, second, "x", grammar=OBJECT))
        assert second.finish().stop_cause == "grammar_end"
        assert loop.failure is None


def test_a_loop_that_dies_says_so_and_leaves_nobody_waiting(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    forward = Counting(on_cpu(tiny_decoder), error=KeyboardInterrupt("stray"))
    running, waiting, late = Collector(), Collector(), Collector()
    with running_loop(forward, tokenizer, max_sequences=1) as loop:
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
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        matcher = SlowMatcher(Prototype.build(tokenizer, LIST, TENANT.engine).matcher(), release)
        loop.submit(new_sequence(tokenizer, slow, "x", grammar=matcher))  # type: ignore[arg-type]
        assert matcher.is_filling.wait(30)
        loop.submit(new_sequence(tokenizer, quick, "x", grammar=OBJECT))
        assert quick.finish().stop_cause == "grammar_end"
        assert len(slow.events) < 3
        release.set()
        assert slow.finish().stop_cause == "grammar_end"


def test_rows_that_are_still_being_filled_are_not_given_away(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    slow, second = Collector(), Collector()
    release = Event()
    with running_loop(on_cpu(tiny_decoder), tokenizer, max_sequences=1) as loop:
        matcher = SlowMatcher(Prototype.build(tokenizer, LIST, TENANT.engine).matcher(), release)
        cancelled = new_sequence(tokenizer, slow, "x", grammar=matcher)  # type: ignore[arg-type]
        loop.submit(cancelled)
        assert matcher.is_filling.wait(30)
        (row,) = loop.between_steps(lambda: loop._seating.running[0].mask_rows).result(timeout=10)
        loop.cancel(cancelled)
        assert slow.finish().stop_cause == "cancelled"
        # Its place is free at once, and the next one fills other rows.
        loop.submit(new_sequence(tokenizer, second, "x", grammar=OBJECT))
        assert second.finish().stop_cause == "grammar_end"
        assert loop.between_steps(lambda: loop._seating.rows.take(3)).result(timeout=10).count(row) == 0
        release.set()
        eventually(lambda: loop.between_steps(lambda: loop._seating.rows.take(1)).result(timeout=10) == [row])


class _FaultyMatcher:
    """A real matcher whose fill raises."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fill_bitmask(self, row: Bitmask) -> None:
        raise RuntimeError("Already borrowed")


class SlowMatcher:
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


def test_nobody_looks_at_the_queue_without_its_lock(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who submits adds to its lines from other threads: a look beside that once ended the whole loop."""
    with running_loop(on_cpu(tiny_decoder), tokenizer, max_sequences=2) as loop:
        changed, num_looks = loop._changed, [0]

        def guarded(look: Callable[..., Any]) -> Callable[..., Any]:
            def looked(*arguments: Any, **named: Any) -> Any:
                num_looks[0] += 1
                assert changed._is_owned(), look.__name__  # type: ignore[attr-defined]  # what a condition asks itself
                return look(*arguments, **named)

            return looked

        for name in ("__len__", "__iter__", "refusal", "push", "peek", "pop", "remove", "left", "charge", "clear"):
            monkeypatch.setattr(FairQueue, name, guarded(getattr(FairQueue, name)))
        collectors = [Collector() for _ in range(5)]
        for number, collector in enumerate(collectors):
            loop.submit(
                new_sequence(tokenizer, collector, "Once", partition=str(number), request_id=str(number), max_tokens=9)
            )
        assert loop.between_steps(partial(loop.find, "4")).result(DEADLINE_SECONDS) is not None
        assert {collector.finish().stop_cause for collector in collectors} == {"max_tokens"}
        assert loop.drain(timeout_seconds=DEADLINE_SECONDS)
        assert loop.failure is None
        assert num_looks[0] > 20
