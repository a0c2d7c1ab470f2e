"""Ways in which one member can do its part for what is left to hold: what its value is claimed to satisfy.

A residual is monotone in its claims, so for each way it is enough to claim what the way needs and to put all other
claims down as false: no value has to be kept out that satisfies more. The ways together are all there are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from compiler_pool.form.making import Goal, Making
from compiler_pool.form.member_domains import listed_values
from compiler_pool.form.member_rules import is_hopeless, is_plain
from compiler_pool.form.residuals import ALWAYS, NEVER, Claim, Residual, Residuals
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from registry.algebra.formulas import Wants, refused
from registry.contract import JsonValue
from registry.text import value_text

MAX_COMPARED: Final = 64
"""Ways of one member among which those that another one makes idle are looked for: pairs are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A member's value is in the goal, and the residual is left to the other members."""

    goal: Goal
    left: Residual


class Claims:
    """Finds the ways of members of one machine."""

    def __init__(self, residuals: Residuals, making: Making, spending: ExpansionSpending) -> None:
        self._residuals = residuals
        self._making = making
        self._spending = spending
        self._max_ways = spending.budget.max_disjuncts
        self._known: dict[tuple[Residual, Goal], list[Way]] = {}

    def claim(self, wanted: Wants) -> Residual:
        """The residual that holds if the value is wanted so."""
        terms = self._making.solver.terms
        if is_plain(wanted, terms):
            return NEVER if is_hopeless(wanted, terms) else ALWAYS
        return self._residuals.literal(Claim(wanted=wanted))

    def ways(self, residual: Residual, demanded: Goal) -> list[Way]:
        """The ways of a member whose value has to satisfy what is demanded of it.

        Raises `ExpansionSpentError` where there are more than are allowed for.
        """
        key = (residual, demanded)
        if key not in self._known:
            self._known[key] = self._ways(residual, demanded)
        return self._known[key]

    def _ways(self, residual: Residual, demanded: Goal) -> list[Way]:
        if not self._open(residual):
            return [] if residual == NEVER else [Way(goal=demanded, left=residual)]
        goal, left = self._forced(residual, demanded)
        if left == NEVER:
            return []
        open_claims = self._open(left)
        if not open_claims:
            return [Way(goal=goal, left=left)]
        ways = self._by_value(goal, left, open_claims)
        if ways is None:
            found: list[Way] = []
            self._branch(goal, left, found)
            ways = found
        return self._undominated(ways)

    def _open(self, residual: Residual) -> list[Residual]:
        return self._residuals.claims(residual)

    def _forced(self, residual: Residual, goal: Goal) -> tuple[Goal, Residual]:
        """With all claims that hold in every way, and no longer open in what is left."""
        fresh: Iterable[Wants] = goal
        while True:
            settled: dict[Residual, Residual] = {}
            for wanted in fresh:
                settled[self._residuals.literal(Claim(wanted=wanted))] = ALWAYS
                settled[self._residuals.literal(Claim(wanted=refused(wanted)))] = NEVER
            residual = self._residuals.replaced(residual, settled)
            fresh = self._residuals.claimed(residual)
            if not fresh:
                return goal, residual
            goal |= frozenset(fresh)

    def _branch(self, goal: Goal, residual: Residual, found: list[Way]) -> None:
        """With the first open claim, and without it."""
        self._spending.step()
        if residual == NEVER:
            return
        claims = self._open(residual)
        if not claims:
            found.append(Way(goal=goal, left=residual))
            self._hold(len(found))
            return
        first = claims[0]
        shape = self._residuals.shape(first)
        assert isinstance(shape, Claim)
        without = self._residuals.replaced(residual, {first: NEVER})
        self._branch(goal, without, found)
        grown, left = self._forced(self._residuals.replaced(residual, {first: ALWAYS}), goal | {shape.wanted})
        if left not in (NEVER, without) and not self._making.is_empty(grown):
            by_value = self._by_value(grown, left, self._open(left))
            if by_value is None:
                self._branch(grown, left, found)
            else:
                found.extend(by_value)

    def _by_value(self, goal: Goal, residual: Residual, claims: list[Residual]) -> list[Way] | None:
        """The ways of each of the values that are listed, where a list says of all open claims whether they hold.

        `None`: no list does. Far fewer than the combinations of claims: one for each value at most.
        """
        shapes = [self._residuals.shape(one) for one in claims]
        wishes = [shape.wanted for shape in shapes if isinstance(shape, Claim)]
        held = listed_values(goal, self._making)
        lists = [None if held is not None else listed_values([wish], self._making) for wish in wishes]
        if held is None:
            listed = [value for values in lists if values is not None for value in values]
            if not listed:
                return None
            held = list({value_text(value): value for value in listed}.values())
        groups: dict[Residual, list[JsonValue]] = {}
        truth = self._making.solver.truth
        for value in held:
            self._spending.step(1 + len(wishes) // 4)
            truths = [truth.wanted(wish, value) for wish in (*goal, *wishes)]
            if None in truths:
                return None
            if all(truths[: len(goal)]):
                settled = {
                    claim: ALWAYS if holds else NEVER for claim, holds in zip(claims, truths[len(goal) :], strict=True)
                }
                left = self._residuals.replaced(residual, settled)
                if left != NEVER:
                    groups.setdefault(left, []).append(value)
                    self._hold(len(groups))
        constants = self._making.solver.terms.constant
        ways = [
            Way(goal=frozenset({Wants(term=constants(values), positive=True)}), left=left)
            for left, values in groups.items()
        ]
        without = {claim: NEVER for claim, values in zip(claims, lists, strict=True) if values is not None}
        if without:
            self._branch(goal, self._residuals.replaced(residual, without), ways)
        return ways

    def _hold(self, num_ways: int) -> None:
        if num_ways > self._max_ways:
            raise ExpansionSpentError("max_disjuncts", self._max_ways)

    def _undominated(self, ways: list[Way]) -> list[Way]:
        """Without ways that another one makes idle: it claims less of the value, and leaves no more to do."""
        if not 1 < len(ways) <= MAX_COMPARED:
            return ways
        kept: list[Way] = []
        for way in dict.fromkeys(ways):
            if any(self._dominates(other, way) for other in kept):
                continue
            kept = [other for other in kept if not self._dominates(way, other)]
            kept.append(way)
        return kept

    def _dominates(self, one: Way, other: Way) -> bool:
        return one.goal <= other.goal and self._residuals.implies(other.left, one.left)
