"""Equal requests give equal tokens, whatever happens around them: `tests/benchmarks/determinism.py` in small."""

from typing import Any

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.drafting.prompt_lookup import PromptLookup
from inference_node.protocol import Finish, GenerateEvent
from tests.inference_node.loop_worlds import LIST, OBJECT, WORDS, run
from tests.inference_node.snapshots.saving_worlds import gone_on, saved
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

STORY = "Once upon a time there was a lighthouse on a rock, and nobody knew who had built it. "
REQUESTS: list[dict[str, Any]] = [
    {"prompt": STORY, "temperature": 1.0, "seed": 1, "max_tokens": 24},
    {"prompt": STORY * 3, "grammar": OBJECT, "temperature": 1.0, "seed": 2, "max_tokens": 40},
    {"prompt": "1, 2, 3, 4, 1, 2, 3, 4, 1, 2", "grammar": LIST},
    {"prompt": STORY * 2 + "So:", "grammar": WORDS, "temperature": 0.9, "top_p": 0.9, "top_k": 60, "seed": 4},
    {"prompt": "x", "damping": 1.0, "max_tokens": 24},
    {"prompt": STORY * 4, "temperature": 1.3, "seed": 6, "max_tokens": 24},
]
VARIATIONS: dict[str, dict[str, Any]] = {
    "two at a time": {"max_sequences": 2},
    "six at a time": {"max_sequences": 6},
    "chunks of 16": {"chunk_tokens": 16},
    "chunks of 32, narrow steps": {"chunk_tokens": 32, "max_rows": 32},
    "chunks of 128": {"chunk_tokens": 128},
    "few blocks": {"num_blocks": 12},
    "one thread for masks": {"num_mask_threads": 1},
    "four threads for masks": {"num_mask_threads": 4},
    "drafts": {"drafts": True},
}


@pytest.fixture(scope="module")
def reference(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> list[Collector]:
    """Each request alone, on a cache that nobody has used."""
    return [run(tiny_decoder, tokenizer, **request)[0] for request in REQUESTS]


def said(collector: Collector) -> tuple[list[int], str, str, int]:
    finish = collector.finish()
    return collector.token_ids, collector.text, finish.stop_cause, finish.usage.forced_tokens


@pytest.mark.parametrize("name", VARIATIONS)
def test_tokens_do_not_depend_on(
    name: str, reference: list[Collector], tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    options = dict(VARIATIONS[name])
    if options.pop("drafts", False):
        options["drafts"] = PromptLookup(row_cost=0.0)
    num_blocks = options.get("num_blocks", 256)
    collectors = [Collector() for _ in REQUESTS]
    with running_loop(on_cpu(tiny_decoder, num_blocks=num_blocks), tokenizer, **options) as loop:
        for collector, request in zip(collectors, REQUESTS, strict=True):
            loop.submit(new_sequence(tokenizer, collector, **request))
        finishes = [collector.finish() for collector in collectors]
    assert [said(collector) for collector in collectors] == [said(collector) for collector in reference]
    if name == "few blocks":
        assert sum(finish.decoding.num_preemptions for finish in finishes) > 0
    if name == "drafts":
        assert sum(finish.decoding.drafted_tokens for finish in finishes) > 0


@pytest.mark.parametrize("kind", ["included", "recomputed"])
def test_tokens_do_not_depend_on_being_saved(
    kind: str, reference: list[Collector], tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    num_saved = 0
    for number, request in enumerate(REQUESTS):
        options = {name: value for name, value in request.items() if name != "prompt"}
        events, snapshot = saved(
            tiny_decoder, tokenizer, request["prompt"], after_tokens=3, keeps=kind == "included", **options
        )
        if snapshot is not None:
            num_saved += 1
            after = gone_on(tiny_decoder, tokenizer, request["prompt"], snapshot, **options)
            events = [*events[:-1], *after[1:]]
        assert said(Collector(events=events)) == said(reference[number])
    assert num_saved >= 4


def test_what_differs_is_seen(tiny_decoder: Decoder, tokenizer: BoundTokenizer, reference: list[Collector]) -> None:
    other, _ = run(tiny_decoder, tokenizer, **(REQUESTS[0] | {"seed": 2}))
    events: list[GenerateEvent] = other.events
    assert isinstance(events[-1], Finish)
    assert said(other) != said(reference[0])
