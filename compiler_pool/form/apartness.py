"""Proofs that two terms have no value in common. Where none is found within the budget, they are taken to overlap."""

from collections.abc import Iterable
from typing import Final

from compiler_pool.form.member_tags import MemberTags
from registry.algebra.budgeting import BudgetSpentError
from registry.algebra.formulas import Wants
from registry.algebra.keyword_formulas import JsonType
from registry.algebra.outcomes import Empty, Found
from registry.algebra.solver import Solver
from registry.algebra.terms import Term, TermId
from registry.contract import JsonValue

_CHOICES: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "unevaluatedItems",
     "unevaluatedProperties"}
)  # fmt: skip


MAX_SEEN: Final = 4
"""Values of a type that are kept to be tried on other pairs."""


class Apartness:
    """Each question is put once; a spent budget answers all that come later with "not proven"."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._tags = MemberTags(solver.terms)
        self._plain: dict[TermId, Wants] = {}
        self._known: dict[tuple[frozenset[TermId], frozenset[Wants], JsonType], bool] = {}
        self._seen: dict[JsonType, list[JsonValue]] = {
            JsonType.OBJECT: [{}],
            JsonType.ARRAY: [[]],
            JsonType.STRING: ["", "a"],
            JsonType.NUMBER: [0, 1],
            JsonType.BOOLEAN: [],
            JsonType.NULL: [],
        }
        """Values that mostly show that two terms overlap: what is asked of all pairs is asked of each term once."""
        self.is_spent = False

    def plain(self, wanted: Iterable[Wants]) -> frozenset[Wants]:
        """What the wanted terms say by themselves and in their `allOf`: some of what every value of theirs satisfies.

        Their choices are left out. That exactly one alternative holds is what is in question: were it beside the
        question, any two alternatives would be apart.
        """
        found: dict[Wants, None] = {}
        pending = [want.term for want in wanted if want.positive]
        seen = set(pending)
        while pending:
            number = pending.pop()
            term = self._solver.terms[number]
            if term.assertions or term.children.keys() - _CHOICES:
                if number not in self._plain:
                    children = {name: inner for name, inner in term.children.items() if name not in _CHOICES}
                    plain = Term(allows_nothing=False, assertions=term.assertions, children=children)
                    self._plain[number] = Wants(term=self._solver.terms.add(plain), positive=True)
                found[self._plain[number]] = None
            for inner in term.of("allOf").values():
                if inner not in seen:
                    seen.add(inner)
                    pending.append(inner)
        return frozenset(found)

    def holds(self, one: TermId, other: TermId, beside: frozenset[Wants], json_type: JsonType) -> bool:
        """Whether it is proven that no value of the type is allowed by both, and as `beside` wants it."""
        if one == other:
            return False
        if json_type is JsonType.OBJECT and self._tags.are_apart(one, other, beside):
            return True
        key = (frozenset({one, other}), beside, json_type)
        if key not in self._known:
            wanted = (Wants(term=one, positive=True), Wants(term=other, positive=True), *beside)
            self._known[key] = self._is_empty(wanted, json_type)
        return self._known[key]

    def _is_empty(self, wanted: tuple[Wants, ...], json_type: JsonType) -> bool:
        seen = self._seen[json_type]
        if any(all(self._solver.truth.wanted(want, value) is True for want in wanted) for value in seen):
            return False
        if self.is_spent:
            return False
        try:
            outcome = self._solver.solve_as(json_type, wanted)
        except BudgetSpentError:
            self.is_spent = True
            return False
        if isinstance(outcome, Found) and len(seen) < MAX_SEEN:
            seen.append(outcome.value)
        return isinstance(outcome, Empty)
