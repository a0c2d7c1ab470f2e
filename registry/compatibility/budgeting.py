"""How much of a comparison's budget is left."""

from registry.compatibility.verdicts import ComparisonBudget


class BudgetSpentError(Exception):
    """A named limit of the comparison was reached."""

    def __init__(self, limit_name: str) -> None:
        super().__init__(f"`{limit_name}` of the comparison was reached")
        self.limit_name = limit_name


class Spending:
    """Counts steps against a budget."""

    __slots__ = ("budget", "num_spent")

    def __init__(self, budget: ComparisonBudget) -> None:
        self.budget = budget
        self.num_spent = 0

    def step(self, count: int = 1) -> None:
        """Raises `BudgetSpentError`."""
        self.num_spent += count
        if self.num_spent > self.budget.max_steps:
            raise BudgetSpentError("max_steps")
