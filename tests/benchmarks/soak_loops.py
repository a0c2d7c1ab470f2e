"""Two step loops over tiny models, one with drafts and one that computes ahead, and the journeys of requests in them.

Faults come from outside as they would in life: the grammar engine's calls fail or lie, a pass raises, a sink raises,
a reader leaves, a sequence is taken out and goes on in either loop.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.adapters.adapter_bank import AdapterBank
from inference_node.adapters.lease import AdapterLease
from inference_node.block_pool import BlockPool
from inference_node.cpu_runner import CpuRunner
from inference_node.drafting.guarded import GuardedDrafts
from inference_node.drafting.source import DraftWant
from inference_node.ending import Ending
from inference_node.errors import RefusedRequestError
from inference_node.grammar import Prototype
from inference_node.mask_filler import MaskFiller
from inference_node.mask_rows import MaskRows
from inference_node.matcher import GrammarMatcher
from inference_node.metrics import NodeMetrics
from inference_node.protocol import Finish, GenerateEvent, TokenEvent
from inference_node.prototype_shelf import PrototypeShelf
from inference_node.reasoning.span import ReasoningSpan
from inference_node.sequence import DecodingSequence
from inference_node.sequence_request import SequenceRequest
from inference_node.slices import Slice
from inference_node.snapshots.blob import opened, sealed
from inference_node.snapshots.restoring import replay, restored_state
from inference_node.snapshots.saving import num_kept, snapshot_of
from inference_node.step_loop import StepLoop
from inference_node.step_plan import StepLimits
from inference_node.step_sampler import StepSampler
from kernels.bitmask import bitmask_words
from tests.benchmarks.soak_asks import Ask, SoakContract
from tests.benchmarks.soak_judging import Told, Wish
from tests.inference_node.adapters.adapter_worlds import new_adapter, new_bank
from tests.inference_node.faulty_engine import Fault, FaultyCompiler, FaultyParallelFill
from tests.inference_node.model_worlds import load_decoder, new_cache
from tests.inference_node.reasoning.worlds import markers
from tests.inference_node.service_worlds import RING
from tests.inference_node.snapshots.saving_worlds import ASKED, MAX_BYTES, MODEL

CONTEXT_TOKENS: Final = 176
NUM_BLOCKS: Final = 17
"""A context and a half, for eight sequences."""
NUM_ADAPTERS: Final = 2
PARTITIONS: Final = ("", "one", "two", "three")


class SoakError(Exception):
    """A fault that the soak makes."""


@dataclass(slots=True, kw_only=True)
class FailingRunner:
    """A pass raises when told to. Ahead, it is a device that overwrites its logits at the next pass."""

    inner: CpuRunner
    looks_ahead: bool
    is_due: bool = False
    num_failed: int = 0
    _logits: list[torch.Tensor] = field(default_factory=list)

    @property
    def reuses_logits(self) -> bool:
        """As `ModelRunner` says."""
        return self.looks_ahead

    def forward(self, slices: Sequence[Slice], ahead: torch.Tensor | None = None) -> torch.Tensor:
        """As `ModelRunner` says."""
        if self.is_due:
            self.is_due = False
            self.num_failed += 1
            raise SoakError("this pass was to fail")
        for old in self._logits:
            old.fill_(float("nan"))
        if ahead is not None:
            known = [replace(part, token_ids=[one]) for part, one in zip(slices, ahead.tolist(), strict=False)]
            slices = [*known, *slices[len(known) :]]
        logits = self.inner.forward(slices)
        self._logits = [logits] if self.looks_ahead else []
        return logits

    def read_keys_values(self, blocks: Sequence[int], num_tokens: int) -> torch.Tensor:
        """As `ModelRunner` says."""
        return self.inner.read_keys_values(blocks, num_tokens)

    def write_keys_values(self, blocks: Sequence[int], keys_values: torch.Tensor) -> None:
        """As `ModelRunner` says."""
        self.inner.write_keys_values(blocks, keys_values)


@dataclass(slots=True, kw_only=True)
class KnownDrafts:
    """Drafts what was said before, with mistakes."""

    known: Mapping[tuple[tuple[int, ...], int], Sequence[int]]
    draw: random.Random
    name: str = "known"

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        """As `DraftSource` says."""
        drafts = []
        for want in wants:
            known = self.known.get((tuple(want.token_ids[: want.num_prompt_tokens]), want.seed), ())
            due = known[want.place :][: self.draw.randint(0, want.max_drafts)]
            drafts.append([token_id if self.draw.random() < 0.8 else self.draw.randrange(40_000) for token_id in due])
        return drafts

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        """It learns nothing."""

    def forget(self, key: int) -> None:
        """It held nothing."""


@dataclass(slots=True, kw_only=True)
class SoakLoop:
    """A running loop and what belongs to it."""

    loop: StepLoop
    runner: FailingRunner
    rows: MaskRows
    masks: MaskFiller
    bank: AdapterBank
    engine_fault: Fault
    """Of group fills in which a faulty engine takes part."""


@dataclass(slots=True, kw_only=True)
class Fate:
    """What will happen to a request; counts are of tokens that have been sent."""

    cancels_after: int | None = None
    saves_after: int | None = None
    keeps: bool = True
    sink_fails_at: int | None = None
    """The event at which its sink raises, and ever after."""


@dataclass(slots=True, kw_only=True, eq=False)
class Journey:
    """One request from its submission to its last event, also over a restart elsewhere. A sink."""

    ask: Ask
    fate: Fate
    wish: Wish
    told: Told = field(default_factory=Told)
    at: SoakLoop
    sequence: DecodingSequence | None = None
    events: list[GenerateEvent] = field(default_factory=list)
    started_at: float = field(default_factory=time.monotonic)
    num_failed_before: int = 0
    taken: "Future[torch.Tensor | None] | None" = None
    is_over: bool = False

    def put(self, event: GenerateEvent) -> None:
        """On the loop's thread."""
        fails_at = self.fate.sink_fails_at
        is_failing = fails_at is not None and len(self.events) >= fails_at
        if isinstance(event, Finish) or not is_failing:
            self.events.append(event)
            self.told.add(event)
            if isinstance(event, TokenEvent):
                self._meet_fate()
            self.is_over = isinstance(event, Finish)
        if is_failing:
            self.wish.is_broken = True
            raise SoakError("nobody takes this event")

    def _meet_fate(self) -> None:
        assert self.sequence is not None
        count, fate = len(self.told.token_ids), self.fate
        if fate.cancels_after is not None and count >= fate.cancels_after:
            self.wish.is_cancelled = True
            self.at.loop.cancel(self.sequence)
        if fate.saves_after is not None and count >= fate.saves_after and self.taken is None:
            self.wish.is_saved = True
            self.taken = self.at.loop.between_steps(self._take)

    def _take(self) -> "torch.Tensor | None":
        running = self.at.loop.find(str(id(self)))
        if running is None or running.sequence is not self.sequence or running.sequence.is_cancelled:
            return None
        num_tokens = num_kept(running.sequence) if self.fate.keeps else 0
        kept = torch.empty((0, 0, 0))
        if num_tokens:
            kept = self.at.runner.read_keys_values(running.table.blocks, num_tokens)
        self.at.loop.end(running, Ending(cause="saved"))
        return kept


