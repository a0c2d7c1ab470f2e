from threading import Event

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.errors import RefusedRequestError
from tests.inference_node.worlds import DEADLINE_SECONDS, Collector, new_sequence, on_cpu, running_loop


def test_what_nobody_waits_for_any_more_is_not_done_and_harms_nobody(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector, gate, done = Collector(), Event(), Event()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        first = loop.between_steps(lambda: gate.wait(DEADLINE_SECONDS))
        second = loop.between_steps(done.set)
        assert second.cancel()
        gate.set()
        assert first.result(DEADLINE_SECONDS)
        loop.submit(new_sequence(tokenizer, collector, "x", max_tokens=3))
        assert collector.finish().usage.completion_tokens == 3
        assert loop.failure is None
    assert not done.is_set()


def test_what_goes_wrong_there_is_told_to_whoever_asked(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    def fail() -> None:
        raise KeyError("asked for too much")

    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        with pytest.raises(KeyError, match="asked for too much"):
            loop.between_steps(fail).result(DEADLINE_SECONDS)
        assert loop.between_steps(lambda: loop.find("nobody")).result(DEADLINE_SECONDS) is None
        assert loop.failure is None


def test_a_loop_that_has_stopped_takes_nothing_more(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        assert loop.stop(timeout_seconds=DEADLINE_SECONDS)
        with pytest.raises(RefusedRequestError):
            loop.between_steps(lambda: None)
