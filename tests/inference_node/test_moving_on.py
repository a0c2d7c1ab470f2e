"""The grammar takes a token first and its text is told afterwards: nothing of what is told differs."""

import random
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.bitmask_row import new_row
from inference_node.decoder import Decoder
from inference_node.ending import Ending
from inference_node.grammar import Prototype
from inference_node.masking import Masking
from inference_node.protocol import TokenEvent
from inference_node.running import Running
from inference_node.sequence import DecodingSequence
from policy.limits import TENANT
from tests.inference_node.loop_worlds import CHOICE, LIST, OBJECT, WORDS, submitted
from tests.inference_node.test_looking_ahead import Ahead
from tests.inference_node.test_matcher import offered
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

GRAMMARS = [OBJECT, LIST, CHOICE, WORDS]


def owes(sequence: DecodingSequence) -> bool:
    return sequence.is_behind


def told_at_once(sequence: DecodingSequence, token_id: int) -> Ending | None:
    return sequence.take(token_id)


def told_after_its_mask(sequence: DecodingSequence, token_id: int) -> Ending | None:
    """As the step loop does where the device works meanwhile."""
    has_mask = sequence.move_on(token_id)
    assert sequence.has_moved
    matcher = sequence.matcher
    assert matcher is not None
    if has_mask:
        matcher.fill_bitmask(new_row(sequence.tokenizer))
    ending = sequence.take(token_id)
    assert not owes(sequence)
    if ending is None:
        assert has_mask
        ending = sequence.ending_by_mask() or (sequence.resume() if owes(sequence) else None)
    return ending


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_events_endings_and_counts_are_the_same(grammar: str, tokenizer: BoundTokenizer) -> None:
    prototype = Prototype.build(tokenizer, grammar, TENANT.engine)
    for seed in range(6):
        sinks = Collector(), Collector()
        ways = told_at_once, told_after_its_mask
        sequences = [new_sequence(tokenizer, sink, "x", grammar=prototype.matcher(), max_tokens=9) for sink in sinks]
        chance = random.Random(seed)
        endings: Sequence[Ending | None] = [sequence.resume() for sequence in sequences]
        while not any(endings):
            assert sequences[0].matcher is not None
            token_id = chance.choice(sorted(offered(sequences[0].matcher)))
            endings = [way(sequence, token_id) for way, sequence in zip(ways, sequences, strict=True)]
            assert sequences[0].token_ids == sequences[1].token_ids
            assert sequences[0].forced_places == sequences[1].forced_places
        assert endings[0] == endings[1]
        assert sinks[0].events == sinks[1].events


def test_a_mask_that_breaks_the_matcher_before_its_token_is_told_loses_nothing(tokenizer: BoundTokenizer) -> None:
    sink = Collector()
    sequence = new_sequence(tokenizer, sink, "x", grammar=LIST)
    assert sequence.resume() is None
    matcher = sequence.matcher
    assert matcher is not None
    token_id = min(offered(matcher))
    after = sink.text + tokenizer.token_bytes[token_id].decode()
    assert sequence.move_on(token_id)
    matcher.break_by(RuntimeError("the fill"))
    assert matcher.is_broken
    assert sequence.take(token_id) is None
    assert (sequence.token_ids[-1], sink.text, owes(sequence)) == (token_id, after, False)
    assert sequence.ending_by_mask() is None
    assert owes(sequence)  # what is forced is asked once it is repaired
    matcher.repair()
    assert sequence.resume() is None
    assert not owes(sequence)
    assert (sink.text, matcher.is_broken) == (after, False)


def test_a_matcher_that_breaks_over_the_token_takes_it_after_its_repair(tokenizer: BoundTokenizer) -> None:
    sink = Collector()
    sequence = new_sequence(tokenizer, sink, "x", grammar=LIST)
    assert sequence.resume() is None
    matcher = sequence.matcher
    assert matcher is not None
    token_id = min(offered(matcher))
    before, after = sink.text, sink.text + tokenizer.token_bytes[token_id].decode()
    matcher.break_by(RuntimeError("the token"))
    assert not sequence.move_on(token_id)
    assert not sequence.has_moved
    assert sequence.take(token_id) is None
    assert (sink.text, owes(sequence)) == (before, True)
    matcher.repair()
    assert sequence.resume() is None
    assert (sink.text, owes(sequence)) == (after, False)


def test_a_saved_sequence_whose_mask_was_not_looked_at_asks_what_is_forced(tokenizer: BoundTokenizer) -> None:
    sequence = new_sequence(tokenizer, Collector(), "x", grammar=CHOICE)
    assert sequence.resume() is None
    assert sequence.matcher is not None
    token_id = min(token for token in offered(sequence.matcher) if tokenizer.token_bytes[token] == b"r")
    sequence.move_on(token_id)
    assert sequence.take(token_id) is None
    assert sequence.asks_forced


def test_nothing_is_ready_under_a_grammar_without_its_mask(tokenizer: BoundTokenizer, tiny_decoder: Decoder) -> None:
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        masking = loop._stepping._masks
        assert isinstance(masking, Masking)
        free, bound = (
            Running(
                sequence=new_sequence(tokenizer, Collector(), "x", grammar=grammar),
                table=None,  # type: ignore[arg-type]  # not looked at
                mask_rows=[],
                last_step=0,
            )
            for grammar in (None, LIST)
        )
        assert masking.is_ready(free, 0.0)
        assert not masking.is_ready(bound, 0.0)


def test_masks_are_asked_for_before_texts_are_told(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    untold: list[bool] = []
    start = Masking.start

    def noted_start(self: Masking, wanted: Sequence[Running]) -> None:
        untold.extend(running.sequence.has_moved for running in wanted)
        start(self, wanted)

    monkeypatch.setattr(Masking, "start", noted_start)
    requests = [{"prompt": "Say", "grammar": WORDS, "temperature": 1.0, "seed": seed} for seed in range(3)]
    for runner, is_ahead in ((Ahead(on_cpu(tiny_decoder)), True), (on_cpu(tiny_decoder), False)):
        untold.clear()
        with running_loop(runner, tokenizer) as loop:
            for collector in submitted(loop, tokenizer, requests):
                collector.finish()
        assert (sum(untold) > 6) is is_ahead


def test_text_is_not_called_whole_by_a_grammar_that_is_ahead_of_it(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    num_asked = 0

    def failing(*_: object, num_top: int) -> None:
        nonlocal num_asked
        num_asked += 1
        if num_asked == 2:
            raise RuntimeError(f"no {num_top} log probabilities")

    monkeypatch.setattr("inference_node.taking.token_logprob", failing)
    collector = Collector()
    with capture_logs(), running_loop(Ahead(on_cpu(tiny_decoder)), tokenizer) as loop:
        # Two tokens for one character: the first is held back until the sequence ends, when the second was not told.
        loop.submit(new_sequence(tokenizer, collector, "Once", grammar="start: /[¤-¦]/", num_top_logprobs=0))
        finish = collector.finish()
    assert (finish.stop_cause, finish.accepting, num_asked) == ("engine_failed", False, 2)
    told = [event for event in collector.events if isinstance(event, TokenEvent)]
    assert [(event.text, event.accepting, len(event.token_ids)) for event in told] == [("", False, 1)]
