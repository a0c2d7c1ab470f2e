from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.bitmask_row import Bitmask
from inference_node.mask_filler import MaskFiller
from tests.inference_node.poison import innocent, new_shelf

WAIT_SECONDS = 30.0


class Held:
    """A real matcher whose fill waits until it is let go."""

    def __init__(self, inner: Any, *, fails: bool = False) -> None:
        self._inner = inner
        self._fails = fails
        self.prototype = inner.prototype
        self.is_filling = Event()
        self.release = Event()

    def fill_bitmask(self, row: Bitmask) -> None:
        self.is_filling.set()
        assert self.release.wait(WAIT_SECONDS)
        if self._fails:
            raise RuntimeError("Already borrowed")
        self._inner.fill_bitmask(row)


@contextmanager
def filler(tokenizer: BoundTokenizer, *, num_threads: int = 2) -> Iterator[MaskFiller]:
    masks = MaskFiller(tokenizer, num_places=8, num_threads=num_threads)
    try:
        yield masks
    finally:
        masks.close()


def test_masks_of_one_lexer_are_filled_one_after_another_and_hold_one_thread(tokenizer: BoundTokenizer) -> None:
    slow, other = new_shelf(tokenizer), new_shelf(tokenizer)
    first, second = Held(innocent(slow)), Held(innocent(slow))
    assert first.prototype is second.prototype
    with filler(tokenizer) as masks:
        ahead, behind = masks.start(first, 0), masks.start(second, 1)  # type: ignore[arg-type]
        assert first.is_filling.wait(WAIT_SECONDS)
        assert masks.start(innocent(other), 2).result(WAIT_SECONDS) >= 0
        assert not second.is_filling.is_set()
        first.release.set()
        assert ahead.result(WAIT_SECONDS) > 0
        assert second.is_filling.wait(WAIT_SECONDS)
        second.release.set()
        assert behind.result(WAIT_SECONDS) >= 0
        assert masks.rows([0, 1, 2]).any(dim=1).all()


def test_a_lexer_is_quiet_once_the_last_mask_of_its_line_is_there(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    sibling, held = innocent(shelf), Held(innocent(shelf))
    with filler(tokenizer) as masks:
        assert masks.is_quiet(sibling)
        filled = masks.start(held, 0)  # type: ignore[arg-type]
        assert held.is_filling.wait(WAIT_SECONDS)
        assert not masks.is_quiet(sibling)
        assert masks.is_quiet(innocent(new_shelf(tokenizer)))
        held.release.set()
        filled.result(WAIT_SECONDS)
        assert masks.is_quiet(sibling)


def test_after_a_slow_mask_the_thread_goes_to_another_line_first(tokenizer: BoundTokenizer) -> None:
    slow, other = new_shelf(tokenizer), new_shelf(tokenizer)
    first, second = Held(innocent(slow)), Held(innocent(slow))
    with filler(tokenizer, num_threads=1) as masks:
        ahead, behind = masks.start(first, 0), masks.start(second, 1)  # type: ignore[arg-type]
        assert first.is_filling.wait(WAIT_SECONDS)
        elsewhere = masks.start(innocent(other), 2)
        first.release.wait(0.01)  # longer than a turn
        first.release.set()
        ahead.result(WAIT_SECONDS)
        # The second of the slow line is held for good: had it come first, there would be no thread for the other line.
        assert elsewhere.result(WAIT_SECONDS) >= 0
        second.release.set()
        behind.result(WAIT_SECONDS)


def test_a_fill_that_raises_does_not_hold_up_its_line(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    broken, well = Held(innocent(shelf), fails=True), innocent(shelf)
    with filler(tokenizer) as masks:
        failed, filled = masks.start(broken, 0), masks.start(well, 1)  # type: ignore[arg-type]
        broken.release.set()
        with pytest.raises(RuntimeError, match="borrowed"):
            failed.result(WAIT_SECONDS)
        assert filled.result(WAIT_SECONDS) >= 0
        assert masks.is_quiet(well)