@contextmanager
def soak_loops(
    directory: Path, tokenizer: BoundTokenizer, known: Mapping[tuple[tuple[int, ...], int], Sequence[int]]
) -> Iterator[list[SoakLoop]]:
    """Both of them, stopped at the end. `known`: answers by prompt and seed, to draft from."""
    drafts = KnownDrafts(known=known, draw=random.Random(0))
    made = [_loop(directory, tokenizer, drafts) for drafts in (drafts, None)]
    for one in made:
        one.loop.start()
    try:
        yield made
    finally:
        for one in made:
            assert one.loop.stop(timeout_seconds=60)


def _loop(directory: Path, tokenizer: BoundTokenizer, drafts: KnownDrafts | None) -> SoakLoop:
    decoder = load_decoder(directory)
    bank = new_bank(decoder)
    for seed in range(NUM_ADAPTERS):
        bank.put(*new_adapter(decoder.config, seed=seed))
    decoder.adapters = bank
    inner = CpuRunner(decoder, new_cache(decoder, num_blocks=NUM_BLOCKS))
    runner = FailingRunner(inner=inner, looks_ahead=drafts is None)
    rows = MaskRows(words=bitmask_words(tokenizer.vocabulary_size), device=torch.device("cpu"))
    fault = Fault()
    masks = MaskFiller(rows, num_threads=2, parallel=FaultyParallelFill(fault))
    loop = StepLoop(
        runner=runner,
        pool=BlockPool(NUM_BLOCKS),
        rows=rows,
        masks=masks,
        sampler=StepSampler(tokenizer, rows, torch.device("cpu")),
        limits=StepLimits(
            max_waiting=32, partition_share=1.0, max_sequences=8, chunk_tokens=32, max_rows=64, max_drafts=4
        ),
        metrics=NodeMetrics(),
        drafts=None if drafts is None else GuardedDrafts(drafts, vocabulary_size=tokenizer.vocabulary_size),
    )
    return SoakLoop(
        loop=loop, runner=runner, rows=rows, masks=masks, bank=bank, engine_fault=fault
    )  # fmt: skip


