"""Pruning keeps every text and leaves no way into a dead end."""

from compiler_pool.form.languages import EVERY_STRING
from compiler_pool.form.nodes import (
    AnyOf,
    DistinctItems,
    Form,
    ItemMachine,
    ItemMove,
    Items,
    ItemState,
    Literals,
    MemberMachine,
    MemberMove,
    MemberState,
    Node,
    NodeId,
    Strings,
)
from compiler_pool.form.pruning import pruned

NOTHING = AnyOf(parts=())
NULL = Literals(texts=("null",))


def id_of(number: int) -> NodeId:
    return NodeId(number)


def form(*nodes: Node) -> Form:
    return Form(nodes=nodes, root=NodeId(0))


def test_recursion_without_a_base_has_no_text() -> None:
    assert pruned(form(Items(rest=id_of(0), at_least=1))) is None
    assert pruned(form(AnyOf(parts=(id_of(0),)))) is None


def test_recursion_with_a_base_is_kept_as_it_is() -> None:
    tree = form(Items(rest=id_of(0)))
    assert pruned(tree) == tree


def test_an_alternative_without_a_text_is_dropped() -> None:
    kept = pruned(form(AnyOf(parts=(id_of(1), id_of(2))), NOTHING, NULL))
    assert kept == form(AnyOf(parts=(id_of(1),)), NULL)


def test_a_position_that_nothing_fills_ends_the_array_before_it() -> None:
    kept = pruned(form(Items(prefix=(id_of(1), id_of(2)), rest=id_of(1)), NULL, NOTHING))
    assert kept == form(Items(prefix=(id_of(1),), rest=None, at_most=1), NULL)
    assert pruned(form(Items(prefix=(id_of(1), id_of(2)), at_least=2), NULL, NOTHING)) is None


def test_too_few_distinct_values_are_no_array() -> None:
    assert pruned(form(DistinctItems(texts=("1", "2"), at_least=3))) is None
    assert pruned(form(DistinctItems(texts=("1", "2"), at_least=2, at_most=1))) is None
    assert pruned(form(DistinctItems(texts=("1", "2"), at_least=2))) is not None


def test_states_from_which_no_end_is_reached_are_dropped_with_the_moves_to_them() -> None:
    machine = ItemMachine(
        states=(
            ItemState(is_final=False, moves=(ItemMove(item=id_of(1), target=1), ItemMove(item=id_of(1), target=2))),
            ItemState(is_final=False, moves=(ItemMove(item=id_of(2), target=2),)),
            ItemState(is_final=True),
        )
    )
    kept = pruned(form(machine, NULL, NOTHING))
    assert kept == form(
        ItemMachine(
            states=(ItemState(is_final=False, moves=(ItemMove(item=id_of(1), target=1),)), ItemState(is_final=True))
        ),
        NULL,
    )


def test_a_skip_into_a_dead_end_is_dropped() -> None:
    machine = MemberMachine(
        states=(
            MemberState(is_final=False, moves=(MemberMove(names="a", value=id_of(1), target=2),), skips=(1,)),
            MemberState(is_final=False, moves=(MemberMove(names="b", value=id_of(2), target=2),)),
            MemberState(is_final=True, moves=(MemberMove(names=EVERY_STRING, value=id_of(1), target=2),)),
        )
    )
    kept = pruned(form(machine, NULL, NOTHING))
    assert kept is not None
    root = kept.nodes[0]
    assert isinstance(root, MemberMachine)
    assert len(root.states) == 2
    assert root.states[0].skips == ()
    assert root.states[1].moves == (MemberMove(names=EVERY_STRING, value=id_of(1), target=1),)


def test_what_the_root_does_not_reach_is_gone() -> None:
    kept = pruned(form(NULL, Strings(contents=EVERY_STRING)))
    assert kept == form(NULL)


def test_mutual_recursion_is_fruitful_where_one_of_the_two_has_a_base() -> None:
    nodes = (
        Items(prefix=(id_of(1),), at_least=1),
        AnyOf(parts=(id_of(0), id_of(2))),
        NULL,
    )
    assert pruned(form(*nodes)) == Form(
        nodes=(Items(prefix=(id_of(1),), at_least=1, at_most=1), *nodes[1:]), root=NodeId(0)
    )
