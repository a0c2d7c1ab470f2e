"""The step loop: one thread that serves several sequences, which join and leave between steps.

A step: drop what was cancelled, admit whose turn it is, make room, compute one slice of each sequence that is ready,
and pick tokens for each whose masks are there. Masks are filled on other threads while the forward pass runs; a
sequence whose mask takes longer sits out steps, and the others go on. So does one whose lexer failed, while its matcher
is repaired.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Final, TypeVar

import structlog

from inference_node.block_pool import BlockPool, BlockTable
from inference_node.drafting.source import DraftSource
from inference_node.ending import Ending
from inference_node.errors import RefusedRequestError
from inference_node.leaving import Leaving
from inference_node.mask_filler import MaskFiller
from inference_node.mask_rows import MaskRows
from inference_node.metrics import NodeMetrics
from inference_node.model_runner import ModelRunner
from inference_node.protocol import NodeFault
from inference_node.running import Running
from inference_node.seating import Seating
from inference_node.sequence import DecodingSequence
from inference_node.step_plan import StepLimits
from inference_node.step_sampler import StepSampler
from inference_node.stepping import Stepping

_log = structlog.get_logger(__name__)
_Result = TypeVar("_Result")

_RETRY_AFTER_SECONDS: Final = 1.0


class StepLoop:
    """`submit`, `cancel` and `between_steps` may be called from any thread; all else happens on the loop's."""

    def __init__(
        self,
        *,
        runner: ModelRunner,
        pool: BlockPool,
        rows: MaskRows,
        masks: MaskFiller,
        sampler: StepSampler,
        limits: StepLimits,
        metrics: NodeMetrics,
        drafts: DraftSource | None = None,
    ) -> None:
        self._masks = masks
        self._metrics = metrics
        self._changed = Condition()
        self._seating = Seating(pool=pool, rows=rows, runner=runner, limits=limits, changed=self._changed)
        self._leaving = Leaving(self._seating, masks, metrics)
        self._stepping = Stepping(
            runner=runner,
            seating=self._seating,
            leaving=self._leaving,
            masks=masks,
            sampler=sampler,
            limits=limits,
            metrics=metrics,
            drafts=drafts,
            changed=self._changed,
        )
        self._jobs: deque[Callable[[], None]] = deque()
        self._is_draining = False
        self._is_stopping = False
        self._is_resting = False
        """Whether the loop's thread waits. Otherwise a sequence may be on its way from one list to another, in neither
        of them."""
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
            if self._is_stopping or self._is_draining:
                raise RefusedRequestError(NodeFault(code="draining", message="this node is shutting down"))
            full = self._seating.queue.refusal(
                sequence.request.partition, num_free=self._seating.num_free_places
            )  # fmt: skip
            if full is not None:
                fault = NodeFault(
                    code="overloaded",
                    message="all places are taken and "
                    + ("this caller's share of the queue is full" if full.is_partitions_own else "the queue is full"),
                    limit=full.limit,
                    observed=full.observed,
                )
                raise RefusedRequestError(fault, retry_after_seconds=_RETRY_AFTER_SECONDS)
            sequence.announce()
            self._seating.queue.push(
                Running(sequence=sequence, table=BlockTable(), mask_rows=[], last_step=0)
            )  # fmt: skip
            self._changed.notify_all()

    def cancel(self, sequence: DecodingSequence) -> None:
        """Its reader is gone: its place is free within one step."""
        sequence.is_cancelled = True
        with self._changed:
            self._changed.notify_all()  # one alone may be who drains

    def between_steps(self, job: Callable[[], _Result]) -> "Future[_Result]":
        """Run something on the loop's thread between two steps, when no matcher or block is in use there.

        Raises:
            RefusedRequestError: the loop is stopping or broken.
        """
        done: Future[_Result] = Future()

        def run() -> None:
            if not done.set_running_or_notify_cancel():
                return  # whoever asked has gone
            try:
                done.set_result(job())
            except Exception as error:  # whoever waits gets it
                done.set_exception(error)

        with self._changed:
            if self._is_stopping or self._failure is not None:
                raise RefusedRequestError(NodeFault(code="not_ready", message="the engine does not run"))
            self._jobs.append(run)
            self._changed.notify_all()
        return done

    def find(self, request_id: str) -> Running | None:
        """The sequence of a request that runs or waits. Within `between_steps` alone."""
        with self._changed:
            everybody = [*self._seating.running, *self._seating.queue]
        return next((one for one in everybody if one.sequence.request.request_id == request_id), None)

    def end(self, running: Running, ending: Ending) -> None:
        """Take a sequence out, as `find` gave it, with this ending. Within `between_steps` alone."""
        if running in self._seating.running:
            self._stepping.leave(running, ending)
        else:
            with self._changed:
                self._seating.drop(running)
            self._finish_unplaced(running.sequence, ending)

    @property
    def pool(self) -> BlockPool:
        """Within `between_steps` alone."""
        return self._seating.pool

    def drain(self, *, timeout_seconds: float) -> bool:
        """Refuse what is new and let what was taken come to its end; whether all of it did in time."""
        with self._changed:
            self._is_draining = True
            return self._changed.wait_for(
                lambda: (self._is_resting and self._is_idle) or not self._thread.is_alive(), timeout=timeout_seconds
            )  # fmt: skip

    def stop(self, *, timeout_seconds: float) -> bool:
        """End every sequence as cancelled and the loop with it; whether it ended in time."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        self._masks.close()
        return not self._thread.is_alive()

    @property
    def _is_idle(self) -> bool:
        return not len(self._seating.queue) and not self._seating.running and self._leaving.is_empty

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                self._wait_for_work()
                self._between()
                self._stepping.step()
                self._report_load()
            self._end_all(Ending(cause="cancelled", message="this node is shutting down"))
        except BaseException as error:
            # Whatever it was, nobody may wait for a loop that is gone.
            self._failure = f"{type(error).__name__}: {error}"
            _log.exception("step_loop_failed")
            self._end_all(Ending(cause="engine_failed", message="the engine has failed"))

    def _wait_for_work(self) -> None:
        with self._changed:
            while not (self._is_stopping or self._has_work()):
                self._report_load()
                self._is_resting = True
                if self._is_idle:
                    self._changed.notify_all()  # who drains
                self._changed.wait()
            self._is_resting = False

    def _has_work(self) -> bool:
        seating = self._seating
        return (
            bool(self._jobs)
            or any(waiting.sequence.is_cancelled for waiting in seating.queue)
            or seating.can_admit
            or seating.has_settled
            or self._leaving.has_settled
            or any(self._stepping.can_go_on(running) for running in seating.running)
        )

    def _between(self) -> None:
        """What was asked for from outside since the last step, and what other threads are done with."""
        while True:
            with self._changed:
                job = self._jobs.popleft() if self._jobs else None
            if job is None:
                break
            job()
            self._seating.look_again()
        cancelled = Ending(cause="cancelled")
        with self._changed:
            gone = [waiting for waiting in self._seating.queue if waiting.sequence.is_cancelled]
            for waiting in gone:
                self._seating.drop(waiting)
        for waiting in gone:
            self._finish_unplaced(waiting.sequence, cancelled)
        for running in [running for running in self._seating.running if running.sequence.is_cancelled]:
            self._stepping.leave(running, cancelled)
        self._seating.settle()
        self._leaving.settle()

    def _finish_unplaced(self, sequence: DecodingSequence, ending: Ending) -> None:
        self._leaving.finish(sequence, ending, accepting=False if sequence.request.matcher else None)

    def _end_all(self, ending: Ending) -> None:
        with self._changed:
            self._is_stopping = True
            waiting = self._seating.queue.clear()
            jobs, self._jobs = list(self._jobs), deque()
        self._leaving.end_all(ending)
        for one in [*waiting, *self._seating.running]:
            self._finish_unplaced(one.sequence, ending)
        self._seating.running.clear()
        for job in jobs:  # they find nobody; who waits for them is answered
            job()
        self._seating.wake()

    def _report_load(self) -> None:
        with self._changed:  # whoever submits adds to the lines of the queue
            num_waiting = len(self._seating.queue)
        self._metrics.set_load(
            waiting=num_waiting,
            running=len(self._seating.running),
            kv_tokens=sum(running.sequence.num_computed for running in self._seating.running),
        )
        self._metrics.set_blocks(self._seating.pool.counts())
