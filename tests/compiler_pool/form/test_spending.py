"""One account for all that grows: whatever a contract grows into, its steps run out."""

from collections.abc import Callable
from functools import partial

from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from policy.limits import ExpansionBudget

BUDGET = ExpansionBudget(max_disjuncts=8, max_nodes=1_000, max_states=1_000, max_steps=60, max_expression_bytes=1_000)


def _limit_reached(spend: Callable[[], None]) -> str:
    for _ in range(10_000):
        try:
            spend()
        except ExpansionSpentError as error:
            return error.limit_name
    return "none"


def test_nodes_and_states_are_paid_for_in_steps() -> None:
    assert _limit_reached(ExpansionSpending(BUDGET).node) == "max_steps"
    assert _limit_reached(partial(ExpansionSpending(BUDGET).states, 1)) == "max_steps"


def test_a_limit_of_its_own_comes_first_where_it_is_smaller() -> None:
    spending = ExpansionSpending(
        ExpansionBudget(max_disjuncts=8, max_nodes=2, max_states=3, max_steps=1_000, max_expression_bytes=1_000)
    )
    assert _limit_reached(spending.node) == "max_nodes"
    assert _limit_reached(partial(spending.states, 1)) == "max_states"