class Travel:
    """Sends requests into the loops, and on where they were taken out."""

    def __init__(
        self,
        loops: Sequence[SoakLoop],
        tokenizer: BoundTokenizer,
        draw: random.Random,
        known: dict[tuple[tuple[int, ...], int], Sequence[int]],
    ) -> None:
        self.known = known
        self._loops = loops
        self._tokenizer = tokenizer
        self._draw = draw
        self._shelves: dict[str, PrototypeShelf] = {}
        self._metrics = NodeMetrics()

    def begin(self, ask: Ask, fate: Fate, fault: Fault | None) -> Journey | None:
        """Queue a request; `fault` strikes its own grammar engine. None: refused, or its sink broke at once."""
        at = self._draw.choice(self._loops)
        wish = Wish(is_faulty=fault is not None and ask.contract is not None)
        journey = Journey(ask=ask, fate=fate, wish=wish, at=at, num_failed_before=at.runner.num_failed)
        matcher = None if ask.contract is None else self._matcher(ask.contract, fault)
        journey.sequence = self._sequence(journey, matcher)
        return self._submitted(journey)

    def go_on(self, journey: Journey) -> Journey | None:
        """One that was taken out, in either loop."""
        assert journey.taken is not None
        assert journey.sequence is not None
        kept = journey.taken.result()
        assert kept is not None
        data = sealed(snapshot_of(journey.sequence, kept, ASKED, MODEL), RING, max_bytes=MAX_BYTES)
        snapshot = opened(data, RING, max_bytes=MAX_BYTES)
        at = self._draw.choice(self._loops)
        wish = replace(journey.wish, is_saved=False)
        again = Journey(ask=journey.ask, fate=Fate(), wish=wish, told=journey.told, at=at,
                        started_at=journey.started_at, num_failed_before=at.runner.num_failed)  # fmt: skip
        state = restored_state(snapshot, at.runner.inner.decoder.config, vocabulary_size=49152)
        contract = journey.ask.contract
        fresh = self._sequence(again, None if contract is None else self._matcher(contract, None))
        again.sequence = DecodingSequence(
            replace(fresh.request, restored=state), self._tokenizer, again, context_tokens=CONTEXT_TOKENS
        )
        try:
            replay(again.sequence, snapshot.header)
        except RefusedRequestError as error:
            if wish.is_faulty or (contract is not None and contract.may_fail):
                again.sequence.request.adapter.release()
                return None
            raise AssertionError(f"a saved sequence is refused: {error.fault}") from error
        return self._submitted(again)

    def _submitted(self, journey: Journey) -> Journey | None:
        assert journey.sequence is not None
        try:
            journey.at.loop.submit(journey.sequence)
        except (RefusedRequestError, SoakError):
            journey.sequence.request.adapter.release()
            return None
        return journey

    def _matcher(self, contract: SoakContract, fault: Fault | None) -> GrammarMatcher:
        if fault is not None:
            compiler = FaultyCompiler(fault)
            return Prototype.build(self._tokenizer, contract.grammar, contract.budget, compiler=compiler).matcher()
        shelf = self._shelves.get(contract.name)
        if shelf is None:
            shelf = self._shelves[contract.name] = PrototypeShelf(
                self._tokenizer, contract.grammar, contract.budget, capacity=2, metrics=self._metrics
            )
        return shelf.matcher()

    def _sequence(self, journey: Journey, matcher: GrammarMatcher | None) -> DecodingSequence:
        ask, draw = journey.ask, self._draw
        span = None
        if ask.thought_tokens is not None:
            budget = None if ask.thought_tokens < 0 else ask.thought_tokens
            span = ReasoningSpan(
                markers(self._tokenizer, lead_in="\n"), self._tokenizer, is_begun=False, budget_tokens=budget
            )
        held = sorted(one.digest for one in journey.at.bank.held())
        lease = AdapterLease() if ask.adapter is None else journey.at.bank.lease(held[ask.adapter])
        request = SequenceRequest(
            request_id=str(id(journey)),
            prompt_ids=ask.prompt_ids,
            choice=ask.choice,
            max_tokens=ask.max_tokens,
            stop_strings=ask.stop,
            matcher=matcher,
            num_top_logprobs=ask.num_top_logprobs,
            partition=draw.choice(PARTITIONS),
            may_draft=draw.random() < 0.8,
            span=span,
            adapter=lease,
        )
        return DecodingSequence(request, self._tokenizer, journey, context_tokens=CONTEXT_TOKENS)
