"""Two JSON Schema contracts: is every document of the one a document of the other?

First the proof: a document that the one allows and the other refuses is sought exactly, and there is none. Where one
is found, the judge has the last word. Where the search could not decide, documents of the one are made and varied, and
the judge looks for one that the other refuses.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from registry.algebra.budgeting import BudgetSpentError, Spending
from registry.algebra.formulas import Wants
from registry.algebra.keyword_formulas import KeywordFormulas
from registry.algebra.outcomes import Empty, Found, Outcome, Unsure
from registry.algebra.solver import Solver
from registry.algebra.terms import TermId, Terms
from registry.algebra.truth import Ternary, Truth
from registry.compatibility.variations import hints, names_in, variations
from registry.compatibility.verdicts import (
    Allowed,
    Answer,
    ComparisonBudget,
    Direction,
    Forbidden,
    Judge,
    JudgePreparation,
    Safe,
    Unknown,
    UnknownReason,
    Unsafe,
)
from registry.compatibility.witnesses import Sides, checked
from registry.contract import JsonValue
from registry.text import canonical_json

_MAX_SEEDS: Final = 6
"""Documents that are varied."""
_BUDGET_WORDS: Final = "of the budget was reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """One of the two: its schema, its root among the terms, and its judge."""

    schema: JsonValue
    root: TermId
    judge: Judge


class SchemaPair:
    """Two canonical schemas, ready to be compared both ways. Raises `UnreadableContractError`.

    `is_own_schema`: the schemas are the contracts, not made from contracts of another kind.
    """

    def __init__(
        self,
        old: JsonValue,
        new: JsonValue,
        preparation: JudgePreparation,
        budget: ComparisonBudget,
        *,
        is_own_schema: bool = True,
    ) -> None:
        self.terms = Terms()
        old_root, new_root = self.terms.read(old, new)
        self._formulas = KeywordFormulas(self.terms)
        self.truth = Truth(self.terms, self._formulas, FormatJudges(preparation).holds)
        self.budget = budget
        self._is_own_schema = is_own_schema
        self.old = Contract(schema=old, root=old_root, judge=_judge_of(old, preparation))
        self.new = Contract(schema=new, root=new_root, judge=_judge_of(new, preparation))

    def answer(self, direction: Direction) -> Answer:
        """Whether every document of the one contract is one of the other."""
        if self.old.root == self.new.root:
            return Safe(proof=("both contracts are one and the same",))
        is_consumer = direction is Direction.CONSUMER_SAFE
        inner, outer = (self.new, self.old) if is_consumer else (self.old, self.new)
        solver = self._solver(self.budget)
        answer: Unsafe | Unknown
        match _solved(solver, inner.root, outer.root):
            case Empty(reason=reason):
                return Safe(proof=tuple(solver.closings) or (reason,))
            case Found(value=value):
                answer = self._checked(value, direction)
            case Unsure(reason=reason):
                is_spent = reason.endswith(_BUDGET_WORDS)
                answer = Unknown(reason=UnknownReason.BUDGET if is_spent else UnknownReason.NOT_PROVEN, message=reason)
        return answer if isinstance(answer, Unsafe) else self._searched(inner.root, outer.root, direction) or answer

    def difference(self, inner: TermId, outer: TermId, *, max_steps: int) -> tuple[Outcome, int]:
        """A value that the one term allows and the other refuses, within a smaller budget; and the steps it took."""
        solver = self._solver(replace(self.budget, max_steps=max_steps))
        return _solved(solver, inner, outer), solver.spending.num_spent

    def _solver(self, budget: ComparisonBudget) -> Solver:
        return Solver(self.terms, self._formulas, self.truth, Spending(budget))

    def _checked(self, value: JsonValue, direction: Direction) -> Unsafe | Unknown:
        sides = Sides(
            old_schema=self.old.schema, new_schema=self.new.schema, old_judge=self.old.judge, new_judge=self.new.judge
        )
        answer = checked(value, sides, direction, max_bytes=self.budget.max_witness_bytes)
        if isinstance(answer, Unsafe) and not self._is_own_schema:
            # Pointers would lead into a schema that nobody wrote; and a document that is a string is that very text.
            text = value if isinstance(value, str) else answer.witness_text
            return replace(answer, witness_text=text, old_pointer="", new_pointer="")
        return answer

    def _searched(self, inner: TermId, outer: TermId, direction: Direction) -> Unsafe | None:
        try:
            for candidate in self._candidates(inner):
                if self.is_allowed(inner, candidate) is not False and self.is_allowed(outer, candidate) is not True:
                    answer = self._checked(candidate, direction)
                    if isinstance(answer, Unsafe):
                        return answer
        except (RecursionError, BudgetSpentError):
            return None
        return None

    def is_allowed(self, term: TermId, value: JsonValue) -> Ternary:
        """What this comparison itself believes of a document; the judge is not asked."""
        return self._solver(self.budget).holds_all((Wants(term=term, positive=True),), value)

    def _candidates(self, inner: TermId) -> Iterator[JsonValue]:
        """Documents of the one contract and what is near them, at most `max_candidates`."""
        values, names = hints(self.terms), names_in(self.terms)
        left = self.budget.max_candidates
        for seed in self.seeds(inner):
            yield seed
            for candidate in variations(seed, values, names):
                left -= 1
                if left <= 0:
                    return
                yield candidate

    def seeds(self, inner: TermId) -> Iterator[JsonValue]:
        """A few different documents that a term allows."""
        solver = self._solver(replace(self.budget, max_steps=self.budget.max_steps // 8))
        goal = frozenset({Wants(term=inner, positive=True)})
        for _ in range(_MAX_SEEDS):
            try:
                outcome = solver.solve(goal)
            except (BudgetSpentError, RecursionError):
                return
            if not isinstance(outcome, Found):
                return
            yield outcome.value
            goal |= {solver.unlike(outcome.value)}


class FormatJudges:
    """Asks the judge about formats, each with a contract of its own."""

    def __init__(self, preparation: JudgePreparation) -> None:
        self._preparation = preparation
        self._judges: dict[str, Judge] = {}
        self._known: dict[tuple[str, str], Ternary] = {}

    def holds(self, name: str, text: str) -> Ternary:
        """Whether the judge says that a string is in a format."""
        key = (name, text)
        if key not in self._known:
            if name not in self._judges:
                self._judges[name] = _judge_of({"format": name}, self._preparation)
            match self._judges[name].judge(canonical_json(text).encode()):
                case Allowed():
                    self._known[key] = True
                case Forbidden():
                    self._known[key] = False
                case _:
                    self._known[key] = None
        return self._known[key]


def _judge_of(schema: JsonValue, preparation: JudgePreparation) -> Judge:
    return preparation.prepare(canonical_json(schema))


def _solved(solver: Solver, inner: TermId, outer: TermId) -> Outcome:
    goal = frozenset({Wants(term=inner, positive=True), Wants(term=outer, positive=False)})
    try:
        return solver.solve(goal)
    except BudgetSpentError as spent:
        return Unsure(reason=str(spent))
    except RecursionError:
        return Unsure(reason="the contracts are nested too deeply")
