"""What solving may cost, and how much of that is left."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverBudget:
    """What the solver may spend on all its goals. No clock: the same schemas give the same answer on any machine."""

    max_steps: int = 100_000
    """Goals, cases and automaton states together; about 50,000 a second."""
    max_depth: int = 72
    """Values within each other that are solved for at once; the registry allows 64."""
    max_automaton_states: int = 3_000
    """Of one pattern's automaton, before several are run together."""
    max_witness_bytes: int = 256 * 1024
    """Longer documents are not shown."""


class BudgetSpentError(Exception):
    """A named limit of the budget was reached."""

    def __init__(self, limit_name: str) -> None:
        super().__init__(f"`{limit_name}` of the budget was reached")
        self.limit_name = limit_name


class Spending:
    """Counts steps against a budget."""

    __slots__ = ("budget", "num_spent")

    def __init__(self, budget: SolverBudget) -> None:
        self.budget = budget
        self.num_spent = 0

    def step(self, count: int = 1) -> None:
        """Raises `BudgetSpentError`."""
        self.num_spent += count
        if self.num_spent > self.budget.max_steps:
            raise BudgetSpentError("max_steps")
