from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.protocol import TokenEvent
from tests.inference_node.loop_worlds import OBJECT, Counting, run
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop


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
    forward = Counting(on_cpu(tiny_decoder))
    collector = Collector()
    with running_loop(forward, tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, collector, "x", grammar='start: "{\\"a\\":" /[0-9]/ ",\\"bcd\\":true}"'))
        finish = collector.finish()
    assert finish.usage.completion_tokens == finish.usage.forced_tokens + 1
    assert forward.num_steps == 1
    events = [event for event in collector.events if isinstance(event, TokenEvent)]
    assert sum(event.num_forced_tokens for event in events) == finish.usage.forced_tokens
    assert [event.accepting for event in events][-1] is True
    assert not any(event.accepting for event in events[:-1])


def test_a_grammar_with_one_sentence_never_reaches_the_model(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    forward = Counting(on_cpu(tiny_decoder))
    collector = Collector()
    with running_loop(forward, tokenizer) as loop:
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
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
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


def test_a_special_token_in_a_grammar_is_no_text_and_the_text_is_judged_without_it(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector, _ = run(tiny_decoder, tokenizer, grammar='start: "a" <|im_start|> "b"')
    finish = collector.finish()
    assert collector.text == "ab"
    assert (finish.stop_cause, finish.accepting) == ("grammar_end", False)
