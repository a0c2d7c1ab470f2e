"""One account for all that grows: whatever a contract grows into, its steps run out."""

import pytest

from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from policy.limits import ExpansionBudget

BUDGET = ExpansionBudget(max_disjuncts=8, max_nodes=1_000, max_states=1_000, max_steps=60, max_expression_bytes=1_000)


def test_nodes_and_states_are_paid_for_in_steps() -> None:
    nodes, states = ExpansionSpending(BUDGET), ExpansionSpending(BUDGET)
    with pytest.raises(ExpansionSpentError) as of_nodes:
        for _ in range(BUDGET.max_nodes):
            nodes.node()
    with pytest.raises(ExpansionSpentError) as of_states:
        for _ in range(BUDGET.max_states):
            states.states(1)
    assert (of_nodes.value.limit_name, of_states.value.limit_name) == ("max_steps", "max_steps")


def test_a_limit_of_its_own_comes_first_where_it_is_smaller() -> None:
    spending = ExpansionSpending(
        ExpansionBudget(max_disjuncts=8, max_nodes=2, max_states=3, max_steps=1_000, max_expression_bytes=1_000)
    )
    spending.node()
    spending.node()
    with pytest.raises(ExpansionSpentError) as of_nodes:
        spending.node()
    with pytest.raises(ExpansionSpentError) as of_states:
        spending.states(4)
    assert (of_nodes.value.limit_name, of_states.value.limit_name) == ("max_nodes", "max_states")
