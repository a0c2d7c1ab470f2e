"""Nodes of arrays written as Lark: the engine takes exactly the arrays of the node, and comes to no dead end."""

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler_pool.form.item_burden import MAX_AT_ONCE, size_of
from compiler_pool.form.nodes import DistinctItems, Form, ItemMachine, ItemMove, Items, ItemState, Literals, NodeId
from compiler_pool.form.pruning import pruned
from compiler_pool.lark.writer import write_form
from tests.compiler_pool.lark.form_texts import generates, matcher_of, walk

ITEMS: Final = {1: "0", 2: "1", 3: "02"}
"""By node, the items that it has, a digit each."""
LITERALS: Final = tuple(Literals(texts=tuple(digits)) for digits in ITEMS.values())

nodes = st.sampled_from([NodeId(number) for number in ITEMS])
lengths = st.integers(0, 5)
bounds = st.none() | lengths


def arrays(alphabet: str = "012", longest: int = 5) -> Iterator[tuple[str, ...]]:
    for length in range(longest + 1):
        yield from product(alphabet, repeat=length)


def text(array: tuple[str, ...]) -> str:
    return f"[{','.join(array)}]"


def form_of(node: Items | ItemMachine | DistinctItems) -> Form | None:
    return pruned(Form(nodes=(node, *LITERALS), root=NodeId(0)))


def has_length(node: Items | ItemMachine | DistinctItems, array: tuple[str, ...]) -> bool:
    return len(array) >= node.at_least and (node.at_most is None or len(array) <= node.at_most)


def in_items(node: Items, array: tuple[str, ...]) -> bool:
    parts = [node.prefix[at] if at < len(node.prefix) else node.rest for at in range(len(array))]
    return has_length(node, array) and all(
        part is not None and item in ITEMS[part] for part, item in zip(parts, array, strict=True)
    )


def in_machine(machine: ItemMachine, array: tuple[str, ...]) -> bool:
    states = {0}
    for item in array:
        moves = [move for state in states for move in machine.states[state].moves]
        states = {move.target for move in moves if item in ITEMS[move.item]}
    return has_length(machine, array) and any(machine.states[state].is_final for state in states)


def counting(count: int, *, at_least: int = 0, at_most: int | None = None) -> ItemMachine:
    """At least so many items are 0; which of them are counted is left open."""
    some, zero = NodeId(3), NodeId(1)
    states = [
        ItemState(is_final=False, moves=(ItemMove(item=some, target=at), ItemMove(item=zero, target=at + 1)))
        for at in range(count)
    ]
    states.append(ItemState(is_final=True, moves=(ItemMove(item=some, target=count),)))
    return ItemMachine(states=tuple(states), at_least=at_least, at_most=at_most)


@st.composite
def machines(draw: st.DrawFn) -> ItemMachine:
    """States that lead onwards or stay, and sometimes back; more of the same behind, so that all ways of writing one
    are used."""
    count = draw(st.integers(1, 5))
    goes_back = draw(st.booleans())
    states: list[ItemState] = []
    for at in range(count):
        targets = st.integers(0 if goes_back else at, count - 1)
        moves = draw(st.lists(st.builds(ItemMove, item=nodes, target=targets), max_size=3, unique=True))
        states.append(ItemState(is_final=draw(st.booleans()), moves=tuple(moves)))
    return ItemMachine(states=tuple(states), at_least=draw(lengths), at_most=draw(bounds))


@settings(max_examples=150, deadline=None)
@given(
    st.builds(
        Items, prefix=st.tuples() | st.tuples(nodes, nodes), rest=st.none() | nodes, at_least=lengths, at_most=bounds
    )
)
def test_places_are_written_as_they_are(node: Items) -> None:
    form = form_of(node)
    if form is None:
        assert not any(in_items(node, array) for array in arrays())
        return
    matcher = matcher_of(write_form(form).text())
    for array in arrays():
        assert generates(matcher, text(array)) == in_items(node, array), array


@settings(max_examples=150, deadline=None)
@given(machines())
def test_states_are_written_as_they_are(machine: ItemMachine) -> None:
    form = form_of(machine)
    if form is None:
        assert not any(in_machine(machine, array) for array in arrays())
        return
    matcher = matcher_of(write_form(form).text())
    for array in arrays():
        assert generates(matcher, text(array)) == in_machine(machine, array), array


@settings(max_examples=40, deadline=None)
@given(machines(), st.randoms(use_true_random=False))
def test_no_walk_through_states_ends_in_nothing(machine: ItemMachine, random: Random) -> None:
    form = form_of(machine)
    if form is not None:
        matcher = matcher_of(write_form(form).text())
        for _ in range(5):
            walk(matcher, random, longest=10)


