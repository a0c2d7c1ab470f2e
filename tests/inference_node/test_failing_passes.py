"""What goes wrong around a pass ends whom it concerns, once, and the loop goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Event

import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.block_pool import BlockTable
from inference_node.decoder import Decoder
from inference_node.mask_filler import MaskFill, MaskFiller
from inference_node.model_runner import ModelRunner
from inference_node.protocol import Finish, GenerateEvent, TokenEvent
from inference_node.reasoning.span import ReasoningSpan
from inference_node.running import Running
from inference_node.sequence import DecodingSequence
from inference_node.slices import Slice
from inference_node.snapshots.restored_state import KeptKeysValues, RestoredState, SavedCounters
from inference_node.step_plan import StepLimits, plan_step
from tests.inference_node.loop_worlds import LIST, OBJECT, run
from tests.inference_node.reasoning.worlds import markers
from tests.inference_node.worlds import Collector, eventually, new_sequence, on_cpu, running_loop


@dataclass(slots=True)
class Failing:
    """A runner of which one call fails: the pass of a number, counted from 1, or every write of keys and values."""

    inner: ModelRunner
    fails_at: int = 0
    looks_ahead: bool = True
    reuses_logits: bool = False
    num_passes: int = 0
    num_ahead_failed: int = 0

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        self.num_passes += 1
        if self.num_passes == self.fails_at:
            self.num_ahead_failed += ahead is not None
            raise RuntimeError("out of memory")
        known = [] if ahead is None else ahead.tolist()
        ours = [replace(part, token_ids=[one]) for part, one in zip(slices, known, strict=False)]
        return self.inner.forward([*ours, *slices[len(ours) :]])

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        return self.inner.read_keys_values(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        raise RuntimeError("out of memory")


@dataclass(slots=True)
class FailingBeside(Failing):
    """A runner that cannot begin a sequence in the pass over tokens that only the device knows."""

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        if ahead is not None and len(slices) > len(ahead):
            self.fails_at = self.num_passes + 1
        return Failing.forward(self, slices, ahead)


@dataclass(slots=True)
class Chained:
    """A runner whose model says what follows the very token that it was given."""

    follows: Mapping[int, int]
    vocabulary_size: int
    looks_ahead: bool
    reuses_logits: bool = False

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        known = [] if ahead is None else ahead.tolist()
        rows: list[torch.Tensor] = []
        for index, part in enumerate(slices):
            given = [known[index]] if index < len(known) else part.token_ids
            for token_id in given[len(given) - part.num_logits :]:
                row = torch.zeros(self.vocabulary_size)
                row[self.follows.get(token_id, 0)] = 10.0
                rows.append(row)
        return torch.stack(rows) if rows else torch.zeros(0, self.vocabulary_size)

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        raise NotImplementedError

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        raise NotImplementedError


@dataclass(slots=True)
class Refusing(Collector):
    """A sink that raises at everything but the first event."""

    num_refused: int = 0

    def put(self, event: GenerateEvent) -> None:
        if self.events:
            self.num_refused += 1
            raise OSError("nobody is there")
        Collector.put(self, event)


@dataclass(slots=True)
class Slow(Collector):
    """A sink that takes its last event when it is allowed to."""

    is_offered: Event = field(default_factory=Event)
    may_take: Event = field(default_factory=Event)

    def put(self, event: GenerateEvent) -> None:
        if isinstance(event, Finish):
            self.is_offered.set()
            assert self.may_take.wait(60)
        Collector.put(self, event)


@pytest.mark.parametrize("fails_at", [1, 2, 3, 6])
def test_a_pass_that_fails_ends_its_sequences_once_whether_or_not_it_was_ahead(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, fails_at: int
) -> None:
    runner = Failing(on_cpu(tiny_decoder), fails_at=fails_at)
    first, second, later = Collector(), Collector(), Collector()
    with running_loop(runner, tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, first, "Once upon", max_tokens=20))
        loop.submit(new_sequence(tokenizer, second, "A list", grammar=LIST, max_tokens=20))
        ends = [first.finish().stop_cause, second.finish().stop_cause]
        loop.submit(new_sequence(tokenizer, later, "Once upon", max_tokens=5))
        assert later.finish().stop_cause == "max_tokens"
        eventually(lambda: loop.between_steps(loop.pool.counts).result(timeout=10).num_used == 0)
        assert loop.failure is None
    assert "engine_failed" in ends
    assert first.is_well_formed
    assert second.is_well_formed
    assert runner.num_ahead_failed == (fails_at > 1)


def test_a_reader_that_raises_takes_nobody_with_it(tiny_decoder: Decoder, tokenizer: BoundTokenizer) -> None:
    refusing, other = Refusing(), Collector()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, refusing, "Once upon", max_tokens=20))
        loop.submit(new_sequence(tokenizer, other, "Once", max_tokens=20))
        assert other.finish().stop_cause == "max_tokens"
        assert loop.failure is None
        assert loop.between_steps(loop.pool.counts).result(timeout=10).num_used == 0
    assert other.token_ids == run(tiny_decoder, tokenizer, "Once", max_tokens=20)[0].token_ids
    assert refusing.num_refused > 0


def test_keys_and_values_that_cannot_be_written_end_the_sequence_that_brought_them(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector, other = Collector(), Collector()
    state = RestoredState(
        answer_ids=(),
        are_forced=(),
        asks_forced=False,
        owed_forced_ids=(),
        num_sent_tokens=0,
        unsent_logprobs=(),
        counters=SavedCounters(),
        keys_values=KeptKeysValues(torch.zeros(tiny_decoder.config.num_layers, 16, 2 * tiny_decoder.config.kv_size)),
    )
    with running_loop(Failing(on_cpu(tiny_decoder), looks_ahead=False), tokenizer) as loop:
        fresh = new_sequence(tokenizer, collector, "Once upon a time " * 8)
        loop.submit(
            DecodingSequence(replace(fresh.request, restored=state), tokenizer, collector, context_tokens=512)
        )  # fmt: skip
        loop.submit(new_sequence(tokenizer, other, "Once", max_tokens=5))
        assert collector.finish().stop_cause == "engine_failed"
        assert other.finish().stop_cause == "max_tokens"
        assert loop.between_steps(loop.pool.counts).result(timeout=10).num_used == 0


def test_a_loop_is_drained_when_the_last_event_of_all_was_taken(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    collector = Slow()
    with running_loop(on_cpu(tiny_decoder), tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, collector, "Once upon", max_tokens=4))
        assert collector.is_offered.wait(60)
        assert not loop.drain(timeout_seconds=0.05)
        collector.may_take.set()
        assert loop.drain(timeout_seconds=60)
        assert collector.finish().stop_cause == "max_tokens"


@pytest.mark.parametrize("looks_ahead", [False, True])
def test_where_a_thought_ends_within_a_token_the_answer_follows_the_marker(
    tokenizer: BoundTokenizer, *, looks_ahead: bool
) -> None:
    def first(data: bytes) -> int:
        return next(token_id for token_id, text in enumerate(tokenizer.token_bytes) if text == data)

    last = next(
        token_id
        for token_id, text in enumerate(tokenizer.token_bytes)
        if len(text) > 1 and text.startswith(b">") and token_id not in tokenizer.special
    )
    collector = Collector()
    fresh = new_sequence(tokenizer, collector, "So", grammar="start: /[ab]{1,4}/", max_tokens=20)
    chain = [fresh.request.prompt_ids[-1], *tokenizer.encode_exact(b"</think"), last]
    # The model ends its thought with more in the same token. After the marker alone it says `a`, after that token `b`.
    follows = {**dict(pairwise(chain)), first(b">"): first(b"a"), last: first(b"b")}
    span = ReasoningSpan(markers(tokenizer), tokenizer, is_begun=True, budget_tokens=None)
    with running_loop(Chained(follows, tokenizer.vocabulary_size, looks_ahead), tokenizer) as loop:
        loop.submit(DecodingSequence(replace(fresh.request, span=span), tokenizer, collector, context_tokens=512))
        collector.finish()
    answer = [event for event in collector.events if isinstance(event, TokenEvent) and not event.is_thought]
    assert "".join(event.text for event in answer)[:1] == "a"


def test_drafts_without_room_are_left_out_and_their_sequence_is_not(tokenizer: BoundTokenizer) -> None:
    limits = StepLimits(
        max_waiting=1, partition_share=1.0, max_sequences=1, chunk_tokens=16, max_rows=64, max_drafts=4
    )  # fmt: skip
    sequence = new_sequence(tokenizer, Collector(), [5] * 15)
    running = Running(sequence=sequence, table=BlockTable(), mask_rows=[], last_step=0, drafts=(7, 8, 9))
    ((_, part),) = plan_step([running], limits, max_rows=64, has_room=lambda _, num_tokens: num_tokens <= 16)
    assert list(part.token_ids) == [5] * 15
    assert part.num_logits == 1
    assert running.drafts == ()


def test_a_second_contract_is_decoded_beside_one_whose_pass_failed(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer
) -> None:
    runner = Failing(on_cpu(tiny_decoder), fails_at=4)
    failed, after = Collector(), Collector()
    with running_loop(runner, tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, failed, "Once upon", grammar=OBJECT))
        assert failed.finish().stop_cause == "engine_failed"
        loop.submit(new_sequence(tokenizer, after, "Once upon", grammar=OBJECT))
        after.finish()
    assert after.token_ids == run(tiny_decoder, tokenizer, "Once upon", grammar=OBJECT)[0].token_ids


def test_no_mask_is_begun_for_who_went_with_its_pass(
    tiny_decoder: Decoder, tokenizer: BoundTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[MaskFill] = []
    start = MaskFiller.start

    def noted_start(self: MaskFiller, fills: Sequence[MaskFill]) -> None:
        begun.extend(fills)
        start(self, fills)

    monkeypatch.setattr(MaskFiller, "start", noted_start)
    runner = FailingBeside(on_cpu(tiny_decoder))
    first, second = Collector(), Collector()
    with running_loop(runner, tokenizer) as loop:
        loop.submit(new_sequence(tokenizer, first, "Say", max_tokens=400))
        first.wait_for_tokens(2)
        loop.submit(new_sequence(tokenizer, second, "A list", grammar=LIST))
        assert [first.finish().stop_cause, second.finish().stop_cause] == ["engine_failed"] * 2
    assert runner.num_ahead_failed == 1
    assert begun == []
