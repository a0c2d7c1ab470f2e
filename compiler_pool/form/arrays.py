"""Arrays of a flat formula, one node for each case."""

from math import comb
from typing import Final

from compiler_pool.form.array_cases import ArrayCase, array_case
from compiler_pool.form.constant_texts import constant_text
from compiler_pool.form.differing import placed_values
from compiler_pool.form.item_machines import item_machine
from compiler_pool.form.item_trackers import (
    CountTracker,
    DifferenceTracker,
    ExclusionTracker,
    ItemTracker,
    PlacedValues,
    RepetitionTracker,
)
from compiler_pool.form.making import Making
from compiler_pool.form.nodes import DistinctItems, Items, Node
from registry.algebra.formulas import Formula

MAX_LISTED: Final = 256
"""Values among which items are told apart."""
MEMORY_BITS: Final = 63
"""What an engine is asked to remember of the items that have been there: a word."""
MAX_COMPARISONS: Final = 2_000
"""Of one value with those that have been there, for all values and places together."""
MAX_MEMORIES: Final = 600
"""Of what has been there, at all places together: sets of values of which any may have been there."""
_ENDLESS_VALUES: Final = (
    f"no grammar can keep items apart that have more than {MAX_LISTED} values in common; list the values (enum), "
    "or let the validator check it afterwards"
)
_TOO_MANY_VALUES: Final = (
    "a grammar can remember 63 values that have been there, or more if the items are few: set maxItems, "
    "or let the validator check it afterwards"
)


def array_nodes(flat: Formula, making: Making) -> list[Node]:
    """Nodes that together have the arrays for which the formula holds.

    Raises `ExpansionSpentError`.
    """
    nodes: dict[Node, None] = {}
    for atoms in making.cases(flat):
        case = array_case(atoms, making)
        node = None if case is None else _node(case, making)
        if node is not None:
            nodes[node] = None
    return list(nodes)


def _node(case: ArrayCase, making: Making) -> Node:
    trackers: list[ItemTracker] = [CountTracker(counted=one) for one in case.counted]
    if case.excluded:
        trackers.append(ExclusionTracker(case.excluded, making.solver.terms))
    if case.all_differ or case.some_equal:
        placed = placed_values(case, making, at_most=MAX_LISTED)
        if placed is None:
            making.cannot("uniqueItems", _ENDLESS_VALUES)
        elif case.some_equal:
            trackers.append(RepetitionTracker(placed))
        else:
            distinct = _distinct(case, placed, making)
            if distinct is not None:
                return distinct
            if _num_memories(placed) <= MAX_MEMORIES:
                is_last_repeated = case.at_most is None or case.at_most > case.num_special + 1
                if is_last_repeated:
                    # Each value once: past the special places, no more items than values.
                    case.bound(case.num_special + len(placed.at[-1]))
                trackers.append(DifferenceTracker(placed, making.solver.terms))
            else:
                making.cannot("uniqueItems", _TOO_MANY_VALUES)
    if not trackers:
        return _items(case, making)
    machine = item_machine(case, trackers, making)
    if machine is None:
        _refuse(trackers, making)
        return _items(case, making)
    return machine


def _refuse(trackers: list[ItemTracker], making: Making) -> None:
    """Say of all that the trackers were for that it is not in the grammar."""
    reason = "counting such items, or telling them apart, takes more states than an engine bears"
    for tracker in trackers:
        match tracker:
            case CountTracker():
                making.cannot("contains", reason)
            case DifferenceTracker() | RepetitionTracker():
                making.cannot("uniqueItems", reason)
            case _:
                making.cannot("not", reason)


def _distinct(case: ArrayCase, placed: PlacedValues, making: Making) -> DistinctItems | None:
    """The node of arrays whose places all take the same few values; None if the case is another."""
    places = placed.at if case.at_most is None or case.at_most > len(placed.at) - 1 else placed.at[: case.at_most]
    if len(set(places)) != 1 or any(placed.takes_others) or case.excluded or len(case.counted) > 1:
        return None
    found: set[str] = set()
    for one in case.counted:
        truths = {text: making.solver.truth.wanted(one.wanted, placed.values[text]) for text in places[0]}
        if one.start > 0 or one.stop is not None or None in truths.values():
            return None
        found = {text for text, truth in truths.items() if truth}
    if not can_tell_apart(len(places[0]), case.at_most, counts_found=bool(case.counted)):
        return None
    counted = case.counted[0] if case.counted else None
    return DistinctItems(
        texts=tuple(constant_text(placed.values[text]) for text in [*sorted(found), *sorted(places[0] - found)]),
        at_least=case.at_least,
        at_most=case.at_most,
        num_found=len(found),
        found_at_least=0 if counted is None else counted.at_least,
        found_at_most=None if counted is None else counted.at_most,
    )


def can_tell_apart(num_values: int, at_most: int | None, *, counts_found: bool = False) -> bool:
    """Whether so many values can be kept apart in one word: a bit for each, or a field for each item but the last.

    Only bits can be counted.
    """
    if num_values <= MEMORY_BITS:
        return True
    if counts_found or at_most is None or num_values * at_most * (at_most - 1) // 2 > MAX_COMPARISONS:
        return False
    return (at_most - 1) * (num_values - 1).bit_length() <= MEMORY_BITS


def _num_memories(placed: PlacedValues) -> int:
    """At most so many sets of values may have been there, at all places together, as far as that matters later."""
    earlier: set[str] = set()
    total = 0
    for place, texts in enumerate(placed.at):
        earlier |= texts
        shared = len(earlier & placed.later(place))
        is_last = place == len(placed.at) - 1
        total += sum(comb(shared, size) for size in range(min(shared, shared if is_last else place + 1) + 1))
    return total


def _items(case: ArrayCase, making: Making) -> Items:
    """Items that depend on nothing but their places."""
    special, at_most = case.num_special, case.at_most
    goals = [case.demand(place) for place in range(special if at_most is None else min(special, at_most))]
    making.spending.states(len(goals))
    rest = case.demand(special) if at_most is None or at_most > special else None
    while goals and goals[-1] == rest:
        goals.pop()
    return Items(
        prefix=tuple(map(making.node, goals)),
        rest=None if rest is None else making.node(rest),
        at_least=case.at_least,
        at_most=at_most,
    )
