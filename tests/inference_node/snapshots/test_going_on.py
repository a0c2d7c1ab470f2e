"""A sequence that was saved and goes on elsewhere says what it would have said."""

from typing import Any

import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.errors import RefusedRequestError
from inference_node.protocol import Finish, GenerateEvent, Started, TokenEvent
from inference_node.snapshots.blob import Snapshot
from tests.inference_node.loop_worlds import LIST, OBJECT, WORDS, run
from tests.inference_node.snapshots.saving_worlds import gone_on, restored, saved
from tests.inference_node.worlds import Collector

LONG = "Once upon a time there was a lighthouse on a rock, and nobody knew who had built it or why. " * 2
CASES: dict[str, dict[str, Any]] = {
    "free text, by chance": {"temperature": 1.0, "seed": 3, "max_tokens": 20},
    "free text, damped": {"damping": 1.0, "max_tokens": 20},
    "an object with forced members": {"grammar": OBJECT, "temperature": 1.0, "seed": 5, "max_tokens": 60},
    "a list, greedy": {"grammar": LIST},
    "words of a nucleus": {"grammar": WORDS, "temperature": 0.9, "top_p": 0.8, "top_k": 50, "seed": 6},
    "log probabilities": {"grammar": OBJECT, "num_top_logprobs": 2, "temperature": 1.0, "seed": 7, "max_tokens": 24},
}


def tokens(events: list[GenerateEvent]) -> list[TokenEvent]:
    return [event for event in events if isinstance(event, TokenEvent)]


def said(events: list[GenerateEvent]) -> dict[str, Any]:
    """All that a stream says, however it was cut into events."""
    last = events[-1]
    assert isinstance(last, Finish)
    return {
        "text": "".join(event.text for event in tokens(events)),
        "token_ids": [token_id for event in tokens(events) for token_id in event.token_ids],
        "forced": sum(event.num_forced_tokens for event in tokens(events)),
        "logprobs": [logprob for event in tokens(events) for logprob in event.logprobs or []],
        "accepting": last.accepting,
        "stop_cause": last.stop_cause,
        "stop_string": last.stop_string,
        "usage": last.usage,
        "steps": last.decoding.num_steps,
    }


