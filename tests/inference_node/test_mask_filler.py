"""Who waits for whose mask: lines of one lexer, groups of several, drafts, and what goes wrong in one of them."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
import pytest
import torch

from compiler_pool.tokenizer import BoundTokenizer
from inference_node.bitmask_row import Bitmask
from inference_node.grammar import Prototype
from inference_node.mask_filler import Filled, MaskFill, MaskFiller
from inference_node.mask_rows import MaskRows
from inference_node.matcher import GrammarMatcher
from kernels.bitmask import bitmask_words
from policy.limits import TENANT
from tests.inference_node.poison import LETTERS, guilty, innocent, new_shelf

WAIT_SECONDS = 30.0


class Held:
    """A real matcher whose fill waits until it is let go."""

    def __init__(self, inner: Any, *, fails: bool = False) -> None:
        self._inner = inner
        self._fails = fails
        self.is_filling = Event()
        self.release = Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fill_bitmask(self, row: Bitmask) -> None:
        self.is_filling.set()
        assert self.release.wait(WAIT_SECONDS)
        if self._fails:
            raise RuntimeError("Already borrowed")
        self._inner.fill_bitmask(row)


@dataclass(frozen=True)
class World:
    rows: MaskRows
    masks: MaskFiller

    def start(self, *matchers: Any) -> list[MaskFill]:
        fills = [MaskFill(matcher=matcher, rows=self.rows.take(1)) for matcher in matchers]
        self.masks.start(fills)
        return fills

    def fill(self, *matchers: Any) -> list[MaskFill]:
        fills = self.start(*matchers)
        for fill in fills:
            fill.done.result(WAIT_SECONDS)
        return fills

    def walk(self, matcher: GrammarMatcher, text: bytes, *, beside: list[GrammarMatcher]) -> list[MaskFill]:
        """Decode a text with masks, others' masks beside them, until the matcher breaks."""
        fills: list[MaskFill] = []
        for token_id in matcher.prototype.tokenizer.encode_exact(text):
            fills = self.fill(matcher, *beside)
            if matcher.is_broken:
                break
            matcher.advance([token_id])
        return fills

    def offered(self, row: int) -> set[int]:
        return set(np.flatnonzero(np.unpackbits(self.rows.row(row).view(np.uint8), bitorder="little")).tolist())

    def warm(self, *matchers: GrammarMatcher) -> None:
        """Past the first mask of each prototype, which is filled by itself."""
        for matcher in matchers:
            self.fill(matcher)


def by_itself(matcher: GrammarMatcher) -> set[int]:
    row = np.zeros(bitmask_words(matcher.prototype.tokenizer.vocabulary_size), dtype=np.int32)
    matcher.fill_bitmask(row)
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


@contextmanager
def filler(tokenizer: BoundTokenizer, *, num_threads: int = 2) -> Iterator[World]:
    rows = MaskRows(words=bitmask_words(tokenizer.vocabulary_size), device=torch.device("cpu"), capacity=8)
    masks = MaskFiller(rows, num_threads=num_threads)
    try:
        yield World(rows, masks)
    finally:
        masks.close()


def build(tokenizer: BoundTokenizer, grammar: str) -> Prototype:
    return Prototype.build(tokenizer, grammar, TENANT.engine)


def ids(tokenizer: BoundTokenizer, text: bytes) -> list[int]:
    return tokenizer.encode_exact(text)


def test_masks_of_one_lexer_are_filled_one_after_another_and_hold_one_thread(tokenizer: BoundTokenizer) -> None:
    slow, other = new_shelf(tokenizer), new_shelf(tokenizer)
    first, second = Held(innocent(slow)), Held(innocent(slow))
    assert first.prototype is second.prototype
    with filler(tokenizer) as world:
        (ahead,), (behind,) = world.start(first), world.start(second)
        assert first.is_filling.wait(WAIT_SECONDS)
        (elsewhere,) = world.fill(innocent(other))
        assert not second.is_filling.is_set()
        first.release.set()
        assert ahead.done.result(WAIT_SECONDS).seconds > 0
        second.release.set()
        assert behind.done.result(WAIT_SECONDS).num_rows == 1
        assert all(world.offered(fill.rows[0]) for fill in (ahead, behind, elsewhere))


