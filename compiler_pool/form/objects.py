"""Nodes of objects: a formula over members, as machines that read them in the order in which they are generated."""

from compiler_pool.form.making import Making
from compiler_pool.form.member_scopes import sayable
from compiler_pool.form.nodes import Node
from compiler_pool.form.object_splits import object_machines
from registry.algebra.formulas import FALSE, Formula


def object_nodes(flat: Formula, making: Making) -> list[Node]:
    """The nodes of the objects that satisfy a flat formula; none if it is seen that there is none.

    Raises `ExpansionSpentError`.
    """
    formula = sayable(flat, making)
    return [] if formula == FALSE else [*object_machines(formula, making)]
