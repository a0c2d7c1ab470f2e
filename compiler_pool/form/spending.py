"""How much one contract may grow on its way into the intermediate form; each limit is reserved before growth."""

from typing import Final

from policy.limits import ExpansionBudget

STEPS_PER_NODE: Final = 3
"""What a node costs, whatever it holds: its goal is opened, and it is pruned and written."""
STEPS_PER_STATE: Final = 1
"""The same of a state, beside what its moves cost."""


class ExpansionSpentError(Exception):
    """A named limit on expansion was reached: the contract is refused, never weakened."""

    def __init__(self, limit_name: str, limit: int) -> None:
        super().__init__(f"`{limit_name}` {limit} was reached")
        self.limit_name, self.limit = limit_name, limit


class ExpansionSpending:
    """Counts against one budget."""

    __slots__ = ("_num_nodes", "_num_states", "_num_steps", "budget")

    def __init__(self, budget: ExpansionBudget) -> None:
        self.budget = budget
        self._num_nodes = self._num_states = self._num_steps = 0

    @property
    def num_steps(self) -> int:
        """Steps so far."""
        return self._num_steps

    def step(self, count: int = 1) -> None:
        """Raises `ExpansionSpentError`."""
        self._num_steps += count
        if self._num_steps > self.budget.max_steps:
            raise ExpansionSpentError("max_steps", self.budget.max_steps)

    def node(self) -> None:
        """One more node. Raises `ExpansionSpentError`."""
        self._num_nodes += 1
        if self._num_nodes > self.budget.max_nodes:
            raise ExpansionSpentError("max_nodes", self.budget.max_nodes)
        self.step(STEPS_PER_NODE)

    def states(self, count: int) -> None:
        """More states of machines. Raises `ExpansionSpentError`."""
        self._num_states += count
        if self._num_states > self.budget.max_states:
            raise ExpansionSpentError("max_states", self.budget.max_states)
        self.step(count * STEPS_PER_STATE)
