"""One step: compute a slice of each sequence that is ready, and pick tokens for each whose masks are there.

Where the device works while the host does (`ModelRunner.looks_ahead`), the pass over the picked tokens is launched
before the host has read them: grammars, texts and events are seen to while it runs. A token that turns out to end its
sequence, or to force others, has cost a row.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from threading import Condition
from time import perf_counter
from typing import Final

import structlog
import torch

from inference_node.drafting.source import DraftSource
from inference_node.ending import Ending
from inference_node.leaving import Leaving
from inference_node.mask_filler import MaskFill, MaskFiller
from inference_node.metrics import NodeMetrics
from inference_node.model_runner import ModelRunner
from inference_node.running import Computed, Running
from inference_node.seating import Seating
from inference_node.slices import Slice
from inference_node.step_drafts import StepDrafts
from inference_node.step_plan import StepLimits, plan_step
from inference_node.step_sampler import Pick, Picked, PicksInFlight, StepSampler
from inference_node.taking import picks_of, take_picked

_log = structlog.get_logger(__name__)

_MASK_PATIENCE_SECONDS: Final = 0.003
"""How long a step waits, after its forward pass, for masks that are nearly ready: a good part of a step costs more."""


class Stepping:
    """Used from the step loop's thread. What breaks in one sequence ends it alone; a pass that fails ends its own."""

    def __init__(
        self,
        *,
        runner: ModelRunner,
        seating: Seating,
        leaving: Leaving,
        masks: MaskFiller,
        sampler: StepSampler,
        limits: StepLimits,
        metrics: NodeMetrics,
        drafts: DraftSource | None,
        changed: Condition,
    ) -> None:
        self._runner = runner
        self._seating = seating
        self._leaving = leaving
        self._masks = masks
        self._sampler = sampler
        self._limits = limits
        self._metrics = metrics
        self._changed = changed
        self._drafts = None if drafts is None else StepDrafts(drafts, is_free=self.is_free, limits=limits)
        self._num_steps = 0
        self._served: Counter[str] = Counter()
        """Rows that partitions were given in this step."""
        masks.call_when_filled(seating.wake)

    def can_go_on(self, running: Running) -> bool:
        """Whether a step would do something for it."""
        if running.sequence.is_cancelled:
            return True
        if running.repair is not None:
            return running.repair.done()
        if running.sequence.is_behind:
            return self.is_free(running)
        return running.computed is None or (running.is_mask_settled and self.is_free(running))

    def is_free(self, running: Running) -> bool:
        """Whether its matcher can be used without waiting for a sibling's mask on the same lexer."""
        matcher = running.sequence.matcher
        return matcher is None or matcher.is_broken or not matcher.is_standing or self._masks.is_quiet(matcher)

    @torch.inference_mode()
    def step(self) -> None:
        """Admit, catch up, make room, compute, pick."""
        self._num_steps += 1
        started = perf_counter()
        for running in self._seating.admit(step=self._num_steps):
            running.sequence.begin()
        self._catch_up()
        self._seating.make_room()
        if self._drafts is not None:
            self._drafts.propose(self._seating.running)
        planned = plan_step(self._seating.running, self._limits, has_room=self._seating.has_room)
        if planned:
            self._compute(planned)
        num_rows = sum(len(part.token_ids) for _, part in planned) + self._pick_tokens()
        if self._served:
            with self._changed:
                for partition, rows in self._served.items():
                    self._seating.queue.charge(partition, rows)
            self._served.clear()
        if num_rows:
            self._metrics.step(seconds=perf_counter() - started, num_rows=num_rows)

    def _catch_up(self) -> None:
        """Bring on the sequences whose matcher broke: repair them beside the loop, then take what they owe."""
        for running in list(self._seating.running):
            if running.repair is not None or running.sequence.is_behind or _needs_repair(running):
                self._guarded(running, partial(self._catch_up_one, running))
        self._start_masks([running for running in self._seating.running if running.computed is not None])

    def _catch_up_one(self, running: Running) -> Ending | None:
        sequence, matcher = running.sequence, running.sequence.matcher
        if running.repair is not None:
            if not running.repair.done():
                return None
            running.repair.result()
            running.repair = None
        if not running.is_mask_settled:
            return None
        if matcher is not None and matcher.is_broken and matcher.is_standing:
            running.fill = None
            running.repair = self._masks.run(matcher.repair)
            running.repair.add_done_callback(self._seating.wake)
            return None
        if not self.is_free(running):
            return None
        ending = sequence.resume()
        if ending is None and running.computed is not None and running.computed.position + 1 < len(sequence.token_ids):
            running.computed = None  # from before tokens that turned out to be forced
        return ending

    def _start_masks(self, wanted: Sequence[Running]) -> None:
        """Have masks filled for those who have none yet and can use their matcher."""
        fills: list[MaskFill] = []
        for running in wanted:
            matcher = running.sequence.matcher
            if (
                matcher is None or running.fill is not None or running.repair is not None
                or running.sequence.is_behind or matcher.is_broken or not matcher.is_standing
            ):  # fmt: skip
                continue
            running.fill = MaskFill(
                matcher=matcher, rows=running.mask_rows[: 1 + len(running.drafts)], drafts=running.drafts
            )
            fills.append(running.fill)
        if fills:
            self._masks.start(fills)

    def _compute(self, planned: list[tuple[Running, Slice]]) -> None:
        self._start_masks([running for running, part in planned if part.num_logits])
        self._keep_logits(())
        for running, _ in planned:
            running.last_step = self._num_steps
        try:
            logits = self._runner.forward([part for _, part in planned])
        except Exception:
            _log.exception("forward_failed", num_sequences=len(planned))
            for running, _ in planned:
                self.leave(running, Ending(cause="engine_failed", message="the forward pass failed"))
            return
        row = 0
        for running, part in planned:
            self._computed(running, part, logits, row)
            row += part.num_logits

    def _computed(self, running: Running, part: Slice, logits: torch.Tensor, row: int) -> None:
        sequence = running.sequence
        num_drafts = max(0, part.num_logits - 1)
        sequence.num_computed = part.end - num_drafts
        if part.start < len(sequence.request.prompt_ids):
            self._seating.publish(running)
        self._served[sequence.request.partition] += len(part.token_ids)
        if part.num_logits:
            position = part.end - 1 - num_drafts
            running.computed = Computed(logits=logits, row=row, position=position, drafts=running.drafts)

    def _pick_tokens(self) -> int:
        """Pick for all whose masks are there; how many rows were computed ahead meanwhile."""
        deadline = perf_counter() + _MASK_PATIENCE_SECONDS
        computed = [
            running
            for running in self._seating.running
            if running.computed is not None and not running.sequence.is_behind and running.repair is None
        ]
        ready = [running for running in computed if self._is_mask_ready(running, deadline)]
        ready = [running for running in ready if self._guarded(running, partial(_ending_by_mask, running))]
        ready = [running for running in ready if not running.sequence.is_behind]
        if not ready:
            return 0
        picks = [picks_of(running) for running in ready]
        in_flight = self._sampler.sample([pick for of_one in picks for pick in of_one])
        ahead = self._launch_ahead(ready, picks, in_flight) if self._runner.looks_ahead else []
        picked = iter(in_flight.wait())
        launched: dict[int, int] = {}
        for running, of_one in zip(ready, picks, strict=True):
            mine = [next(picked) for _ in of_one]
            launched[id(running)] = mine[0].token_id
            self._guarded(running, partial(self._take, running, mine))
        for running, part, logits, row in ahead:
            # Where a thought ended within a token, another stands in its place: the pass was over the wrong one.
            took = running.sequence.token_ids[part.start : part.end]
            if running in self._seating.running and took == [launched[id(running)]]:
                self._computed(running, part, logits, row)
                if len(running.sequence.token_ids) > part.end:
                    running.computed = None  # others are forced after it
        self._start_masks([running for running in self._seating.running if running.computed is not None])
        return len(ahead)

    def _take(self, running: Running, picked: Sequence[Picked]) -> Ending | None:
        taken = take_picked(running, picked)
        if self._drafts is not None and taken.num_drafted:
            self._drafts.observe(running, taken)
        return taken.ending

    def _is_mask_ready(self, running: Running, deadline: float) -> bool:
        def is_ready() -> bool:
            return running.is_mask_settled and self.is_free(running)

        if is_ready():
            return True
        with self._changed:
            return self._changed.wait_for(is_ready, timeout=max(0.0, deadline - perf_counter()))

    def _launch_ahead(
        self, ready: Sequence[Running], picks: Sequence[Sequence[Pick]], in_flight: PicksInFlight
    ) -> list[tuple[Running, Slice, torch.Tensor, int]]:
        """The pass over tokens that only the device knows yet, for those who will most likely go on with them."""
        going_on: list[tuple[Running, Slice]] = []
        indices: list[int] = []
        index = 0
        for running, of_one in zip(ready, picks, strict=True):
            sequence = running.sequence
            start = len(sequence.token_ids)
            if (
                len(of_one) == 1 and sequence.num_left > 1 and not (self._drafts and sequence.request.may_draft)
                and self._seating.has_room(running, start + 1)
            ):  # fmt: skip
                part = Slice(
                    blocks=running.table.blocks,
                    start=start,
                    token_ids=(0,),
                    num_prompt_tokens=len(sequence.request.prompt_ids),
                    num_logits=1,
                    adapter=sequence.request.adapter.slot,
                )
                going_on.append((running, part))
                indices.append(index)
            index += len(of_one)
        if not going_on:
            return []
        self._keep_logits([running for running in ready if running.sequence.request.num_top_logprobs is None])
        token_ids = in_flight.token_ids
        if len(indices) < len(token_ids):
            token_ids = token_ids[torch.tensor(indices, device=token_ids.device)]
        # Where nothing could be picked the sequence ends; the row is computed for some id that exists.
        logits = self._runner.forward([part for _, part in going_on], ahead=token_ids.clamp_min(0))
        return [(running, part, logits, row) for row, (running, part) in enumerate(going_on)]

    def _keep_logits(self, done_with: Sequence[Running]) -> None:
        """Copy what somebody still needs of logits that the next pass may overwrite."""
        if not self._runner.reuses_logits:
            return
        for running in self._seating.running:
            computed = running.computed
            if computed is not None and running not in done_with:
                running.computed = computed.kept()

    def _guarded(self, running: Running, action: Callable[[], Ending | None]) -> bool:
        """Run one sequence's own part: what breaks in it ends it alone. Whether the sequence goes on."""
        try:
            ending = action()
        except Exception:
            _log.exception("sequence_failed", request_id=running.sequence.request.request_id)
            ending = Ending(cause="engine_failed", message="the sequence could not go on")
        if ending is not None:
            self.leave(running, ending)
        return ending is None

    def leave(self, running: Running, ending: Ending) -> None:
        """It is over."""
        if self._drafts is not None:
            self._drafts.forget(running)
        self._leaving.leave(running, ending)


def _needs_repair(running: Running) -> bool:
    matcher = running.sequence.matcher
    return matcher is not None and matcher.is_broken and matcher.is_standing


def _ending_by_mask(running: Running) -> Ending | None:
    """Look at what the fill found: whether the matcher still stands."""
    if running.fill is not None:
        running.sequence.mask_seconds += running.fill.done.result().seconds
    ending = running.sequence.ending_by_mask()
    if running.sequence.is_behind:
        running.fill = None  # to be filled again once the matcher is repaired
    return ending
