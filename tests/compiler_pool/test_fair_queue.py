"""The waiting line: turns between partitions and classes, order within one, and places that are given up or lost."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from compiler_pool.fair_queue import FairQueue
from compiler_pool.job import Partition
from compiler_pool.standing import TURNS, Standing, Urgency


def of(name: str, urgency: Urgency = Urgency.TENANT) -> Standing:
    return Standing(partition=Partition(name), urgency=urgency)


def queue(max_queued: int = 100) -> FairQueue[str]:
    return FairQueue(max_queued=max_queued, turned_away="turned away")


def place(line: FairQueue[str], standing: Standing) -> "asyncio.Future[str]":
    joined = line.join(standing)
    assert joined is not None
    return joined


async def test_partitions_are_served_in_turn_and_each_in_order() -> None:
    line = queue()
    places = [place(line, of(name)) for name in "aaabcb"]
    for item in "012345":
        assert line.offer(item)
    assert [each.result() for each in places] == ["0", "3", "5", "1", "2", "4"]
    assert not line.offer("6")
    assert len(line) == 0


async def test_who_sends_dear_jobs_waits_for_them() -> None:
    line = queue()
    dear, cheap = of("dear"), of("cheap")
    order = []
    for standing in [dear] * 5 + [cheap] * 5:
        place(line, standing)
    for _ in range(10):
        before = (line.num_held(dear.partition), line.num_held(cheap.partition))
        assert line.offer("worker")
        is_dear = line.num_held(dear.partition) > before[0]
        order.append("dear" if is_dear else "cheap")
        line.done(dear if is_dear else cheap, 10.0 if is_dear else 1.0)
    assert order == ["dear", *["cheap"] * 5, *["dear"] * 4]


async def test_absence_is_no_credit() -> None:
    line = queue()
    old, late = of("old"), of("late")
    for _ in range(10):
        place(line, old)
        line.offer("worker")
        line.done(old, 1.0)
    for standing in (old, old, old, late, late, late):
        place(line, standing)
    num_late = 0
    for _ in range(4):
        before = line.num_held(late.partition)
        line.offer("worker")
        is_late = line.num_held(late.partition) > before
        num_late += is_late
        line.done(late if is_late else old, 1.0)
    assert num_late <= 3  # not four in a row for what it did not use before


async def test_every_class_has_its_turns_and_none_starves() -> None:
    line = queue(max_queued=1000)
    places = {urgency: [place(line, of("x", urgency)) for _ in range(200)] for urgency in Urgency}
    for _ in range(sum(TURNS.values()) * 5):
        assert line.offer("worker")
    served = {urgency: sum(each.done() for each in those) for urgency, those in places.items()}
    assert served == {urgency: turns * 5 for urgency, turns in TURNS.items()}


async def test_a_class_that_had_nothing_to_do_has_saved_no_turns_up() -> None:
    line = queue(max_queued=1000)
    for _ in range(100):
        place(line, of("x", Urgency.GOVERNED))
        line.offer("worker")
    tenants = [place(line, of("y", Urgency.TENANT)) for _ in range(20)]
    governed = [place(line, of("x", Urgency.GOVERNED)) for _ in range(20)]
    for _ in range(10):
        line.offer("worker")
    assert sum(each.done() for each in governed) >= 7
    assert sum(each.done() for each in tenants) >= 1


async def test_what_rises_while_it_waits_is_served_by_what_it_has_become() -> None:
    line = queue()
    nobodys = of("x", Urgency.PRECOMPILE)
    waiting = place(line, nobodys)
    others = [place(line, of("y", Urgency.TENANT)) for _ in range(3)]
    line.offer("worker")
    nobodys.raise_to(Urgency.GOVERNED)
    line.offer("worker")
    assert waiting.done()
    assert [each.done() for each in others] == [True, False, False]
    nobodys.raise_to(Urgency.TENANT)
    assert nobodys.urgency is Urgency.GOVERNED


async def test_no_partition_gets_more_than_it_may_hold() -> None:
    line = queue()
    greedy, modest = of("greedy"), of("modest")
    places = [place(line, greedy) for _ in range(3)]
    assert line.offer("one", max_held=1)
    assert not line.offer("two", max_held=1)
    other = place(line, modest)
    assert line.offer("two", max_held=1)
    assert other.result() == "two"
    line.done(greedy, 0.1)
    assert line.offer("one", max_held=1)
    assert [each.done() for each in places] == [True, True, False]


async def test_a_place_that_was_given_up_is_skipped() -> None:
    line = queue()
    first, second = place(line, of("a")), place(line, of("a"))
    line.leave(of("a"), first)
    assert len(line) == 1
    assert line.offer("x")
    assert second.result() == "x"
    assert not first.done()


async def test_a_cancelled_place_takes_nothing() -> None:
    line = queue()
    first, second = place(line, of("a")), place(line, of("b"))
    first.cancel()
    assert line.offer("x")
    assert second.result() == "x"
    line.leave(of("a"), first)
    assert len(line) == 0


async def test_the_bound_counts_all_partitions() -> None:
    line = queue(max_queued=2)
    place(line, of("a"))
    second = place(line, of("b"))
    assert line.join(of("a")) is None
    line.leave(of("b"), second)
    line.leave(of("b"), second)
    assert line.join(of("a")) is not None


async def test_a_flood_drowns_itself() -> None:
    line = queue(max_queued=4)
    flood = [place(line, of("flood")) for _ in range(4)]
    assert line.join(of("flood")) is None
    assert line.join(of("other")) is not None
    assert [each.done() for each in flood] == [False, False, False, True]
    assert flood[3].result() == "turned away"
    assert line.join(of("other")) is not None
    assert line.join(of("other")) is None  # two places against two: as good a right
    assert len(line) == 4


async def test_the_urgent_push_out_what_nobody_waits_for_and_never_the_other_way_round() -> None:
    line = queue(max_queued=2)
    idle = place(line, of("x", Urgency.PRECOMPILE))
    place(line, of("y", Urgency.GOVERNED))
    assert line.join(of("z", Urgency.TENANT)) is not None
    assert idle.result() == "turned away"
    assert line.join(of("z", Urgency.PRECOMPILE)) is None


async def test_a_line_that_may_hold_nobody_turns_everybody_away() -> None:
    line = queue(max_queued=0)
    assert line.join(of("a", Urgency.GOVERNED)) is None


async def test_a_closing_line_turns_everybody_away() -> None:
    line = queue()
    places = [place(line, of(name)) for name in "aab"]
    line.dismiss()
    assert [each.result() for each in places] == ["turned away"] * 3
    assert len(line) == 0


async def test_how_many_start_before_a_newcomer_counts_each_partition_as_often_as_its_own() -> None:
    line = queue()
    for name in "aaaaabbc":
        place(line, of(name))
    assert line.num_before(of("a")) == 5 + 2 + 1
    assert line.num_before(of("c")) == 1 + 2 + 2
    assert line.num_before(of("new")) == 3


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["join", "leave", "offer", "done"]), st.sampled_from("abc"), st.sampled_from(list(Urgency))
        ),
        max_size=60,
    )
)
def test_whatever_happens_nobody_is_lost_and_the_count_is_right(steps: list[tuple[str, str, Urgency]]) -> None:
    async def run() -> None:
        line = queue(max_queued=5)
        waiting: list[tuple[Standing, asyncio.Future[str]]] = []
        held: list[Standing] = []
        for step, name, urgency in steps:
            if step == "join" and (joined := line.join(of(name, urgency))) is not None:
                waiting.append((of(name, urgency), joined))
            elif step == "leave" and waiting:
                line.leave(*waiting.pop())
            elif step == "offer":
                line.offer("worker", max_held=2)
            elif step == "done" and held:
                line.done(held.pop(), 0.5)
            held += [standing for standing, future in waiting if future.done() and future.result() == "worker"]
            waiting = [(standing, future) for standing, future in waiting if not future.done()]
            assert len(line) == len(waiting) <= 5
            for each in "abc":
                assert line.num_held(Partition(each)) == sum(standing.partition == each for standing in held) <= 2

    asyncio.run(run())
