"""Masks of the sequences that run: when they are asked for, when they are there, when a matcher is free."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from threading import Condition
from time import perf_counter
from typing import Final

from inference_node.ending import Ending
from inference_node.mask_filler import MaskFill, MaskFiller
from inference_node.running import Running


class Masking:
    """Used from the step loop's thread. Between `start` and its fill's end a sequence's matcher is another thread's."""

    def __init__(self, filler: MaskFiller, changed: Condition) -> None:
        self._filler = filler
        self._changed = changed
        self.run: Final[Callable[[Callable[[], None]], Future[None]]] = filler.run
        """Repairs: work of the grammar engine's that the step loop must not wait for."""

    def is_free(self, running: Running) -> bool:
        """Whether its matcher can be used without waiting for a sibling's mask on the same lexer."""
        matcher = running.sequence.matcher
        return matcher is None or matcher.is_broken or not matcher.is_standing or self._filler.is_quiet(matcher)

    def start(self, wanted: Sequence[Running]) -> None:
        """Have masks filled for those who have none yet and can use their matcher."""
        fills: list[MaskFill] = []
        for running in wanted:
            matcher = running.sequence.matcher
            if (
                matcher is None or running.is_over or running.fill is not None or running.repair is not None
                or running.sequence.is_behind or matcher.is_broken or not matcher.is_standing
            ):  # fmt: skip
                continue
            running.fill = MaskFill(
                matcher=matcher, rows=running.mask_rows[: 1 + len(running.drafts)], drafts=running.drafts
            )
            fills.append(running.fill)
        if fills:
            self._filler.start(fills)

    def is_ready(self, running: Running, deadline: float) -> bool:
        """Whether its masks are there and its matcher free, after waiting for them until the deadline."""
        if running.sequence.matcher is None:
            return True

        def is_ready() -> bool:
            return running.fill is not None and running.fill.done.done() and self.is_free(running)

        if is_ready():
            return True
        with self._changed:
            return self._changed.wait_for(is_ready, timeout=max(0.0, deadline - perf_counter()))


def by_lexer(ready: Sequence[Running]) -> Iterator[tuple[int, Sequence[Running] | None]]:
    """The indices of all, those that share a lexer one after another, and with the last of them all of them."""
    groups: dict[int, list[int]] = {}
    for index, running in enumerate(ready):
        matcher = running.sequence.matcher
        groups.setdefault(0 if matcher is None else id(matcher.prototype), []).append(index)
    for indices in groups.values():
        for index in indices[:-1]:
            yield index, None
        yield indices[-1], [ready[index] for index in indices]


def needs_repair(running: Running) -> bool:
    """Whether its matcher has to be moved to another lexer before anything else."""
    matcher = running.sequence.matcher
    return matcher is not None and matcher.is_broken and matcher.is_standing


def ending_by_mask(running: Running) -> Ending | None:
    """Look at what a fill found: whether the matcher still stands, and whether anything is forced."""
    if running.fill is not None:
        running.sequence.mask_seconds += running.fill.done.result().seconds
    ending = running.sequence.ending_by_mask()
    return _go_on(running) if ending is None and running.sequence.is_behind else ending


def _go_on(running: Running) -> Ending | None:
    sequence = running.sequence
    ending = None if needs_repair(running) else sequence.resume()
    if sequence.is_behind:
        running.fill = None  # to be filled again once the matcher is repaired
    elif running.computed is not None and running.computed.position + 1 < len(sequence.token_ids):
        running.computed, running.fill, running.drafts = None, None, ()  # others are forced instead
    return ending
