"""Sequences that are taken out of a running loop as soon as they have sent so many tokens, and go on in another."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.decoder import Decoder
from inference_node.ending import Ending
from inference_node.grammar import Prototype
from inference_node.model_runner import ModelRunner
from inference_node.protocol import GenerateEvent, Sampling
from inference_node.sequence import DecodingSequence
from inference_node.slices import Slice
from inference_node.snapshots.blob import Snapshot, opened, sealed
from inference_node.snapshots.protocol import SavedModel, SavedRequest
from inference_node.snapshots.restoring import replay, restored_state
from inference_node.snapshots.saving import num_kept, snapshot_of
from inference_node.step_loop import StepLoop
from policy.limits import TENANT
from tests.inference_node.service_worlds import RING
from tests.inference_node.worlds import Collector, new_sequence, on_cpu, running_loop

MAX_BYTES = 1 << 26
MODEL = SavedModel(
    name="tiny",
    model_digest="m",
    dtype="float32",
    tokenizer_digest="t",
    chat_template_digest="c",
    engine_version="1",
    device="cpu",
)
ASKED = SavedRequest(
    request_id="test",
    artifact_key=None,
    sampling=Sampling(seed=0),
    max_tokens=None,
    stop=[],
    top_logprobs=None,
    partition="",
    adapter=None,
    reasoning=None,
    drafts=True,
)


@dataclass(slots=True, kw_only=True)
class Watched:
    """A model whose only sequence is taken out after the first step that begins with so many tokens of its answer."""

    runner: ModelRunner
    after_tokens: int
    keeps: bool
    looks_ahead: bool = False
    reuses_logits: bool = False
    loop: StepLoop | None = None
    sequence: DecodingSequence | None = None
    taken: "Future[torch.Tensor] | None" = None

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        assert self.sequence is not None
        if self.sequence.num_completion_tokens >= self.after_tokens and self.taken is None:
            self.take_out()
        return self.runner.forward(slices, ahead)

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        return self.runner.read_keys_values(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        self.runner.write_keys_values(blocks, keys_values)

    def take_out(self) -> None:
        """Only asked for here: it is done between this step and the next."""
        assert self.loop is not None
        self.taken = self.loop.between_steps(self._take)

    def _take(self) -> torch.Tensor:
        assert self.loop is not None
        assert self.sequence is not None
        running = self.loop.find("test")
        assert running is not None, "it is over"
        num_tokens = num_kept(self.sequence) if self.keeps else 0
        kept = torch.empty((0, 0, 0))
        if num_tokens:
            kept = self.read_keys_values(running.table.blocks, num_tokens)
        self.loop.end(running, Ending(cause="saved"))
        return kept


def saved(
    decoder: Decoder,
    tokenizer: BoundTokenizer,
    prompt: str,
    *,
    after_tokens: int,
    keeps: bool = True,
    going_on: Snapshot | None = None,
    **options: Any,
) -> tuple[list[GenerateEvent], Snapshot | None]:
    """One sequence until it is taken out, before its first step where `after_tokens` is negative: its events, and what
    was kept. None: it was over before."""
    collector = Collector()
    runner = Watched(runner=on_cpu(decoder), after_tokens=after_tokens, keeps=keeps)
    with running_loop(runner, tokenizer) as loop:
        sequence = (
            new_sequence(tokenizer, collector, prompt, **options)
            if going_on is None
            else restored(decoder, tokenizer, collector, prompt, going_on, **options)
        )
        runner.loop, runner.sequence = loop, sequence

        def submit() -> None:
            loop.submit(sequence)
            if after_tokens < 0:
                runner.take_out()

        loop.between_steps(submit)
        if collector.finish().stop_cause != "saved":
            return collector.events, None
        assert runner.taken is not None
        kept = runner.taken.result()
    data = sealed(snapshot_of(sequence, kept, ASKED, MODEL), RING, max_bytes=MAX_BYTES)
    return collector.events, opened(data, RING, max_bytes=MAX_BYTES)


def restored(
    decoder: Decoder,
    tokenizer: BoundTokenizer,
    collector: Collector,
    prompt: str,
    snapshot: Snapshot,
    **options: Any,
) -> DecodingSequence:
    """The sequence of a snapshot, as the same options would have made it."""
    grammar = options.pop("grammar", None)
    fresh = new_sequence(tokenizer, collector, prompt, **options)
    assert list(fresh.request.prompt_ids) == snapshot.header.prompt_ids
    state = restored_state(snapshot, decoder.config, vocabulary_size=tokenizer.vocabulary_size)
    matcher = None if grammar is None else Prototype.build(tokenizer, grammar, TENANT.engine).matcher()
    request = replace(fresh.request, restored=state, matcher=matcher)
    sequence = DecodingSequence(request, tokenizer, collector, context_tokens=512)
    replay(sequence, snapshot.header)
    return sequence


def gone_on(
    decoder: Decoder, tokenizer: BoundTokenizer, prompt: str, snapshot: Snapshot, **options: Any
) -> list[GenerateEvent]:
    """The events of a sequence that goes on where it stood, on a cache that has never seen it."""
    collector = Collector()
    with running_loop(on_cpu(decoder), tokenizer) as loop:
        loop.submit(restored(decoder, tokenizer, collector, prompt, snapshot, **options))
        collector.finish()
    return collector.events
