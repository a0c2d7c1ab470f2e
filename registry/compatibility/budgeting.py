"""How much of a comparison's budget is left."""

from registry.compatibility.verdicts import ComparisonBudget


class BudgetSpentError(Exception):
    """A named limit of the comparison was reached."""

    def __init__(self, limit_name: str) -> None:
        super().__init__(f"`{limit_name}` of the comparison was reached")
        self.limit_name = limit_name


class Spending:
    """Counts steps against a budget."""

    __slots__ = ("_left", "budget")

    def __init__(self, budget: ComparisonBudget) -> None:
        self.budget = budget
        self._left = budget.max_steps

    def step(self, count: int = 1) -> None:
        """Raises `BudgetSpentError`."""
        self._left -= count
        if self._left < 0:
            raise BudgetSpentError("max_steps")

    @property
    def left(self) -> int:
        """Steps that may still be taken."""
        return max(self._left, 0)