def test_a_lexer_is_quiet_once_the_last_mask_of_its_line_is_there(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    sibling, held = innocent(shelf), Held(innocent(shelf))
    with filler(tokenizer) as world:
        assert world.masks.is_quiet(sibling)
        (fill,) = world.start(held)
        assert held.is_filling.wait(WAIT_SECONDS)
        assert not world.masks.is_quiet(sibling)
        assert world.masks.is_quiet(innocent(new_shelf(tokenizer)))
        held.release.set()
        fill.done.result(WAIT_SECONDS)
        assert world.masks.is_quiet(sibling)


def test_a_fill_that_raises_does_not_hold_up_its_line(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    broken, well = Held(innocent(shelf), fails=True), innocent(shelf)
    with filler(tokenizer) as world:
        (failed,), (filled,) = world.start(broken), world.start(well)
        broken.release.set()
        with pytest.raises(RuntimeError, match="borrowed"):
            failed.done.result(WAIT_SECONDS)
        assert filled.done.result(WAIT_SECONDS).num_rows == 1
        assert world.masks.is_quiet(well)


def test_a_first_mask_that_hangs_delays_no_group(tokenizer: BoundTokenizer) -> None:
    known = [innocent(new_shelf(tokenizer)) for _ in range(3)]
    new = Held(innocent(new_shelf(tokenizer)))
    with filler(tokenizer) as world:
        world.warm(*known)
        stuck, *others = world.start(new, *known)
        for fill in others:
            assert fill.done.result(WAIT_SECONDS).num_rows == 1
        assert not stuck.done.done()
        new.release.set()
        stuck.done.result(WAIT_SECONDS)


def test_slow_contracts_hold_up_neither_groups_nor_new_contracts(tokenizer: BoundTokenizer) -> None:
    known, new = innocent(new_shelf(tokenizer)), innocent(new_shelf(tokenizer))
    slow = [Held(innocent(new_shelf(tokenizer))) for _ in range(5)]
    with filler(tokenizer) as world:
        world.warm(known)
        for held in slow:
            held.prototype.num_masks = 1
            held.prototype.pace.timed(1.0)
        stuck = world.start(*slow)
        world.fill(known, new)
        for held in slow:
            held.release.set()
        for fill in stuck:
            fill.done.result(WAIT_SECONDS)


def test_rows_of_a_group_are_what_each_matcher_would_have_filled_by_itself(tokenizer: BoundTokenizer) -> None:
    one, two = build(tokenizer, "start: /[0-9]{1,9}/"), build(tokenizer, 'start: "true" | "false"')
    starts = [(one, b""), (two, b""), (one, b"1"), (two, b"t"), (one, b"123456789"), (two, b"fa")] * 8
    matchers = []
    for prototype, text in starts:
        matcher = prototype.matcher()
        assert matcher.accept_tokens(ids(tokenizer, text))
        matchers.append(matcher)
    with filler(tokenizer) as world:
        world.warm(one.matcher(), two.matcher())
        fills = world.fill(*matchers)
        assert max(fill.rows[0] for fill in fills) > 32
        for fill, matcher in zip(fills, matchers, strict=True):
            assert world.offered(fill.rows[0]) == by_itself(matcher)


def test_a_matcher_that_does_not_stand_has_no_valid_row_in_a_group(tokenizer: BoundTokenizer) -> None:
    dead = build(tokenizer, 'start: A B\nA: "a"\nB: /b/ & /c/')
    well, ended = build(tokenizer, "start: /[0-9]{1,9}/").matcher(), build(tokenizer, "start: /[0-9]{1,9}/").matcher()
    with filler(tokenizer) as world:
        world.warm(well, ended, dead.matcher())
        stuck = dead.matcher()
        assert stuck.accept_tokens(ids(tokenizer, b"a"))
        assert ended.accept_tokens([*ids(tokenizer, b"1"), tokenizer.end_ids[0]])
        fills = world.fill(stuck, well, ended)
        assert [fill.done.result().num_rows for fill in fills] == [0, 1, 0]
        assert [bool(world.offered(fill.rows[0])) for fill in fills] == [False, True, False]
        assert stuck.is_dead_end
        assert not stuck.is_accepting


def test_a_lexer_that_breaks_in_a_group_breaks_its_own_siblings_and_nobody_else(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    ill, sibling, other = guilty(shelf), innocent(shelf), innocent(new_shelf(tokenizer))
    with filler(tokenizer) as world:
        world.warm(sibling, other)
        fills = world.walk(ill, LETTERS, beside=[sibling, other])
        assert [fill.done.result().num_rows for fill in fills] == [0, 0, 1]
        assert [matcher.is_broken for matcher in (sibling, other)] == [True, False]
        before = list(sibling.tokens)
        sibling.repair()
        ill.repair()
        assert (sibling.is_broken, list(sibling.tokens)) == (False, before)
        # From now on whose mask breaks a lexer of this contract is known, and the bystander keeps its place beside.
        assert sibling.prototype.pace.is_apart
        assert ill.prototype is sibling.prototype
        world.warm(sibling)
        world.walk(ill, LETTERS[len(ill.tokens) - 1 :], beside=[sibling])
        ill.repair()
        world.fill(sibling)
        sibling.repair()
        assert ill.prototype is not sibling.prototype
        assert sibling.is_standing


def test_each_draft_that_the_grammar_takes_has_its_row_and_the_matcher_stays(tokenizer: BoundTokenizer) -> None:
    prototype = build(tokenizer, "start: /[0-9]{1,3}(a|b)c/")
    digit, letter, last = (ids(tokenizer, text)[0] for text in (b"7", b"b", b"c"))
    with filler(tokenizer) as world:
        for num_before in (0, 1):  # alone, then as a group
            matcher = prototype.matcher()
            world.warm(*[prototype.matcher()] * num_before)
            fill = MaskFill(matcher=matcher, rows=world.rows.take(5), drafts=[digit, digit, letter, last])
            other = MaskFill(matcher=prototype.matcher(), rows=world.rows.take(1))
            world.masks.start([fill, other])
            # After the last one the text is whole, and nothing can follow.
            assert fill.done.result(WAIT_SECONDS).num_rows == 4
            assert other.done.result(WAIT_SECONDS).num_rows == 1
            assert list(matcher.tokens) == []
            walker = prototype.matcher()
            for row, draft in zip(fill.rows, fill.drafts, strict=False):
                assert world.offered(row) == by_itself(walker)
                walker.advance([draft])
            assert world.offered(fill.rows[4]) == set()
            assert by_itself(matcher) == world.offered(fill.rows[0])


def test_drafts_end_where_the_mask_does_not_offer_them(tokenizer: BoundTokenizer) -> None:
    prototype = build(tokenizer, "start: /[0-9]{1,9}/")
    digit, letter, end = ids(tokenizer, b"7")[0], ids(tokenizer, b"b")[0], tokenizer.end_ids[0]
    with filler(tokenizer) as world:
        for wrong in (letter, end, tokenizer.vocabulary_size + 40, -1):
            matcher = prototype.matcher()
            fill = MaskFill(matcher=matcher, rows=world.rows.take(4), drafts=[digit, wrong, digit])
            world.masks.start([fill])
            assert fill.done.result(WAIT_SECONDS).num_rows == 2
            assert [bool(world.offered(row)) for row in fill.rows] == [True, True, False, False]
            assert not matcher.is_broken
            world.rows.give_back(fill.rows)


def test_a_draft_into_a_dead_end_costs_a_repair_and_the_drafts_after_it(tokenizer: BoundTokenizer) -> None:
    prototype = build(tokenizer, 'start: "x" (A B | "z")\nA: "a"\nB: /b/ & /c/')
    x, a, z = (ids(tokenizer, text)[0] for text in (b"x", b"a", b"z"))
    with filler(tokenizer) as world:
        matcher = prototype.matcher()
        fill = MaskFill(matcher=matcher, rows=world.rows.take(3), drafts=[x, a])
        world.masks.start([fill])
        fill.done.result(WAIT_SECONDS)
        assert not matcher.is_dead_end
        if matcher.is_broken:
            matcher.repair()
            assert matcher.allowed_drafts([x]) == 0
        assert list(matcher.tokens) == []
        matcher.advance([x])
        matcher.advance([z])
        assert matcher.is_accepting


def test_a_fill_that_makes_no_sense_fails_alone_and_leaves_no_engine_ahead(tokenizer: BoundTokenizer) -> None:
    prototype = build(tokenizer, "start: /[0-9]{1,9}/")
    digit = ids(tokenizer, b"7")
    with filler(tokenizer) as world:
        world.warm(prototype.matcher())
        well, ill, drafted = (prototype.matcher() for _ in range(3))
        fills = [
            MaskFill(matcher=well, rows=world.rows.take(1)),
            MaskFill(matcher=ill, rows=[*world.rows.take(1), 10_000], drafts=digit),  # no such row
            MaskFill(matcher=drafted, rows=world.rows.take(3), drafts=digit * 2),
        ]
        world.masks.start(fills)
        assert fills[0].done.result(WAIT_SECONDS).num_rows == 1
        with pytest.raises(IndexError):
            fills[1].done.result(WAIT_SECONDS)
        assert fills[2].done.result(WAIT_SECONDS).num_rows in {0, 3}
        for matcher in (ill, drafted):
            matcher.repair()
            assert list(matcher.tokens) == []
            assert by_itself(matcher) == by_itself(well)


def test_who_waits_is_woken_once_for_all_of_a_group(tokenizer: BoundTokenizer) -> None:
    prototype = build(tokenizer, "start: /[0-9]{1,9}/")
    matchers = [prototype.matcher() for _ in range(16)]
    with filler(tokenizer) as world:
        world.warm(prototype.matcher())
        woken: Future[list[bool]] = Future()
        fills = [MaskFill(matcher=matcher, rows=world.rows.take(1)) for matcher in matchers]
        world.masks.call_when_filled(lambda: woken.set_result([fill.done.done() for fill in fills]))
        world.masks.start(fills)
        assert woken.result(WAIT_SECONDS) == [True] * 16


def test_what_waits_when_the_node_closes_is_never_filled(tokenizer: BoundTokenizer) -> None:
    shelf = new_shelf(tokenizer)
    first, second = Held(innocent(shelf)), innocent(shelf)
    with filler(tokenizer) as world:
        (ahead,), (behind,) = world.start(first), world.start(second)
        assert first.is_filling.wait(WAIT_SECONDS)
        world.masks.close()
        assert behind.done.cancelled()
        first.release.set()
        assert isinstance(ahead.done.result(WAIT_SECONDS), Filled)
