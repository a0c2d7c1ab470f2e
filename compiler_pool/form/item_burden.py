"""Which machines of items an engine bears: measured on the row of items that llguidance holds at one place."""

from typing import Final

from compiler_pool.form.nodes import ItemMachine

MAX_STATES: Final = 2_000
"""Of one machine."""
MAX_AT_ONCE: Final = 300
"""States and moves of a machine that may be in many states at once: each is held where the array begins."""
MAX_LASTING: Final = 300
"""States that can go on for ever: all of them may end at one place."""
MAX_COUNTED_PAIRS: Final = 15
"""Pairs of states that can go on for ever, one before the other, in a machine whose items are counted as well: each is
held for every power of two up to the count."""


def size_of(machine: ItemMachine) -> int:
    """States and moves."""
    return len(machine.states) + sum(len(state.moves) for state in machine.states)


def lasting_states(machine: ItemMachine) -> list[int]:
    """States in which the machine may stay."""
    return [at for at, state in enumerate(machine.states) if any(move.target == at for move in state.moves)]


def is_borne(machine: ItemMachine, *, is_ambiguous: bool) -> bool:
    """Whether an engine bears the machine. `is_ambiguous`: one array may take it to several states."""
    num_lasting = len(lasting_states(machine))
    if machine.at_least > 0 or machine.at_most is not None:
        return num_lasting * (num_lasting + 1) // 2 <= MAX_COUNTED_PAIRS
    if size_of(machine) <= MAX_AT_ONCE:
        return True
    return num_lasting <= MAX_LASTING and not (is_ambiguous and num_lasting > 1)
