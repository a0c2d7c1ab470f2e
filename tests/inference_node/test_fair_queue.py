"""Partitions take turns, whatever one of them sends."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_node.fair_queue import FairQueue, QueueFull


def queue(max_waiting: int = 100, partition_share: float = 1.0) -> FairQueue[str]:
    """Items are texts whose first letter is their partition."""
    return FairQueue(max_waiting=max_waiting, partition_share=partition_share, partition_of=lambda item: item[0])


def test_one_partition_alone_is_served_in_its_order() -> None:
    waiting = queue()
    for item in ("a1", "a2", "a3"):
        waiting.push(item)
    assert [waiting.pop() for _ in range(3)] == ["a1", "a2", "a3"]
    with pytest.raises(LookupError):
        waiting.pop()


def test_a_newcomer_does_not_wait_behind_a_crowd() -> None:
    waiting = queue()
    for number in range(50):
        waiting.push(f"a{number}")
    first = waiting.pop()
    waiting.charge(first[0], 40)
    waiting.push("b0")
    waiting.charge("a", 1)
    # b begins where the least served stands, which is a, and a was given more since.
    assert waiting.pop() == "b0"


def test_service_is_shared_evenly_among_those_who_wait() -> None:
    waiting = queue(max_waiting=1000)
    for number in range(100):
        for partition in "abc":
            waiting.push(f"{partition}{number}")
    taken: Counter[str] = Counter()
    for _ in range(90):
        item = waiting.pop()
        taken[item[0]] += 1
        # One of them asks for answers ten times as long.
        waiting.charge(item[0], 100 if item[0] == "a" else 10)
        waiting.left(item[0])
    assert taken["b"] in {taken["c"], taken["c"] + 1}
    assert 4 <= taken["a"] <= 5


def test_silence_saves_nothing_up() -> None:
    waiting = queue()
    waiting.push("b0")
    waiting.pop()
    waiting.left("b")
    waiting.push("a0")
    waiting.pop()
    waiting.charge("a", 1000)
    waiting.push("b1")
    waiting.push("b2")
    waiting.push("a1")
    waiting.pop()
    waiting.charge("b", 1)
    # b was away; it begins where a stands and gets no thousand rows in a row.
    assert waiting.pop() == "a1"


def test_who_lost_its_place_is_first_of_its_line() -> None:
    waiting = queue()
    waiting.push("a1")
    waiting.push("a0", is_first=True)
    assert waiting.pop() == "a0"


def test_a_partition_fills_its_share_and_no_more() -> None:
    waiting = queue(max_waiting=4, partition_share=0.75)
    for number in range(3):
        assert waiting.refusal("a", num_free=0) is None
        waiting.push(f"a{number}")
    assert waiting.refusal("a", num_free=0) == QueueFull(is_partitions_own=True, limit=3, observed=3)
    assert waiting.refusal("b", num_free=0) is None
    waiting.push("b0")
    assert waiting.refusal("b", num_free=0) == QueueFull(is_partitions_own=False, limit=4, observed=4)
    assert waiting.refusal("b", num_free=1) is None


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 50), st.booleans()), max_size=60))
def test_nobody_is_lost_and_nothing_is_remembered_of_who_is_gone(arrivals: list[tuple[str, int, bool]]) -> None:
    waiting = queue(max_waiting=1000)
    running: list[str] = []
    seen: list[str] = []
    for number, (partition, rows, takes) in enumerate(arrivals):
        waiting.push(f"{partition}{number}")
        if takes:
            running.append(waiting.pop())
            waiting.charge(running[-1][0], rows)
    while len(waiting):
        running.append(waiting.pop())
    for item in running:
        waiting.left(item[0])
        seen.append(item)
    assert sorted(seen) == sorted(f"{partition}{number}" for number, (partition, _, _) in enumerate(arrivals))
    assert not waiting._served
    assert not waiting._lines
    assert not +waiting._running