@pytest.mark.parametrize("num_places", [60, 400])
def test_a_long_prefix_may_end_anywhere(num_places: int) -> None:
    node = Items(prefix=(NodeId(1), NodeId(2)) * (num_places // 2), rest=NodeId(3))
    form = form_of(node)
    assert form is not None
    matcher = matcher_of(write_form(form).text())
    whole = ("0", "1") * (num_places // 2)
    for end in (0, 1, 2, 31, 50, num_places):
        assert generates(matcher, text(whole[:end]))
    assert generates(matcher, text((*whole, "2", "0", "2")))
    assert not generates(matcher, text((*whole, "1")))
    assert not generates(matcher, text((*whole[:50], "1")))


def test_ten_thousand_items_are_counted() -> None:
    form = form_of(Items(rest=NodeId(1), at_least=9_990, at_most=10_000))
    assert form is not None
    matcher = matcher_of(write_form(form).text())
    taken = [generates(matcher, text(("0",) * length)) for length in (9_989, 9_990, 10_000, 10_001)]
    assert taken == [False, True, True, False]


def test_items_are_counted_twice_over_in_long_arrays() -> None:
    form = form_of(counting(2, at_least=100, at_most=2_000))
    assert form is not None
    matcher = matcher_of(write_form(form).text())
    assert generates(matcher, text(("2",) * 500 + ("0",) + ("2",) * 500 + ("0",)))
    assert generates(matcher, text(("0",) * 2_000))
    assert not generates(matcher, text(("0",) * 2_001))
    assert not generates(matcher, text(("0",) * 99))
    assert not generates(matcher, text(("2",) * 500 + ("0",) + ("2",) * 500))


def test_an_open_count_costs_the_engine_no_row_for_each_item() -> None:
    machine = counting(8)
    assert size_of(machine) <= MAX_AT_ONCE
    form = form_of(machine)
    assert form is not None
    assert generates(matcher_of(write_form(form).text()), text(("0",) * 3_000))


def test_an_exact_count_of_many_states_is_written_backwards() -> None:
    other, zero = NodeId(2), NodeId(1)
    states = [
        ItemState(is_final=at > 100, moves=(ItemMove(item=other, target=at), ItemMove(item=zero, target=at + 1)))
        for at in range(150)
    ]
    states.append(ItemState(is_final=True, moves=(ItemMove(item=other, target=150),)))
    form = form_of(ItemMachine(states=tuple(states)))
    assert form is not None
    matcher = matcher_of(write_form(form).text())
    for count, is_taken in ((100, False), (101, True), (150, True), (151, False)):
        assert generates(matcher, text(("1", "0") * count)) == is_taken


@pytest.mark.parametrize(("at_least", "at_most"), [(0, None), (0, 0), (1, 2), (3, None), (4, 4), (2, 9)])
def test_different_items_come_once_each_in_any_order(at_least: int, at_most: int | None) -> None:
    node = DistinctItems(texts=tuple("0123"), at_least=at_least, at_most=at_most)
    form = form_of(node)
    assert form is not None
    matcher = matcher_of(write_form(form).text())
    for array in arrays("0123", 4):
        is_in = len(set(array)) == len(array) and has_length(node, array)
        assert generates(matcher, text(array)) == is_in, array


@settings(max_examples=80, deadline=None)
@given(
    st.builds(
        DistinctItems,
        texts=st.sampled_from([tuple("01"), tuple("0123")]),
        at_least=st.integers(0, 3),
        at_most=bounds,
        num_found=st.integers(0, 2),
        found_at_least=st.integers(0, 2),
        found_at_most=st.none() | st.integers(0, 2),
    ),
    st.randoms(use_true_random=False),
)
def test_some_of_the_different_items_are_counted(node: DistinctItems, random: Random) -> None:
    def is_in(array: tuple[str, ...]) -> bool:
        num_found = sum(item in node.texts[: node.num_found] for item in array)
        is_few = node.found_at_most is None or num_found <= node.found_at_most
        is_different = len(set(array)) == len(array)
        return is_different and has_length(node, array) and num_found >= node.found_at_least and is_few

    form = form_of(node)
    if form is None:
        assert not any(map(is_in, arrays("".join(node.texts), 4)))
        return
    matcher = matcher_of(write_form(form).text())
    for array in arrays("".join(node.texts), 4):
        assert generates(matcher, text(array)) == is_in(array), array
    for _ in range(3):
        walk(matcher, random, longest=10)


def test_sixty_three_values_are_told_apart_by_a_bit_each() -> None:
    values = tuple(str(number) for number in range(63))
    form = form_of(DistinctItems(texts=values, at_least=60))
    assert form is not None
    matcher = matcher_of(write_form(form).text())
    shuffled = Random(3).sample(values, 63)
    assert generates(matcher, text(tuple(shuffled)))
    assert generates(matcher, text(tuple(shuffled[:60])))
    assert not generates(matcher, text(tuple(shuffled[:59])))
    assert not generates(matcher, text((*shuffled[:60], shuffled[0])))


def test_few_items_out_of_many_values_are_told_apart_by_their_numbers() -> None:
    values = tuple(str(number) for number in range(200))
    form = form_of(DistinctItems(texts=values, at_least=2, at_most=4))
    assert form is not None
    matcher = matcher_of(write_form(form).text())
    for taken in ("0 199", "199 0 1", "5 6 7 8"):
        assert generates(matcher, text(tuple(taken.split())))
    for refused in ("0", "0 0", "5 6 5", "5 6 7 7", "5 6 7 5", "5 6 7 8 9"):
        assert not generates(matcher, text(tuple(refused.split())))


def test_different_items_may_be_arrays_and_objects() -> None:
    values = ("[]", "[0]", '{"a":[0]}', '{"a":[0],"b":1}', "1")
    form = form_of(DistinctItems(texts=values))
    assert form is not None
    matcher = matcher_of(write_form(form).text())
    for array in arrays("01234", 3):
        chosen = tuple(values[int(digit)] for digit in array)
        assert generates(matcher, text(chosen)) == (len(set(chosen)) == len(chosen)), chosen
