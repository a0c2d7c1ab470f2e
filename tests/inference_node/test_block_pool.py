from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from inference_node.block_pool import BlockPool, BlockTable, Pinned, PinRefused
from inference_node.slices import BLOCK_TOKENS


def prompt(num_blocks: int, *, seed: int = 0, extra: int = 1) -> list[int]:
    return [seed * 1000 + number for number in range(num_blocks * BLOCK_TOKENS + extra)]


def computed(pool: BlockPool, ids: list[int], *, salt: str = "a") -> BlockTable:
    """A sequence that has computed its prompt."""
    table = pool.match(ids, salt=salt)
    assert pool.grow(table, len(ids))
    pool.publish(table, ids, num_tokens=len(ids), salt=salt)
    return table


def test_a_prompt_that_was_computed_is_found_by_the_next_one_that_begins_with_it() -> None:
    pool = BlockPool(16)
    first = computed(pool, prompt(3))
    second = pool.match([*prompt(3)[: 2 * BLOCK_TOKENS], 7, 7, 7], salt="a")
    assert second.blocks == first.blocks[:2]
    assert second.num_matched_tokens == 2 * BLOCK_TOKENS


def test_at_least_one_token_is_left_to_compute() -> None:
    pool = BlockPool(16)
    computed(pool, prompt(3, extra=0))
    assert len(pool.match(prompt(3, extra=0), salt="a").blocks) == 2
    assert len(pool.match(prompt(3, extra=1), salt="a").blocks) == 3
    assert pool.match([], salt="a").blocks == []


def test_another_salt_finds_nothing() -> None:
    pool = BlockPool(16)
    computed(pool, prompt(3), salt="a")
    assert pool.match(prompt(3), salt="b").blocks == []


def test_only_whole_blocks_that_are_computed_are_found() -> None:
    pool = BlockPool(16)
    ids = prompt(3, extra=9)
    table = pool.match(ids, salt="a")
    assert pool.grow(table, len(ids))
    pool.publish(table, ids, num_tokens=BLOCK_TOKENS + 15, salt="a")
    assert len(pool.match(ids, salt="a").blocks) == 1
    pool.publish(table, ids, num_tokens=1000, salt="a")
    assert len(pool.match([*ids, *prompt(1)], salt="a").blocks) == 3


def test_what_is_released_is_found_until_its_blocks_are_needed() -> None:
    pool = BlockPool(4)
    pool.release(computed(pool, prompt(2)))
    assert pool.counts().num_cached == 2
    table = pool.match(prompt(2), salt="a")
    assert len(table.blocks) == 2
    pool.release(table)
    other = BlockTable()
    assert pool.grow(other, 4 * BLOCK_TOKENS)
    assert pool.match(prompt(2), salt="a").blocks == []
    assert pool.counts().num_evictions == 2


def test_the_prefix_that_was_used_last_is_evicted_last() -> None:
    pool = BlockPool(24)
    for seed in range(2):
        pool.release(computed(pool, prompt(10, seed=seed, extra=0)))
    pool.release(pool.match(prompt(10, seed=0), salt="a"))
    table = BlockTable()
    assert pool.grow(table, 12 * BLOCK_TOKENS)
    assert len(pool.match(prompt(10, seed=0), salt="a").blocks) == 10
    # Of the other one the end went first, and its beginning can still be found.
    assert len(pool.match(prompt(10, seed=1), salt="a").blocks) == 2


def test_growing_beyond_what_there_is_changes_nothing() -> None:
    pool = BlockPool(4)
    kept = computed(pool, prompt(1))
    before = pool.counts()
    table = BlockTable()
    assert not pool.grow(table, 3 * BLOCK_TOKENS)
    assert table.blocks == []
    assert pool.counts() == before
    assert pool.grow(table, 2 * BLOCK_TOKENS)
    assert not set(table.blocks) & set(kept.blocks)


