"""Which machines of items an engine bears: measured on the row of items that llguidance holds at one place."""

from graphlib import CycleError, TopologicalSorter
from typing import Final

from compiler_pool.form.nodes import ItemMachine

MAX_STATES: Final = 2_000
"""Of one machine."""
MAX_AT_ONCE: Final = 300
"""States and moves of a machine that may be in many states at once: each is held where the array begins."""
MAX_CHAIN: Final = 300
"""States in a row: all end where the array ends."""
MAX_COUNTED_PAIRS: Final = 15
"""Pairs of states that can go on for ever, one before the other, in a machine whose items are counted as well: each is
held for every power of two up to the count."""


def size_of(machine: ItemMachine) -> int:
    """States and moves."""
    return len(machine.states) + sum(len(state.moves) for state in machine.states)


def num_lasting(machine: ItemMachine) -> int:
    """States in which the machine may stay."""
    return sum(any(move.target == at for move in state.moves) for at, state in enumerate(machine.states))


def longest_chain(machine: ItemMachine) -> int:
    """The most states in a row from the first one, where staying in one is no step; past any limit where they go
    round."""
    steps = {at: {move.target for move in state.moves} - {at} for at, state in enumerate(machine.states)}
    longest: dict[int, int] = {}
    try:
        for at in TopologicalSorter(steps).static_order():
            longest[at] = 1 + max((longest[target] for target in steps[at]), default=0)
    except CycleError:
        return MAX_STATES + 1
    return longest[0]


def is_borne(machine: ItemMachine, *, is_ambiguous: bool) -> bool:
    """Whether an engine bears the machine. `is_ambiguous`: one array may take it to several states."""
    lasting = num_lasting(machine)
    if machine.at_least > 0 or machine.at_most is not None:
        return lasting * (lasting + 1) // 2 <= MAX_COUNTED_PAIRS
    if size_of(machine) <= MAX_AT_ONCE or lasting <= 1:
        return True
    return not is_ambiguous and longest_chain(machine) <= MAX_CHAIN
