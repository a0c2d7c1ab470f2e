"""Members that choices connect stand side by side; all others keep their order."""

from hypothesis import given
from hypothesis import strategies as st

from compiler_pool.form.name_orders import gathered

NAMES = list("abcdefgh")

choices = st.lists(st.lists(st.sampled_from(NAMES), max_size=3), max_size=6)


def connected(one: str, other: str, linked: list[list[str]]) -> bool:
    reached = {one}
    while any(reached & set(choice) and not reached >= set(choice) for choice in linked):
        reached.update(*(choice for choice in linked if reached & set(choice)))
    return other in reached


@given(choices)
def test_connected_names_stand_side_by_side(linked: list[list[str]]) -> None:
    order = gathered(NAMES, linked)
    assert sorted(order) == NAMES
    for at, name in enumerate(order):
        for later in order[at + 2 :]:
            if connected(name, later, linked):
                between = order[at + 1 : order.index(later)]
                assert all(connected(name, one, linked) for one in between)


@given(choices)
def test_the_order_is_kept_within_a_group_and_between_first_members(linked: list[list[str]]) -> None:
    order = gathered(NAMES, linked)
    for at, name in enumerate(order):
        for later in order[at + 1 :]:
            if connected(name, later, linked):
                assert name < later
    leaders = [name for at, name in enumerate(order) if not any(connected(name, one, linked) for one in order[:at])]
    assert leaders == sorted(leaders)


def test_long_chains_are_followed_without_recursion() -> None:
    names = [str(number) for number in range(5_000)]
    pairs = [[names[at + 1], names[at]] for at in range(len(names) - 1)]
    assert gathered(names, pairs) == names
