"""Proofs that two terms have no value in common. Where none is found within the budget, they are taken to overlap."""

from registry.algebra.budgeting import BudgetSpentError
from registry.algebra.formulas import Wants
from registry.algebra.keyword_formulas import JsonType
from registry.algebra.outcomes import Empty
from registry.algebra.solver import Solver
from registry.algebra.terms import TermId


class Apartness:
    """Each question is put once; a spent budget answers all that come later with "not proven"."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._known: dict[tuple[frozenset[TermId], frozenset[Wants], JsonType], bool] = {}
        self.is_spent = False

    def holds(self, one: TermId, other: TermId, beside: frozenset[Wants], json_type: JsonType) -> bool:
        """Whether it is proven that no value of the type is allowed by both, and as `beside` wants it."""
        if one == other:
            return False
        key = (frozenset({one, other}), beside, json_type)
        if key not in self._known:
            wanted = (Wants(term=one, positive=True), Wants(term=other, positive=True), *beside)
            self._known[key] = self._is_empty(wanted, json_type)
        return self._known[key]

    def _is_empty(self, wanted: tuple[Wants, ...], json_type: JsonType) -> bool:
        if self.is_spent:
            return False
        try:
            return isinstance(self._solver.solve_as(json_type, wanted), Empty)
        except BudgetSpentError:
            self.is_spent = True
            return False