@pytest.mark.parametrize("kind", ["included", "recomputed"])
@pytest.mark.parametrize("name", CASES)
def test_wherever_it_is_cut_both_parts_say_what_the_whole_says(
    name: str, kind: str, tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    keeps = kind == "included"
    options = CASES[name]
    whole, _ = run(tiny_decoder, tokenizer, LONG, **options)
    num_cuts = 0
    for after_tokens in (-1, 0, 2, 7):
        before, snapshot = saved(tiny_decoder, tokenizer, LONG, after_tokens=after_tokens, keeps=keeps, **options)
        if snapshot is None:
            assert said(before) == said(whole.events)
            continue
        num_cuts += 1
        last = before[-1]
        assert isinstance(last, Finish)
        assert (last.stop_cause, last.accepting) == ("saved", False if "grammar" in options else None)
        after = gone_on(tiny_decoder, tokenizer, LONG, snapshot, **options)
        assert isinstance(after[0], Started)
        assert said([*before[:-1], *after[1:]]) == said(whole.events)
    assert num_cuts >= 2


def test_it_can_be_cut_again_and_again(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    options = CASES["words of a nucleus"] | {"max_tokens": 60}
    whole, _ = run(tiny_decoder, tokenizer, LONG, **options)
    events, snapshot = saved(tiny_decoder, tokenizer, LONG, after_tokens=1, **options)
    parts = events[:-1]
    for after_tokens, keeps in ((3, True), (5, False), (7, True)):
        assert snapshot is not None
        assert len(snapshot.header.answer_ids) <= after_tokens
        events, snapshot = saved(
            tiny_decoder, tokenizer, LONG, after_tokens=after_tokens, keeps=keeps, going_on=snapshot, **options
        )
        parts += events[1:-1]
    assert snapshot is not None
    parts += gone_on(tiny_decoder, tokenizer, LONG, snapshot, **options)[1:]
    assert said(parts) == said(whole.events)


def test_text_that_was_held_back_goes_out_where_it_goes_on(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    # Any letter may begin a stop string: what was sent is always behind, and in the end none was met.
    options: dict[str, Any] = {"grammar": "start: /[ab]{30}/", "stop": ["aX", "bX"], "temperature": 1.0, "seed": 4}
    whole, _ = run(tiny_decoder, tokenizer, "x", **options)
    before, snapshot = saved(tiny_decoder, tokenizer, "x", after_tokens=4, **options)
    assert snapshot is not None
    num_characters = len(tokenizer.decode(snapshot.header.answer_ids))
    assert snapshot.header.num_sent_characters == len(said(before)["text"]) == num_characters - 1
    after = gone_on(tiny_decoder, tokenizer, "x", snapshot, **options)
    both = [*before[:-1], *after[1:]]
    assert said(both) == said(whole.events)
    assert len(said(both)["text"]) == 30


def test_a_stop_string_is_met_across_the_cut(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    options: dict[str, Any] = {"grammar": 'start: /[ab]{3}/ "-" /[cd]{3}/ "+"', "temperature": 1.0, "seed": 4}
    free, _ = run(tiny_decoder, tokenizer, "x", **options)
    options["stop"] = [free.text[1:6]]
    num_across = 0
    for after_tokens in range(1, 6):
        before, snapshot = saved(tiny_decoder, tokenizer, "x", after_tokens=after_tokens, **options)
        if snapshot is None:
            break
        num_across += len(snapshot.header.answer_ids) > snapshot.header.num_sent_tokens
        after = gone_on(tiny_decoder, tokenizer, "x", snapshot, **options)
        both = said([*before[:-1], *after[1:]])
        assert (both["text"], both["stop_cause"]) == (free.text[:1], "stop_string")
    assert num_across > 0


def test_half_a_character_is_kept(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    options: dict[str, Any] = {"grammar": "start: /[\\u4e00-\\u9fff]{12}/", "temperature": 1.0, "seed": 2}
    whole, _ = run(tiny_decoder, tokenizer, "x", **options)
    num_halves = 0
    for after_tokens in range(1, 8):
        before, snapshot = saved(tiny_decoder, tokenizer, "x", after_tokens=after_tokens, **options)
        assert snapshot is not None
        num_halves += snapshot.header.num_sent_tokens < len(snapshot.header.answer_ids)
        after = gone_on(tiny_decoder, tokenizer, "x", snapshot, **options)
        assert said([*before[:-1], *after[1:]]) == said(whole.events)
        assert "\ufffd" not in said(after)["text"]
    assert num_halves > 0


def test_only_what_is_computed_in_whole_tiles_of_a_prompt_is_kept(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    # Taken before its first step: nothing is computed. Then all of the prompt is, and all but the answer's last token.
    _, at_once = saved(tiny_decoder, tokenizer, LONG, after_tokens=-1)
    _, later = saved(tiny_decoder, tokenizer, LONG, after_tokens=3)
    assert at_once is not None
    assert later is not None
    assert at_once.header.keys_values.kind == "recomputed"
    assert later.keys_values.shape[1] == len(later.header.prompt_ids) + len(later.header.answer_ids) - 1


def with_header(snapshot: Snapshot, **changes: Any) -> Snapshot:
    header = snapshot.header.model_copy(update=changes)
    return Snapshot(header=header, keys_values=snapshot.keys_values)


def test_parts_that_contradict_each_other_are_noticed_before_anything_runs(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    _, good = saved(tiny_decoder, tokenizer, LONG, after_tokens=4)
    assert good is not None
    header = good.header
    contradictions: list[dict[str, Any]] = [
        {"prompt_ids": []},
        {"answer_ids": [*header.answer_ids[:-1], tokenizer.vocabulary_size]},
        {"owed_forced_ids": [tokenizer.vocabulary_size]},
        {"answer_ids": header.answer_ids[:-1]},
        {"num_sent_tokens": len(header.answer_ids) + 1},
        {"num_sent_characters": header.num_sent_characters + 1},
        {"forced_places": [len(header.answer_ids)]},
    ]
    for changes in contradictions:
        prompt = LONG if "prompt_ids" not in changes else ""
        with pytest.raises(RefusedRequestError) as caught:
            restored(tiny_decoder, tokenizer, Collector(), prompt, with_header(good, **changes))
        assert caught.value.fault.code == "snapshot_damaged"


def test_an_answer_of_another_grammar_is_noticed(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    _, snapshot = saved(tiny_decoder, tokenizer, LONG, after_tokens=4, grammar=OBJECT, max_tokens=60)
    assert snapshot is not None
    with pytest.raises(RefusedRequestError) as caught:
        restored(tiny_decoder, tokenizer, Collector(), LONG, snapshot, grammar=LIST, max_tokens=60)
    assert caught.value.fault.code == "snapshot_artifact_mismatch"


def test_keys_and_values_come_back_bit_by_bit(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    _, first = saved(tiny_decoder, tokenizer, LONG, after_tokens=3)
    assert first is not None
    _, again = saved(tiny_decoder, tokenizer, LONG, after_tokens=2, going_on=first)
    assert again is not None
    num_tokens = first.keys_values.shape[1]
    assert again.keys_values.shape[1] > num_tokens
    assert torch.equal(again.keys_values[:, :num_tokens], first.keys_values)
