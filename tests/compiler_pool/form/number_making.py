"""What the maker of numbers needs of a `Making`: a budget, and a place to say what it cannot."""

from compiler_pool.form.maker import Maker
from compiler_pool.form.spending import ExpansionSpending
from policy.limits import TENANT
from registry.algebra.budgeting import SolverBudget
from registry.algebra.terms import Terms


class NumberMaking(Maker):
    """A maker over no terms, under the limits of a tenant."""

    def __init__(self) -> None:
        super().__init__(Terms(), spending=ExpansionSpending(TENANT.expansion), solving=SolverBudget(max_steps=100))

    @property
    def said(self) -> list[str]:
        """The reasons why something is not in the grammar."""
        return [inability.reason for inability in self.inabilities]
