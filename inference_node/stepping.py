"""One step: compute a slice of each sequence that is ready, and pick tokens for each whose masks are there.

Where the device works while the host does (`ModelRunner.looks_ahead`), the pass over the picked tokens is launched
before the host has read them. Grammars take their tokens first, so that the next masks can begin; texts, events and
counts are seen to while masks are filled and the pass runs, and what is forced shows in the mask. A token that turns
out to end its sequence, or to force others, has cost a row.
"""

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from itertools import accumulate
from threading import Condition
from time import perf_counter
from typing import Final, NamedTuple

import structlog
import torch

from inference_node.drafting.source import DraftSource
from inference_node.ending import Ending
from inference_node.leaving import Leaving
from inference_node.look_ahead import Ahead, going_on
from inference_node.mask_filler import MaskFiller
from inference_node.masking import Masking, by_lexer, ending_by_mask, needs_repair
from inference_node.metrics import NodeMetrics
from inference_node.model_runner import ModelRunner
from inference_node.running import Computed, Running, keep_rows
from inference_node.seating import Seating
from inference_node.slices import Slice
from inference_node.step_drafts import StepDrafts
from inference_node.step_plan import StepLimits, plan_step
from inference_node.step_sampler import Pick, Picked, PicksInFlight, StepSampler
from inference_node.taking import PickedFrom, pick_from, picks_of, take_picked

_log = structlog.get_logger(__name__)

_MASKS_AT_ONCE: Final = 16
"""While the host takes the tokens of so many sequences, the masks of those before are filled."""

_MASK_PATIENCE_SECONDS: Final = 0.003
"""How long a step waits, after its forward pass, for masks that are nearly ready: a good part of a step costs more."""