def test_of_two_who_computed_the_same_the_first_is_found_and_both_go_on() -> None:
    pool = BlockPool(16)
    ids = prompt(2)
    first, second = BlockTable(), BlockTable()
    for table in (first, second):
        assert pool.grow(table, len(ids))
    for table in (first, second):
        pool.publish(table, ids, num_tokens=len(ids), salt="a")
    assert pool.match(ids, salt="a").blocks == first.blocks[:2]
    # What the second computes after the same beginning is found behind the first's blocks.
    longer = [*ids[: 2 * BLOCK_TOKENS], *prompt(1, seed=5)]
    assert pool.grow(second, len(longer))
    pool.publish(second, longer, num_tokens=len(longer), salt="a")
    assert pool.match(longer, salt="a").blocks == [*first.blocks[:2], second.blocks[2]]


def test_hits_count_once_however_often_a_prompt_was_looked_up_before_there_was_room() -> None:
    pool = BlockPool(4)
    running = computed(pool, prompt(2))
    for _ in range(5):
        waiting = pool.match([*prompt(2), *prompt(3, seed=1)], salt="a")
        assert not pool.grow(waiting, 6 * BLOCK_TOKENS)
        pool.release(waiting)
    pool.release(running)
    table = pool.match(prompt(2), salt="a")
    assert pool.grow(table, 3 * BLOCK_TOKENS)
    assert pool.grow(table, 4 * BLOCK_TOKENS)
    assert pool.counts().num_hit_tokens == 2 * BLOCK_TOKENS


def test_a_pinned_prefix_stays_whatever_is_needed() -> None:
    pool = BlockPool(8)
    table = computed(pool, prompt(3))
    assert pool.pin("terms", table, 3 * BLOCK_TOKENS) == Pinned(
        name="terms", num_tokens=3 * BLOCK_TOKENS, blocks=tuple(table.blocks[:3])
    )
    pool.release(table)
    greedy = BlockTable()
    assert not pool.grow(greedy, 6 * BLOCK_TOKENS)
    assert pool.grow(greedy, 5 * BLOCK_TOKENS)
    assert len(pool.match(prompt(3), salt="a").blocks) == 3
    assert [pin.name for pin in pool.pins()] == ["terms"]


def test_what_is_unpinned_can_be_evicted() -> None:
    pool = BlockPool(4)
    table = computed(pool, prompt(1, extra=0))
    pool.pin("terms", table, BLOCK_TOKENS)
    pool.release(table)
    assert pool.unpin("terms")
    assert not pool.unpin("terms")
    assert pool.counts().num_pinned == 0
    assert pool.grow(BlockTable(), 4 * BLOCK_TOKENS)


def test_a_pin_of_the_same_name_takes_the_place_of_the_first() -> None:
    pool = BlockPool(8, max_pins=1, max_pinned_share=0.5)
    first, second = computed(pool, prompt(3)), computed(pool, prompt(2, seed=1))
    assert isinstance(pool.pin("terms", first, 3 * BLOCK_TOKENS), Pinned)
    assert isinstance(pool.pin("terms", second, 2 * BLOCK_TOKENS), Pinned)
    assert pool.counts().num_pinned == 2
    assert isinstance(pool.pin("terms", second, 2 * BLOCK_TOKENS), Pinned)
    assert pool.counts().num_pinned == 2


@pytest.mark.parametrize(
    ("name", "num_tokens", "refused"),
    [
        ("new", 15, PinRefused(reason="too_short", limit=16, observed=15)),
        ("new", 4 * BLOCK_TOKENS, PinRefused(reason="not_cached", limit=4, observed=3)),
        ("new", 2 * BLOCK_TOKENS, PinRefused(reason="too_many_pins", limit=1, observed=2)),
        ("old", 3 * BLOCK_TOKENS, PinRefused(reason="too_many_blocks", limit=2, observed=3)),
    ],
    ids=["less than a block", "not computed", "too many pins", "too many blocks"],
)
def test_what_cannot_be_pinned_is_refused_by_name(name: str, num_tokens: int, refused: PinRefused) -> None:
    pool = BlockPool(20, max_pins=1, max_pinned_share=0.1)
    table = computed(pool, prompt(3))
    assert isinstance(pool.pin("old", table, 2 * BLOCK_TOKENS), Pinned)
    before = pool.counts()
    assert pool.pin(name, table, num_tokens) == refused
    assert pool.counts() == before


