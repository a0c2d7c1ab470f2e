"""The end of sequences: their text judged where the matcher stands elsewhere, their last event, their place free."""

from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from inference_node.ending import Ending
from inference_node.mask_filler import MaskFiller
from inference_node.metrics import NodeMetrics
from inference_node.running import Running
from inference_node.seating import Seating
from inference_node.sequence import DecodingSequence

_log = structlog.get_logger(__name__)

_BROKEN: Final = Ending(cause="engine_failed", message="the sequence could not be ended")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Judged:
    sequence: DecodingSequence
    ending: Ending
    verdict: Future[bool | None]


class Leaving:
    """Used from the step loop's thread. Whatever goes wrong, each sequence gets exactly one `Finish`."""

    def __init__(self, seating: Seating, masks: MaskFiller, metrics: NodeMetrics) -> None:
        self._seating = seating
        self._masks = masks
        self._metrics = metrics
        self._judged: list[_Judged] = []

    @property
    def has_settled(self) -> bool:
        """Whether `settle` would finish something."""
        return any(judged.verdict.done() for judged in self._judged)

    @property
    def is_empty(self) -> bool:
        """Whether nobody is on the way out."""
        return not self._judged

    def leave(self, running: Running, ending: Ending) -> None:
        """Free the place and finish the sequence, its text judged first where the matcher stands elsewhere."""
        sequence = running.sequence
        try:
            is_masking = not running.is_mask_settled
            self._seating.vacate(running)
            # While a mask is being filled its matcher is another thread's; such an ending is no orderly one. And text
            # that is held back when a sequence is saved is held back where it goes on.
            if not is_masking and ending.cause != "saved":
                sequence.flush()
            if not sequence.needs_judgement(ending):
                self.finish(sequence, ending, accepting=sequence.judge(ending))
                return
            judged = _Judged(
                sequence=sequence, ending=ending, verdict=self._masks.run(partial(sequence.judge, ending))
            )  # fmt: skip
            self._judged.append(judged)
            judged.verdict.add_done_callback(self._seating.wake)
        except Exception:
            _log.exception("ending_failed", request_id=sequence.request.request_id)
            self.finish(sequence, _BROKEN, accepting=False if sequence.request.matcher else None)

    def settle(self) -> None:
        """Sequences whose text has been judged are over."""
        for judged in [judged for judged in self._judged if judged.verdict.done()]:
            self._judged.remove(judged)
            try:
                self.finish(judged.sequence, judged.ending, accepting=judged.verdict.result())
            except Exception:
                _log.exception("judgement_failed", request_id=judged.sequence.request.request_id)
                self.finish(judged.sequence, _BROKEN, accepting=False)

    def finish(self, sequence: DecodingSequence, ending: Ending, *, accepting: bool | None) -> None:
        """Send the last event. Never raises: others are on their way out too."""
        try:
            self._metrics.finished(sequence.finish(ending, accepting=accepting))
        except Exception:
            _log.exception("last_event_failed", request_id=sequence.request.request_id)
            sequence.request.adapter.release()

    def end_all(self, ending: Ending) -> None:
        """End those whose text is being judged, without a verdict."""
        judged, self._judged = self._judged, []
        for left in judged:
            self.finish(left.sequence, ending, accepting=False if left.sequence.request.matcher else None)
