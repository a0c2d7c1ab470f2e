from hypothesis import given
from hypothesis import strategies as st

from inference_node.free_blocks import FreeBlocks


def test_a_sequence_that_grows_block_by_block_stays_in_one_run() -> None:
    free = FreeBlocks(64)
    blocks = free.take(1, after=None)
    for _ in range(20):
        blocks += free.take(1, after=blocks[-1])
    assert blocks == list(range(21))


def test_eight_sequences_that_grow_in_turns_stay_in_runs_of_their_own() -> None:
    free = FreeBlocks(256)
    tables = [free.take(2, after=None) for _ in range(8)]
    for _ in range(20):
        for table in tables:
            table.extend(free.take(1, after=table[-1]))
    for table in tables:
        assert table == list(range(table[0], table[0] + 22))


def test_where_no_run_is_long_enough_several_are_used() -> None:
    free = FreeBlocks(8)
    free.take(8, after=None)
    for block in (1, 2, 5, 7):
        free.add(block)
    assert free.take(2, after=None) == [1, 2]
    assert sorted(free.take(2, after=None)) == [5, 7]
    assert len(free) == 0


def test_the_block_after_the_last_is_not_taken_from_whoever_has_it() -> None:
    free = FreeBlocks(4)
    first, second = free.take(1, after=None), free.take(1, after=0)
    assert (first, second) == ([0], [1])
    assert sorted(free.take(2, after=0)) == [2, 3]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 29)), max_size=60))
def test_what_is_handed_out_was_free_and_is_not_handed_out_twice(moves: list[tuple[int, int]]) -> None:
    free = FreeBlocks(30)
    taken: list[int] = []
    for count, at in moves:
        if count == 0 and taken:
            free.add(taken.pop(at % len(taken)))
            continue
        got = free.take(min(count, len(free)), after=taken[at % len(taken)] if taken else None)
        assert not set(got) & set(taken)
        assert len(set(got)) == len(got)
        taken += got
        assert len(free) == 30 - len(taken)
        assert all((block in free) == (block not in taken) for block in range(30))