class PoolMachine(RuleBasedStateMachine):
    """Sequences come, grow, publish and go; prompts are short strings over two tokens, so that they meet."""

    NUM_BLOCKS = 12

    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(self.NUM_BLOCKS, max_pins=2, max_pinned_share=0.4)
        self.tables: list[tuple[BlockTable, list[int], str]] = []
        self.content: dict[int, tuple[str, tuple[int, ...]]] = {}
        """What was written to a block that somebody may find: salt and all tokens up to its end."""
        self.pinned: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {}

    @rule(
        shape=st.lists(st.integers(0, 1), min_size=1, max_size=4),
        extra=st.integers(0, 2),
        salt=st.sampled_from(["a", "b"]),
    )
    def come(self, shape: list[int], extra: int, salt: str) -> None:
        ids = [token for token in shape for _ in range(BLOCK_TOKENS)] + [9] * extra
        table = self.pool.match(ids, salt=salt)
        assert table.num_matched_tokens < len(ids)
        for index, block in enumerate(table.blocks):
            assert self.content[block] == (salt, tuple(ids[: (index + 1) * BLOCK_TOKENS]))
        available, before = self.pool.num_available, list(table.blocks)
        needed = -(-len(ids) // BLOCK_TOKENS) - len(before)
        if self.pool.grow(table, len(ids)):
            assert table.blocks[: len(before)] == before
            for block in table.blocks[len(before) :]:
                self.content.pop(block, None)
            self.tables.append((table, ids, salt))
        else:
            assert needed > available
            assert table.blocks == before
            self.pool.release(table)

    @precondition(lambda self: self.tables)
    @rule(which=st.integers(0, 99), num_tokens=st.integers(0, 80))
    def publish(self, which: int, num_tokens: int) -> None:
        table, ids, salt = self.tables[which % len(self.tables)]
        self.pool.publish(table, ids, num_tokens=num_tokens, salt=salt)
        for index, block in enumerate(table.blocks[: min(num_tokens, len(ids)) // BLOCK_TOKENS]):
            self.content[block] = (salt, tuple(ids[: (index + 1) * BLOCK_TOKENS]))

    @precondition(lambda self: self.tables)
    @rule(which=st.integers(0, 99))
    def go(self, which: int) -> None:
        table, _, _ = self.tables.pop(which % len(self.tables))
        self.pool.release(table)
        self.pool.release(table)

    @precondition(lambda self: self.tables)
    @rule(which=st.integers(0, 99), name=st.sampled_from(["x", "y", "z"]), num_tokens=st.integers(1, 64))
    def pin(self, which: int, name: str, num_tokens: int) -> None:
        table, ids, salt = self.tables[which % len(self.tables)]
        pinned = self.pool.pin(name, table, num_tokens)
        if isinstance(pinned, Pinned):
            self.pinned[name] = (salt, tuple(ids[: pinned.num_tokens]), tuple(pinned.blocks))

    @rule(name=st.sampled_from(["x", "y", "z"]))
    def unpin(self, name: str) -> None:
        assert self.pool.unpin(name) == (self.pinned.pop(name, None) is not None)

    @invariant()
    def every_block_is_accounted_for(self) -> None:
        held = Counter(block for table, _, _ in self.tables for block in table.blocks)
        held += Counter(block for _, _, blocks in self.pinned.values() for block in blocks)
        counts = self.pool.counts()
        assert counts.num_used == len(held)
        assert counts.num_free + counts.num_cached + counts.num_used == self.NUM_BLOCKS
        assert counts.num_pinned == len({block for _, _, blocks in self.pinned.values() for block in blocks})
        assert all(len(set(table.blocks)) == len(table.blocks) for table, _, _ in self.tables)

    @invariant()
    def a_block_of_two_tables_is_one_that_was_matched(self) -> None:
        held = Counter(block for table, _, _ in self.tables for block in table.blocks)
        for block, count in held.items():
            assert count == 1 or block in self.content

    @invariant()
    def pins_are_found(self) -> None:
        for salt, ids, blocks in self.pinned.values():
            table = self.pool.match([*ids, 0], salt=salt)
            assert tuple(table.blocks) == blocks
            self.pool.release(table)

    def teardown(self) -> None:
        for table, _, _ in self.tables:
            self.pool.release(table)
        for name in ("x", "y", "z"):
            self.pool.unpin(name)
        assert self.pool.num_available == self.NUM_BLOCKS
        assert self.pool.counts().num_used == 0


TestPoolMachine = PoolMachine.TestCase
TestPoolMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
