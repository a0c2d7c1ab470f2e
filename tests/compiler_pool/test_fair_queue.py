"""The waiting line: turns between partitions, order within one, and places that are given up."""

from compiler_pool.fair_queue import FairQueue
from compiler_pool.job import Partition

A, B, C = Partition("a"), Partition("b"), Partition("c")


async def test_partitions_are_served_in_turn_and_each_in_order() -> None:
    line: FairQueue[int] = FairQueue(max_queued=10)
    places = [line.join(partition) for partition in (A, A, A, B, C, B)]
    for item in range(6):
        assert line.offer(item)
    assert [place.result() for place in places] == [0, 3, 5, 1, 2, 4]
    assert not line.offer(6)
    assert len(line) == 0


async def test_a_place_that_was_given_up_is_skipped() -> None:
    line: FairQueue[str] = FairQueue(max_queued=10)
    first, second = line.join(A), line.join(A)
    line.leave(A, first)
    assert len(line) == 1
    assert line.offer("x")
    assert second.result() == "x"
    assert not first.done()


async def test_a_cancelled_place_takes_nothing() -> None:
    line: FairQueue[str] = FairQueue(max_queued=10)
    first, second = line.join(A), line.join(B)
    first.cancel()
    assert line.offer("x")
    assert second.result() == "x"
    line.leave(A, first)
    assert len(line) == 0


async def test_the_bound_counts_all_partitions() -> None:
    line: FairQueue[str] = FairQueue(max_queued=2)
    line.join(A)
    place = line.join(B)
    full = [line.is_full]
    line.leave(B, place)
    line.leave(B, place)
    full.append(line.is_full)
    assert full == [True, False]
