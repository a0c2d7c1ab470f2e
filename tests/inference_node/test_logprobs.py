import math

import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.logprobs import token_logprob
from inference_node.protocol import TokenEvent, TokenLogprob
from tests.inference_node.loop_worlds import LIST, OBJECT
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop


def logprobs_of(collector: Collector) -> list[TokenLogprob]:
    events = [event for event in collector.events if isinstance(event, TokenEvent)]
    return [logprob for event in events for logprob in event.logprobs or []]


def test_a_log_probability_is_that_of_the_raw_row_and_the_likeliest_come_first(tokenizer: BoundTokenizer) -> None:
    row = torch.zeros(tokenizer.vocabulary_size)
    first, second = tokenizer.encode_exact(b"a")[0], tokenizer.encode_exact(b"b")[0]
    row[first], row[second] = 5.0, 4.0
    said = token_logprob(row, second, tokenizer, num_top=2)
    total = math.exp(5) + math.exp(4) + tokenizer.vocabulary_size - 2
    assert said.text == "b"
    assert said.token_bytes == [98]
    assert said.logprob == pytest.approx(math.log(math.exp(4) / total), abs=1e-4)
    assert [(top.text, top.token_bytes) for top in said.top] == [("a", [97]), ("b", [98])]
    assert said.top[0].logprob == pytest.approx(math.log(math.exp(5) / total), abs=1e-4)


def test_none_are_sent_where_none_were_asked_for(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collector = Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, collector, "x", max_tokens=4))
        collector.finish()
    assert all(event.logprobs is None for event in collector.events if isinstance(event, TokenEvent))


@pytest.mark.parametrize("grammar", [None, OBJECT, LIST])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_token_of_the_text_has_one_and_the_text_is_the_same_as_without(
    grammar: str | None, temperature: float, tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    plain, told = Collector(), Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        for collector, num_top in ((plain, None), (told, 3)):
            sequence = new_sequence(
                tokenizer,
                collector,
                "x",
                grammar=grammar,
                temperature=temperature,
                seed=7,
                max_tokens=24,
                num_top_logprobs=num_top,
            )
            loop.submit(sequence)
        assert plain.finish().stop_cause == told.finish().stop_cause
    assert told.token_ids == plain.token_ids
    said = logprobs_of(told)
    assert b"".join(bytes(each.token_bytes) for each in said).decode(errors="replace") == told.text
    spoken = [token for token in told.token_ids if token not in tokenizer.special]
    assert [bytes(each.token_bytes) for each in said] == [tokenizer.token_bytes[token] for token in spoken]
    assert all(each.logprob <= 0 and len(each.top) == 3 for each in said)


def test_the_probability_is_of_the_distribution_before_the_mask(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector = Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, collector, "x", grammar='start: "only"', num_top_logprobs=0))
        collector.finish()
    # The grammar leaves one choice, which would be certain after the mask.
    assert all(each.logprob < -1 and each.top == [] for each in logprobs_of(collector))


def test_the_tokens_of_a_stop_string_have_none(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    collector = Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        grammar = 'start: "one two three"'
        loop.submit(new_sequence(tokenizer, collector, "x", grammar=grammar, stop=[" three"], num_top_logprobs=0))
        assert collector.finish().stop_cause == "stop_string"
    assert collector.text == "one two"
    assert b"".join(bytes(each.token_bytes) for each in logprobs_of(collector)) == b"one two"
