"""A source that cannot harm the loop it serves: what it raises or answers amiss means no drafts, never no answer."""

from collections.abc import Sequence
from typing import Final

import structlog

from inference_node.drafting.source import DraftSource, DraftWant

_log = structlog.get_logger(__name__)

_MAX_FAULTS: Final = 3
"""A source that failed so often is left alone for good: what it costs the step loop has no end otherwise."""


class GuardedDrafts:
    """See `DraftSource`; never raises, and its drafts are ids of the vocabulary, no more than were asked for."""

    def __init__(self, source: DraftSource, *, vocabulary_size: int) -> None:
        self._source: Final = source
        self._vocabulary_size: Final = vocabulary_size
        self._num_faults = 0

    @property
    def name(self) -> str:
        """The source's own."""
        return self._source.name

    @property
    def is_off(self) -> bool:
        """Whether the source has failed too often. Said once in the log."""
        return self._num_faults >= _MAX_FAULTS

    def propose(self, wants: Sequence[DraftWant]) -> list[list[int]]:
        """See `DraftSource`. No drafts at all where one of them is amiss."""
        if self.is_off or not wants:
            return [[] for _ in wants]
        try:
            proposals = self._source.propose(wants)
            self._check(wants, proposals)
        except Exception:
            self._note_fault("propose")
            # Whatever it holds for these may be half changed: they begin anew.
            for want in wants:
                self.forget(want.key)
            return [[] for _ in wants]
        return proposals

    def observe(self, key: int, drafted: int, accepted: int) -> None:
        """See `DraftSource`."""
        if self.is_off:
            return
        try:
            self._source.observe(key, drafted, accepted)
        except Exception:
            self._note_fault("observe")

    def forget(self, key: int) -> None:
        """See `DraftSource`. Also of a source that is off: what it held is freed."""
        try:
            self._source.forget(key)
        except Exception:
            self._note_fault("forget")

    def _check(self, wants: Sequence[DraftWant], proposals: Sequence[Sequence[int]]) -> None:
        for want, drafts in zip(wants, proposals, strict=True):
            if len(drafts) > want.max_drafts:
                raise ValueError(f"{len(drafts)} drafts where {want.max_drafts} were asked for")
            if drafts and not (min(drafts) >= 0 and max(drafts) < self._vocabulary_size):
                raise ValueError(f"a draft is no id of a vocabulary of {self._vocabulary_size}")

    def _note_fault(self, call: str) -> None:
        was_off = self.is_off
        self._num_faults += 1
        if not was_off:
            _log.exception("draft_source_failed", source=self.name, call=call, is_off=self.is_off)
