"""What the makers of nodes share: subgoals by number, proofs of emptiness, a budget, and a place to say "I cannot"."""

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from compiler_pool.form.nodes import NodeId
from compiler_pool.form.spending import ExpansionSpending
from registry.algebra.formulas import Formula, Wants
from registry.algebra.keyword_formulas import JsonType
from registry.algebra.solver import Solver

Goal: TypeAlias = frozenset[Wants]
"""What a value must satisfy, all of it together."""


class Making(Protocol):
    """One contract on its way into the intermediate form."""

    solver: Solver
    spending: ExpansionSpending

    def node(self, goal: Iterable[Wants]) -> NodeId:
        """The node of all values that satisfy the goal. It is made later: recursion costs nothing here."""

    def is_empty(self, goal: Iterable[Wants]) -> bool:
        """Whether it is proven that no value satisfies the goal. "No" may mean that no proof was found."""

    def flat(self, formulas: Iterable[Formula], json_type: JsonType) -> Formula:
        """The conjunction as `All` and `Any` over atoms alone, for values of one type: terms opened, `oneOf`s and cases
        written out. Simplified: it is `TRUE` or `FALSE` where that is plain."""

    def cases(self, flat: Formula) -> "list[tuple[Formula, ...]]":
        """The disjuncts of a flat formula, each the atoms that hold together; what contradicts itself is left out.

        Raises `ExpansionSpentError` past `max_disjuncts`.
        """

    def cannot(self, keyword: str, reason: str) -> None:
        """Say that what `keyword` asserts of the goal under way is not in the grammar.

        Returns: the caller then goes on as though the keyword asserted nothing (its atom is `TRUE`), which only widens
        the texts; the contract is refused, or left to the validator, as policy has it.
        """