class _Untold(NamedTuple):
    """One for whom something was picked."""

    running: Running
    source: PickedFrom
    picked: Sequence[Picked]
    ahead: Ahead | None


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
        self._masks = Masking(masks, changed)
        self._sampler = sampler
        self._limits = limits
        self._metrics = metrics
        self._changed = changed
        self._drafts = None if drafts is None else StepDrafts(drafts, is_free=self._masks.is_free, limits=limits)
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
            return self._masks.is_free(running)
        return running.computed is None or (running.is_mask_settled and self._masks.is_free(running))

    @torch.inference_mode()
    def step(self) -> None:
        """Admit, catch up, make room, compute, pick."""
        self._num_steps += 1
        started = perf_counter()
        for running in self._seating.admit(step=self._num_steps):
            self._guarded(running, partial(self._begin, running))
        self._catch_up()
        self._seating.make_room()
        if self._drafts is not None:
            self._drafts.propose(self._seating.running)
        # Where the device works while the host does, what was computed is picked from first, and all else is computed
        # in one pass with what follows from it.
        ready = self._ready() if self._runner.looks_ahead else []
        planned = plan_step(
            self._seating.running,
            self._limits,
            max_rows=self._limits.max_rows - len(ready),
            has_room=self._seating.has_room,
        )
        if planned and not ready:
            self._compute(planned)
        if not self._runner.looks_ahead:
            ready = self._ready()
        num_rows = sum(len(part.token_ids) for _, part in planned)
        if ready:
            num_rows += self._pick_tokens(ready, planned if self._runner.looks_ahead else [])
        if self._served:
            with self._changed:
                for partition, rows in self._served.items():
                    self._seating.queue.charge(partition, rows)
            self._served.clear()
        if num_rows:
            self._metrics.step(seconds=perf_counter() - started, num_rows=num_rows)

    def _begin(self, running: Running) -> None:
        self._seating.bring_in(running)
        running.sequence.begin()

    def _catch_up(self) -> None:
        """Bring on the sequences whose matcher broke: repair them beside the loop, then take what they owe."""
        for running in list(self._seating.running):
            if running.repair is not None or running.sequence.is_behind or needs_repair(running):
                self._guarded(running, partial(self._catch_up_one, running))
        self._masks.start([running for running in self._seating.running if running.computed is not None])

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
        if not self._masks.is_free(running):
            return None
        ending = sequence.resume()
        if ending is None and running.computed is not None and running.computed.position + 1 < len(sequence.token_ids):
            running.computed = None  # from before tokens that turned out to be forced
        return ending

    def _compute(self, planned: Sequence[tuple[Running, Slice]]) -> None:
        """One pass over tokens that the host knows. Masks are filled meanwhile."""
        self._masks.start([running for running, part in planned if part.num_logits])
        logits = self._launched(planned, None)
        if logits is not None:
            self._note_computed(planned, logits, first_row=0)

    def _launched(
        self, planned: Sequence[tuple[Running, Slice]], ahead: torch.Tensor | None, done_with: Container[Running] = ()
    ) -> torch.Tensor | None:
        """The logits of a pass, the first slices' tokens from the device; None: it failed, and they are over."""
        self._keep_logits(done_with)
        for running, _ in planned:
            running.last_step = self._num_steps
        try:
            return self._runner.forward([part for _, part in planned], ahead)
        except Exception:
            _log.exception("forward_failed", num_sequences=len(planned))
            for running, _ in planned:
                self.leave(running, Ending(cause="engine_failed", message="the forward pass failed"))
            return None

    def _note_computed(self, planned: Sequence[tuple[Running, Slice]], logits: torch.Tensor, *, first_row: int) -> None:
        row = first_row
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

    def _ready(self) -> list[Running]:
        """Those whose tokens can be picked now, after waiting a little for masks that are nearly there."""
        deadline = perf_counter() + _MASK_PATIENCE_SECONDS
        computed = [
            running
            for running in self._seating.running
            if running.computed is not None and not running.sequence.is_behind and running.repair is None
        ]
        ready = [running for running in computed if self._masks.is_ready(running, deadline)]
        ready = [running for running in ready if self._guarded(running, partial(ending_by_mask, running))]
        return [running for running in ready if not running.sequence.is_behind and running.computed is not None]

    def _pick_tokens(self, ready: Sequence[Running], planned: Sequence[tuple[Running, Slice]]) -> int:
        """Pick for all of them; how many rows were computed ahead meanwhile, beside those that were planned."""
        picks = [picks_of(running) for running in ready]
        try:
            in_flight = self._sampler.sample([pick for of_one in picks for pick in of_one])
        except Exception:
            _log.exception("sampling_failed", num_sequences=len(ready))
            for running in ready:
                self.leave(running, Ending(cause="engine_failed", message="no token could be picked"))
            return 0
        ahead: Mapping[Running, Ahead] = {}
        if self._runner.looks_ahead:
            ahead = self._launch_ahead(ready, picks, in_flight, planned)
        picked = in_flight.wait()
        firsts = list(accumulate((len(of_one) for of_one in picks), initial=0))
        untold: list[_Untold] = []
        waiting: list[Running] = []
        for index, siblings in by_lexer(ready):
            running = ready[index]
            if not running.is_over:  # as it is where the pass over its token failed
                one = _Untold(
                    running, pick_from(running), picked[firsts[index] : firsts[index + 1]], ahead.get(running)
                )
                if self._moves_on(one):
                    untold.append(one)
                else:
                    self._tell(one)
            # Not before the last of those on one lexer: a token would wait for a sibling's mask, and all with it.
            if siblings is not None:
                waiting += [sibling for sibling in siblings if sibling.computed is not None]
            if len(waiting) >= _MASKS_AT_ONCE:
                self._masks.start(waiting)
                waiting = []
        self._masks.start([*waiting, *(running for running, part in planned if part.num_logits)])
        # While masks are filled: what they do not wait for.
        for one in untold:
            self._tell(one)
        return len(ahead)

    def _moves_on(self, one: "_Untold") -> bool:
        """Whether nothing of the grammar engine's is left to be done about its token, the mask after it apart."""
        if one.running.sequence.request.matcher is None:
            return True
        if one.ahead is not None:
            self._guarded(one.running, partial(self._move_on, one, one.ahead))
        return one.running.sequence.has_moved

    def _move_on(self, one: "_Untold", ahead: Ahead) -> None:
        token_id = one.picked[0].token_id
        if token_id >= 0 and one.running.sequence.move_on(token_id):
            self._computed(one.running, ahead.part, ahead.logits, ahead.row)

    def _tell(self, one: "_Untold") -> None:
        """Take its tokens, and with them the row that was computed ahead, where that was over the right one."""
        running = one.running
        had_moved = running.sequence.has_moved
        goes_on = not running.is_over and self._guarded(running, partial(self._take, one))
        if goes_on and one.ahead is not None and not had_moved:
            self._settle_ahead(running, one.ahead, one.picked[0].token_id)

    def _take(self, one: "_Untold") -> Ending | None:
        taken = take_picked(one.running, one.picked, one.source)
        if self._drafts is not None and taken.num_drafted:
            self._drafts.observe(one.running, taken)
        return taken.ending

    def _launch_ahead(
        self,
        ready: Sequence[Running],
        picks: Sequence[Sequence[Pick]],
        in_flight: PicksInFlight,
        planned: Sequence[tuple[Running, Slice]],
    ) -> Mapping[Running, Ahead]:
        """A pass over tokens that only the device knows yet, for those who will most likely go on with them, and over
        what is planned for others."""
        chosen = going_on(ready, picks, has_drafts=self._drafts is not None, has_room=self._seating.has_room)
        if not chosen and not planned:
            return {}
        token_ids = in_flight.token_ids
        if len(chosen) < len(token_ids):
            indices = torch.tensor([one.pick for one in chosen], dtype=torch.int64, device=token_ids.device)
            token_ids = token_ids[indices]
        # Where nothing could be picked the sequence ends; the row is computed for some id that exists.
        logits = self._launched(
            [*((one.running, one.part) for one in chosen), *planned],
            token_ids.clamp_min(0) if chosen else None,
            done_with={running for running in ready if running.sequence.request.num_top_logprobs is None},
        )
        if logits is None:
            return {}
        self._note_computed(planned, logits, first_row=len(chosen))
        return {one.running: Ahead(one.part, logits, row) for row, one in enumerate(chosen)}

    def _settle_ahead(self, running: Running, ahead: Ahead, token_id: int) -> None:
        """Its token has been taken: the pass over it was the right one, if it was, and its logits are the next."""
        taken = running.sequence.token_ids[ahead.part.start :]
        # Where a thought ended within the token, another stands in its place.
        if taken[:1] == [token_id]:
            self._computed(running, ahead.part, ahead.logits, ahead.row)
        if len(taken) > 1:
            running.computed = None  # others are forced after it

    def _keep_logits(self, done_with: Container[Running]) -> None:
        """Copy what somebody still needs of logits that the next pass may overwrite, those of one pass together."""
        if not self._runner.reuses_logits:
            return
        needed = [
            running
            for running in self._seating.running
            if running.computed is not None and not running.computed.is_kept and running not in done_with
        ]
        by_pass: dict[int, list[Running]] = {}
        for running in needed:
            by_pass.setdefault(id(running.computed and running.computed.logits), []).append(running)
        for owners in by_pass.values():
            keep_rows(owners)

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
        running.is_over = True
        if self._drafts is not None:
            self._drafts.forget(running)
        self._leaving.leave(running, ending)
