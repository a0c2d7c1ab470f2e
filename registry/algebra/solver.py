"""A value that some terms allow and others refuse, or the proof that there is none.

Goals are solved type by type. Within a type, what must hold is split into atoms, which the type's own solver decides
together, and choices. A value is made from the atoms alone first; only a choice that this value fails is branched on,
so the many choices that do not matter (the other branches of a `oneOf`) cost one evaluation each.

Recursion: a goal inside itself is taken to be empty. That is right, because of the values that solve a goal a
smallest one never holds another; `findings` keeps what rests on it apart.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from registry.algebra.arrays import solve_array
from registry.algebra.budgeting import Spending
from registry.algebra.choices import branches, breadth, is_closed, is_forced
from registry.algebra.exclusions import split_exclusions
from registry.algebra.findings import Findings, Goal
from registry.algebra.formulas import (
    FALSE,
    TRUE,
    All,
    Any,
    Atom,
    Cases,
    ExactlyOne,
    Formula,
    OneOf,
    Wants,
    negated,
)
from registry.algebra.keyword_formulas import JsonType, KeywordFormulas
from registry.algebra.numbers import solve_number
from registry.algebra.objects import solve_object
from registry.algebra.outcomes import Empty, Found, Outcome, Unsure, worst
from registry.algebra.strings import solve_string
from registry.algebra.terms import Terms
from registry.algebra.truth import Ternary, Truth, all_of
from registry.algebra.weights import Weights
from registry.contract import JsonValue
from registry.parsing import parse_json

_TYPES: Final = (
    JsonType.NUMBER, JsonType.STRING, JsonType.BOOLEAN, JsonType.NULL, JsonType.ARRAY, JsonType.OBJECT,
)  # fmt: skip
"""Scalars first: the shorter witness is the better one."""

_COMPOSED: Final = (JsonType.ARRAY, JsonType.OBJECT)

ASKED_PER_STEP: Final = 6
"""Evaluations of terms that cost about as much as one step."""
FORMULAS_PER_STEP: Final = 16
"""Parts of formulas that are looked at, or kept, at the cost of about one step."""
MAX_CLOSINGS: Final = 24
"""Reasons that are kept; a proof may rest on thousands."""

_CONTRADICTION: Final = Empty(reason="one subschema would have to allow and to refuse the value")
_OTHER_TYPE: Final = Empty(reason="no value of this type is allowed")


class Solver:
    """Solves goals over one set of terms, and remembers what it found."""

    def __init__(self, terms: Terms, formulas: KeywordFormulas, truth: Truth, spending: Spending) -> None:
        self.terms = terms
        self.truth = truth
        self.spending = spending
        self._formulas = formulas
        self.closings: dict[str, None] = {}
        """Why cases were closed, each reason once, in order."""
        self._findings = Findings()
        self._weights = Weights()
        self._open: set[Goal] = set()
        self._grounds: set[Goal] = set()
        """The open goals that the outcome under way rests on."""

    def solve(self, goal: Goal) -> Outcome:
        """A value that is as all of the goal wants it. Raises `BudgetSpentError`."""
        known = self._findings.get(goal)
        if known is not None:
            self._grounds |= known[1]
            return known[0]
        if goal in self._open:
            self._grounds.add(goal)
            return Empty(reason="only a value without an end would do")
        if len(self._open) >= self.spending.budget.max_depth:
            return Unsure(reason="the contracts are nested too deeply")
        self.spending.step()
        outside, self._grounds = self._grounds, set()
        self._open.add(goal)
        try:
            outcome = self._solve(goal)
        finally:
            self._open.remove(goal)
        if isinstance(outcome, Found) and self._weights.of(outcome.value) > self.spending.budget.max_witness_bytes:
            # Nothing beyond this point may have to write or walk it: with its parts shared, it is small only here.
            outcome = Unsure(reason="the document would be too long")
        grounds = frozenset(self._grounds - {goal}) if isinstance(outcome, Empty) else frozenset()
        self._findings.put(goal, outcome, grounds)
        self._grounds = outside | grounds
        return outcome

    def solve_string(self, formulas: Iterable[Formula]) -> Outcome:
        """A string for which all formulas hold: the name of a member."""
        return self.solve_as(JsonType.STRING, formulas)

    def solve_as(self, json_type: JsonType, formulas: Iterable[Formula]) -> Outcome:
        """A value of the type for which all formulas hold. Raises `BudgetSpentError`."""
        return self._explore(json_type, _Case(), list(formulas))

    def unlike(self, value: JsonValue) -> Wants:
        """Every other value is wanted."""
        return Wants(term=self.terms.constant([value]), positive=False)

    def _solve(self, goal: Goal) -> Outcome:
        if any(Wants(term=wanted.term, positive=not wanted.positive) in goal for wanted in goal):
            return _CONTRADICTION
        listed = self._listed(goal)
        if listed is not None:
            return self._first_of(listed, tuple(goal))
        outcomes: list[Outcome] = []
        for json_type in _TYPES:
            outcome = self._explore(json_type, _Case(), list(goal))
            if isinstance(outcome, Found):
                return outcome
            if not isinstance(outcome, Empty) or outcome != _OTHER_TYPE:
                outcomes.append(outcome)
        return worst(outcomes, "no value of any type is left") if outcomes else _OTHER_TYPE

    def _listed(self, goal: Goal) -> list[JsonValue] | None:
        """The values of an `enum` or `const` that a wanted term has itself."""
        for wanted in goal:
            if wanted.positive:
                assertions = self.terms[wanted.term].assertions
                if "const" in assertions:
                    return [assertions["const"]]
                values = assertions.get("enum")
                if isinstance(values, list):
                    return values
        return None

    def holds_all(self, formulas: Iterable[Formula], value: JsonValue) -> Ternary:
        """Whether all formulas hold for a value of their type."""
        before = self.truth.num_asked
        held = all_of(self.truth.of(formula, value) for formula in formulas)
        self.spending.step((self.truth.num_asked - before) // ASKED_PER_STEP)
        return held

    def _explore(self, json_type: JsonType, case: "_Case", pending: list[Formula]) -> Outcome:
        self.spending.step()
        grown = self._forced(json_type, self._grown(json_type, case, pending))
        if isinstance(grown, Empty):
            return grown
        outcome = self._from_atoms(json_type, grown)
        if isinstance(outcome, Empty):
            if len(self.closings) < MAX_CLOSINGS:
                self.closings[f"{json_type.value}: {outcome.reason}"] = None
            return outcome
        failing = list(grown.choices)
        if isinstance(outcome, Found):
            made = outcome.value
            failing = [choice for choice in failing if self.holds_all((choice,), made) is not True]
            if not failing and self.holds_all((*grown.wanted, *grown.atoms), made) is not True:
                outcome = Unsure(reason="a value that was made did not do")
        if isinstance(outcome, Unsure) and json_type in _COMPOSED:
            split = split_exclusions(grown.atoms, self.unlike)
            if split is not None:
                atoms, others = split
                return self._explore(json_type, replace(grown, atoms=dict.fromkeys(atoms)), others)
        if not failing:
            return outcome
        chosen = min(failing, key=breadth)
        rest = tuple(choice for choice in grown.choices if choice is not chosen)
        left = replace(grown, choices=rest)
        outcomes: list[Outcome] = []
        for part in branches(chosen, grown.wanted):
            outcome = self._explore(json_type, left, [part])
            if isinstance(outcome, Found):
                return outcome
            outcomes.append(outcome)
        return worst(outcomes, "every way to choose is closed")

    def _grown(self, json_type: JsonType, case: "_Case", pending: list[Formula]) -> "_Case | Empty":
        """The case with more formulas, or how they contradict it."""
        wanted, atoms, choices = dict(case.wanted), dict(case.atoms), list(case.choices)
        num_looked_at = len(wanted) + len(atoms) + len(choices)
        while pending:
            formula = pending.pop()
            num_looked_at += breadth(formula)
            match formula:
                case Wants(term=term, positive=positive):
                    if negated(formula) in wanted:
                        return _CONTRADICTION
                    if formula not in wanted:
                        wanted[formula] = None
                        own = self._formulas.of if positive else self._formulas.of_refusal
                        pending.append(own(term, json_type))
                case All(parts=parts):
                    pending.extend(parts)
                case Any(parts=parts):
                    left = [part for part in parts if part != FALSE and not is_closed(part, wanted, atoms)]
                    if not left:
                        return _OTHER_TYPE if not parts else _CONTRADICTION
                    if TRUE not in left:
                        if len(left) == 1:
                            pending.append(left[0])
                        else:
                            choices.append(Any(parts=tuple(left)))
                case Cases() | ExactlyOne():
                    choices.append(formula)
                case _:
                    if negated(formula) in atoms:
                        return _CONTRADICTION
                    atoms[formula] = None
        self.spending.step(num_looked_at // FORMULAS_PER_STEP)
        return _Case(wanted=wanted, atoms=atoms, choices=tuple(choices))

    def _forced(self, json_type: JsonType, case: "_Case | Empty") -> "_Case | Empty":
        """The case with every "none or several" that leaves no choice, because one is known to allow the value."""
        while isinstance(case, _Case):
            forced = next((choice for choice in case.choices if is_forced(choice, case.wanted)), None)
            if forced is None:
                return case
            others = tuple(choice for choice in case.choices if choice is not forced)
            part = Any(parts=tuple(branches(forced, case.wanted)))
            case = self._grown(json_type, replace(case, choices=others), [part])
        return case

    def _from_atoms(self, json_type: JsonType, case: "_Case") -> Outcome:
        listed = [atom for atom in case.atoms if isinstance(atom, OneOf) and atom.positive]
        if listed:
            values = [parse_json(text, max_bytes=1 << 26, max_nesting=512) for text in listed[0].texts]
            formulas = (*case.wanted, *case.atoms, *case.choices)
            return self._first_of(values, formulas)
        match json_type:
            case JsonType.NULL:
                return self._first_of([None], tuple(case.atoms))
            case JsonType.BOOLEAN:
                return self._first_of([True, False], tuple(case.atoms))
            case JsonType.NUMBER:
                return solve_number(case.atoms)
            case JsonType.STRING:
                return solve_string(case.atoms, self.spending, self.truth.of)
            case JsonType.ARRAY:
                return solve_array(case.atoms, self)
            case JsonType.OBJECT:
                return solve_object(case.atoms, self)

    def _first_of(self, values: Iterable[JsonValue], formulas: tuple[Formula, ...]) -> Outcome:
        is_sure = True
        for value in values:
            self.spending.step()
            held = self.holds_all(formulas, value)
            if held is True:
                return Found(value=value)
            is_sure = is_sure and held is False
        return Empty(reason="none of the listed values is left") if is_sure else Unsure(reason="a value was not judged")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One way through the choices so far: what is wanted, what the atoms are, which choices are still open."""

    wanted: dict[Wants, None] = field(default_factory=dict)
    atoms: dict[Atom, None] = field(default_factory=dict)
    choices: tuple[Formula, ...] = ()
