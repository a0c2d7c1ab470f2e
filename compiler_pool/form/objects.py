"""Nodes of objects: a formula over members, as machines that read them in the order in which they are generated."""

from compiler_pool.form.making import Making
from compiler_pool.form.member_machines import MachineBounds, member_machine
from compiler_pool.form.member_scopes import declared_names, sayable
from compiler_pool.form.nodes import Node
from registry.algebra.formulas import FALSE, Formula


def object_nodes(flat: Formula, making: Making) -> list[Node]:
    """The nodes of the objects that satisfy a flat formula; none if it is seen that there is none.

    Raises `ExpansionSpentError`.
    """
    formula = sayable(flat, making)
    if formula == FALSE:
        return []
    names = declared_names(formula)
    budget = making.spending.budget
    bounds = MachineBounds(max_ways=budget.max_disjuncts, max_states=budget.max_states)
    machine = member_machine(formula, names, making, bounds)
    return [] if machine is None else [machine]
