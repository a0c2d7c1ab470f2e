"""The step loop: one thread that serves several sequences, which join and leave between steps.

A step: drop what was cancelled, admit what waits, compute one slice of each sequence that is ready, pick a token for
each whose mask is ready. Masks are filled on other threads while the forward pass runs; a sequence whose mask takes
longer sits out steps, and the others go on. So does one whose lexer failed, while its matcher is repaired.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Condition, Thread
from time import perf_counter
from typing import Final

import structlog
import torch

from inference_node.decoder import ForwardStep
from inference_node.errors import RefusedRequestError
from inference_node.kv_cache import KvCache
from inference_node.mask_filler import MaskFiller
from inference_node.metrics import NodeMetrics
from inference_node.picking import pick
from inference_node.protocol import NodeFault
from inference_node.sequence import DecodingSequence, Ending
from inference_node.step_batch import Slice
from inference_node.step_plan import Running, StepLimits, plan_step
from kernels.bitmask import apply_bitmask_

_log = structlog.get_logger(__name__)

_MASK_PATIENCE_SECONDS: Final = 0.003
"""How long a step waits, after its forward pass, for masks that are nearly ready: a good part of a step costs more."""

_RETRY_AFTER_SECONDS: Final = 1.0


class StepLoop:
    """Owns the cache's places. `submit` and `cancel` may be called from any thread; all else happens on the loop's."""

    def __init__(
        self, *, forward: ForwardStep, cache: KvCache, masks: MaskFiller, limits: StepLimits, metrics: NodeMetrics
    ) -> None:
        self._forward = forward
        self._cache = cache
        self._masks = masks
        self._limits = limits
        self._metrics = metrics
        self._changed = Condition()
        self._waiting: deque[DecodingSequence] = deque()
        self._running: list[Running] = []
        self._leaving: list[tuple[DecodingSequence, Ending, Future[bool | None]]] = []
        self._held_places: list[tuple[int, Future[float]]] = []
        self._free_places = list(reversed(range(cache.num_places)))
        self._num_steps = 0
        self._is_stopping = False
        self._failure: str | None = None
        self._thread = Thread(target=self._run, name="step-loop", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    @property
    def failure(self) -> str | None:
        """Why the loop no longer runs, if it broke. A broken loop stays broken: the process has to be replaced."""
        if self._failure is None and self._thread.ident is not None and not self._thread.is_alive():
            return "the step loop has stopped"
        return self._failure

    def submit(self, sequence: DecodingSequence) -> None:
        """Queue a sequence and announce it.

        Raises:
            RefusedRequestError: the queue is full, or the loop is stopping or broken.
        """
        with self._changed:
            if self._failure is not None:
                raise RefusedRequestError(NodeFault(code="not_ready", message="the engine has failed"))
            if self._is_stopping:
                raise RefusedRequestError(NodeFault(code="draining", message="this node is shutting down"))
            # Those for whom a place is free wait only for the next step.
            if len(self._waiting) >= self._limits.max_waiting + len(self._free_places):
                fault = NodeFault(
                    code="overloaded",
                    message="all places are taken and the queue is full",
                    limit=self._limits.max_waiting,
                    observed=len(self._waiting),
                )
                raise RefusedRequestError(fault, retry_after_seconds=_RETRY_AFTER_SECONDS)
            sequence.announce()
            self._waiting.append(sequence)
            self._changed.notify()

    def cancel(self, sequence: DecodingSequence) -> None:
        """Its reader is gone: its place is free within one step."""
        sequence.is_cancelled = True
        with self._changed:
            self._changed.notify()

    def stop(self, *, timeout_seconds: float) -> bool:
        """End every sequence as cancelled and the loop with it; whether it ended in time."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        self._masks.close()
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                self._wait_for_work()
                self._step()
            self._end_all(Ending(cause="cancelled", message="this node is shutting down"))
        except BaseException as error:
            # Whatever it was, nobody may wait for a loop that is gone.
            self._failure = f"{type(error).__name__}: {error}"
            _log.exception("step_loop_failed")
            self._end_all(Ending(cause="engine_failed", message="the engine has failed"))

    def _wait_for_work(self) -> None:
        with self._changed:
            while not (self._is_stopping or self._has_work()):
                self._metrics.set_load(waiting=len(self._waiting), running=len(self._running), kv_tokens=0)
                self._changed.wait()

    def _has_work(self) -> bool:
        return (
            any(sequence.is_cancelled for sequence in self._waiting)
            or bool(self._waiting and self._free_places)
            or any(place_mask.done() for _, place_mask in self._held_places)
            or any(verdict.done() for _, _, verdict in self._leaving)
            or any(self._can_go_on(running) for running in self._running)
        )

    def _can_go_on(self, running: Running) -> bool:
        if running.sequence.is_cancelled:
            return True
        if running.repair is not None:
            return running.repair.done()
        if running.sequence.is_behind:
            return self._is_free(running)
        return running.logits is None or (running.is_mask_settled and self._is_free(running))

    def _is_free(self, running: Running) -> bool:
        """Whether its matcher can be used without waiting for a sibling's mask on the same lexer."""
        matcher = running.sequence.matcher
        return matcher is None or matcher.is_broken or not matcher.is_standing or self._masks.is_quiet(matcher)

    @torch.inference_mode()
    def _step(self) -> None:
        self._num_steps += 1
        self._drop_cancelled()
        self._settle_leaving()
        self._admit()
        self._catch_up()
        planned = plan_step(self._running, self._limits)
        if planned:
            self._compute(planned)
        self._pick_tokens()
        with self._changed:
            num_waiting = len(self._waiting)
        self._metrics.set_load(
            waiting=num_waiting,
            running=len(self._running),
            kv_tokens=sum(running.sequence.num_computed for running in self._running),
        )

    def _drop_cancelled(self) -> None:
        ending = Ending(cause="cancelled")
        with self._changed:
            gone = [sequence for sequence in self._waiting if sequence.is_cancelled]
            for sequence in gone:
                self._waiting.remove(sequence)
        for sequence in gone:
            self._finish(sequence, ending, accepting=False if sequence.matcher else None)
        for running in [running for running in self._running if running.sequence.is_cancelled]:
            self._leave(running, ending)

    def _settle_leaving(self) -> None:
        """Places whose mask fill has ended are free; sequences whose text has been judged are over."""
        for place, mask in [held for held in self._held_places if held[1].done()]:
            self._held_places.remove((place, mask))
            self._free_places.append(place)
        for entry in [entry for entry in self._leaving if entry[2].done()]:
            self._leaving.remove(entry)
            sequence, ending, verdict = entry
            try:
                self._finish(sequence, ending, accepting=verdict.result())
            except Exception:
                _log.exception("judgement_failed", request_id=sequence.request.request_id)
                broken = Ending(cause="engine_failed", message="the final text could not be judged")
                self._finish(sequence, broken, accepting=False)

    def _admit(self) -> None:
        while self._free_places:
            with self._changed:
                if not self._waiting:
                    return
                sequence = self._waiting.popleft()
            running = Running(sequence=sequence, place=self._free_places.pop(), last_step=self._num_steps)
            # A grammar's row is filled before it is used; without one only ids that stand for nothing are kept out.
            running.is_masked = sequence.matcher is not None or self._masks.allow_text(running.place)
            self._running.append(running)
            sequence.begin()

    def _catch_up(self) -> None:
        """Go on with those that stood still: their matcher was repaired, or its lexer is quiet again."""
        for running in [running for running in self._running if running.sequence.is_behind]:
            self._guarded(running, partial(self._catch_up_one, running))

    def _catch_up_one(self, running: Running) -> Ending | None:
        sequence, matcher = running.sequence, running.sequence.matcher
        if running.repair is not None:
            if not running.repair.done():
                return None
            running.repair.result()
            running.repair = None
        if matcher is not None and matcher.is_broken and matcher.is_standing:
            running.repair = self._masks.run(matcher.repair)
            running.repair.add_done_callback(self._wake)
            return None
        if not self._is_free(running):
            return None
        ending = sequence.resume()
        if ending is None and not sequence.is_behind and running.logits is not None:
            if sequence.num_pending:
                running.logits = None  # from before tokens that turned out to be forced
            else:
                self._start_mask(running)
        return ending

    def _compute(self, planned: list[tuple[Running, Slice]]) -> None:
        for running, part in planned:
            running.last_step = self._num_steps
            if part.needs_logits:
                self._start_mask(running)
        started = perf_counter()
        try:
            logits = self._forward([part for _, part in planned], self._cache)
        except Exception:
            _log.exception("forward_failed", num_sequences=len(planned))
            for running, _ in planned:
                self._leave(running, Ending(cause="engine_failed", message="the forward pass failed"))
            return
        self._metrics.step(seconds=perf_counter() - started, num_rows=sum(len(part.token_ids) for _, part in planned))
        rows = iter(logits)
        for running, part in planned:
            running.sequence.num_computed += len(part.token_ids)
            if part.needs_logits:
                running.logits = next(rows)

    def _start_mask(self, running: Running) -> None:
        if running.sequence.matcher is not None:
            running.mask = self._masks.start(running.sequence.matcher, running.place)
            running.mask.add_done_callback(self._wake)

    def _pick_tokens(self) -> None:
        deadline = perf_counter() + _MASK_PATIENCE_SECONDS
        computed = [
            running for running in self._running if running.logits is not None and not running.sequence.is_behind
        ]
        ready = [running for running in computed if self._is_mask_ready(running, deadline)]
        ready = [running for running in ready if self._guarded(running, partial(_settle_mask, running))]
        ready = [running for running in ready if not running.sequence.is_behind]
        if not ready:
            return
        logits = torch.stack([running.logits for running in ready if running.logits is not None])
        masked = [row for row, running in enumerate(ready) if running.is_masked]
        if masked:
            bitmask = self._masks.rows([ready[row].place for row in masked]).to(logits.device)
            apply_bitmask_(logits, bitmask, rows=torch.tensor(masked, device=logits.device))
        for running, row in zip(ready, logits, strict=True):
            raw, running.logits, running.mask = running.logits, None, None
            self._guarded(running, partial(pick, running.sequence, row, raw))

    def _is_mask_ready(self, running: Running, deadline: float) -> bool:
        def is_ready() -> bool:
            return running.is_mask_settled and self._is_free(running)

        with self._changed:
            return self._changed.wait_for(is_ready, timeout=max(0.0, deadline - perf_counter()))

    def _guarded(self, running: Running, action: Callable[[], Ending | None]) -> bool:
        """Run one sequence's own part: what breaks in it ends it alone. Whether the sequence goes on."""
        try:
            ending = action()
        except Exception:
            _log.exception("sequence_failed", request_id=running.sequence.request.request_id)
            ending = Ending(cause="engine_failed", message="the sequence could not go on")
        if ending is not None:
            self._leave(running, ending)
        return ending is None

    def _leave(self, running: Running, ending: Ending) -> None:
        """Free the place and finish the sequence, its text judged first where the matcher stands elsewhere."""
        self._running.remove(running)
        sequence = running.sequence
        try:
            if running.mask is not None and not running.is_mask_settled:
                self._held_places.append((running.place, running.mask))
            else:
                self._free_places.append(running.place)
                sequence.flush()
            if not sequence.needs_judgement(ending):
                self._finish(sequence, ending, accepting=sequence.judge(ending))
                return
            verdict = self._masks.run(partial(sequence.judge, ending))
            self._leaving.append((sequence, ending, verdict))
            verdict.add_done_callback(self._wake)
        except Exception:
            _log.exception("ending_failed", request_id=sequence.request.request_id)
            broken = Ending(cause="engine_failed", message="the sequence could not be ended")
            self._finish(sequence, broken, accepting=False if sequence.matcher else None)

    def _finish(self, sequence: DecodingSequence, ending: Ending, *, accepting: bool | None) -> None:
        self._metrics.finished(sequence.finish(ending, accepting=accepting))

    def _end_all(self, ending: Ending) -> None:
        with self._changed:
            self._is_stopping = True
            waiting, self._waiting = list(self._waiting), deque()
        left = [(sequence, ending) for sequence in waiting]
        left += [(running.sequence, ending) for running in self._running]
        left += [(sequence, ending) for sequence, _, _ in self._leaving]
        self._running, self._leaving = [], []
        for sequence, cause in left:
            self._finish(sequence, cause, accepting=False if sequence.matcher else None)

    def _wake(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()


def _settle_mask(running: Running) -> Ending | None:
    """Take over a filled mask: how long it took, and whether the matcher still stands."""
    if running.mask is not None:
        running.sequence.mask_seconds += running.mask.result()
        running.mask = None
    return running.sequence.ending_by_mask()
