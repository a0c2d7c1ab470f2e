"""An array of a fitting length, each item as all keywords that reach its place want it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from registry.algebra.formulas import (
    EachItem,
    Formula,
    ItemsAtLeast,
    ItemsAtMost,
    OneOf,
    SomeItem,
    Unique,
    Unsettled,
    Wants,
)
from registry.algebra.objects import MemberSolver
from registry.algebra.outcomes import Empty, Found, Outcome, Unsure, worst
from registry.algebra.terms import TermId
from registry.contract import JsonValue
from registry.text import value_text

MAX_BUILT: Final = 110_000
"""A longer array is not built."""
MAX_DIFFERENT: Final = 80
"""Nor one of more items that all have to differ."""
MAX_FOUND: Final = 12
"""Items that one `contains` asks for; of more, so many are looked at."""
MAX_CHOICES: Final = 2_000
"""Ways to say which item is the one that some keyword asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """An item that must be there. Those of one group are different items."""

    start: int
    stop: int | None
    wanted: Wants
    group: int


def solve_array(atoms: Iterable[Formula], solver: MemberSolver) -> Outcome:
    """An array for which all atoms hold."""
    return _Arrays(atoms, solver).solve()


class _Arrays:
    def __init__(self, atoms: Iterable[Formula], solver: MemberSolver) -> None:
        self._solver = solver
        self._each: list[EachItem] = []
        self._asked: list[_Asked] = []
        self._least, self._most = 0, 1 << 60
        self._found_least: dict[TermId, int] = {}
        self._found_most: dict[TermId, int] = {}
        self._all_differ = self._some_equal = False
        self._excluded: set[str] = set()
        for atom in atoms:
            self._take(atom)
        self._contradiction = self._settle()
        spans = [*((each.start, each.stop) for each in self._each), *((one.start, one.stop) for one in self._asked)]
        edges = [edge for span in spans for edge in span if edge is not None]
        self._num_special = max(edges, default=0)
        """From here on all places are alike."""

    def _take(self, atom: Formula) -> None:
        match atom:
            case EachItem():
                self._each.append(atom)
            case SomeItem(start=start, stop=stop, wanted=wanted):
                self._asked.append(_Asked(start=start, stop=stop, wanted=wanted, group=-1 - len(self._asked)))
            case ItemsAtLeast(count=count, term=None):
                self._least = max(self._least, count)
            case ItemsAtMost(count=count, term=None):
                self._most = min(self._most, count)
            case ItemsAtLeast(count=count, term=int() as term):
                self._found_least[term] = max(self._found_least.get(term, 0), count)
            case ItemsAtMost(count=count, term=int() as term):
                self._found_most[term] = min(self._found_most.get(term, count), count)
            case Unique(positive=positive):
                self._all_differ |= positive
                self._some_equal |= not positive
            case OneOf(texts=texts):
                self._excluded.update(texts)
            case Unsettled():
                # Left out: what is found is checked, and what is empty without it is empty with it.
                pass
            case _:
                raise AssertionError(atom)

    def _settle(self) -> Empty | None:
        for term, most in self._found_most.items():
            if self._found_least.get(term, 0) > most:
                return Empty(reason=f"at least {self._found_least[term]} and at most {most} items are to be found")
            if most == 0:
                self._each.append(EachItem(start=0, stop=None, wanted=Wants(term=term, positive=False)))
        for group, (term, least) in enumerate(self._found_least.items()):
            self._least = max(self._least, least)
            wanted = Wants(term=term, positive=True)
            count = min(least, MAX_FOUND)
            self._asked += [_Asked(start=0, stop=None, wanted=wanted, group=group)] * count
        if self._least > self._most:
            return Empty(reason=f"no array has at least {self._least} and at most {self._most} items")
        return None

    def solve(self) -> Outcome:
        if self._contradiction is not None:
            return self._contradiction
        outcomes: list[Outcome] = []
        for count, places in enumerate(self._placements((), {})):
            if count >= MAX_CHOICES:
                return Unsure(reason="too many items could be the one that is asked for")
            self._solver.spending.step()
            outcome = self._with(places)
            if isinstance(outcome, Found):
                return outcome
            outcomes.append(outcome)
        return worst(outcomes, "no item can be the one that is asked for")

    def _placements(self, places: tuple[int, ...], last: dict[int, int]) -> Iterator[tuple[int, ...]]:
        """Where the items that are asked for may stand, as far as the items of one place can be one."""
        if len(places) == len(self._asked):
            yield places
            return
        asked = self._asked[len(places)]
        # Beyond the special places all are alike: one that is used already, or the next one, is every choice there is.
        stop = max((self._num_special, *(place + 1 for place in places))) + 1 if asked.stop is None else asked.stop
        # In order within a group: its items are alike, so other orders say the same.
        for place in range(max(asked.start, last.get(asked.group, -1) + 1), min(stop, self._most)):
            together = {other.wanted for at, other in zip(places, self._asked, strict=False) if at == place}
            if not isinstance(self._solver.solve(self._demand(place) | together | {asked.wanted}), Empty):
                yield from self._placements((*places, place), last | {asked.group: place})

    def _demand(self, place: int) -> frozenset[Wants]:
        return frozenset(
            each.wanted for each in self._each if each.start <= place and (each.stop is None or place < each.stop)
        )

    def _with(self, places: tuple[int, ...]) -> Outcome:
        length = max((self._least, *(place + 1 for place in places)))
        if self._some_equal:
            return self._with_equals(places, length)
        return self._of_length(length, self._goals(places, length))

    def _goals(self, places: tuple[int, ...], length: int) -> list[frozenset[Wants]]:
        """One goal for each of the first places; the rest are as the last one."""
        goals = [self._demand(place) for place in range(min(length, self._num_special + len(self._asked) + 3))]
        for place, asked in zip(places, self._asked, strict=True):
            goals[place] |= {asked.wanted}
        return goals

    def _with_equals(self, places: tuple[int, ...], length: int) -> Outcome:
        """Two places get one value: any two of the special ones and two more."""
        outcomes: list[Outcome] = []
        for second in range(1, self._num_special + len(self._asked) + 2):
            for first in range(second):
                whole = max(length, second + 1)
                if whole > self._most:
                    continue
                goals = self._goals(places, whole)
                goals[first] = goals[second] = goals[first] | goals[second]
                outcome = self._of_length(whole, goals)
                if isinstance(outcome, Found):
                    return outcome
                outcomes.append(outcome)
        return worst(outcomes, "no two items can be equal")

    def _of_length(self, length: int, goals: list[frozenset[Wants]]) -> Outcome:
        if length > self._most:
            return Empty(reason=f"the array would have more than {self._most} items")
        if self._all_differ:
            return self._different(length, goals)
        too_many = self._few_found(goals)
        if too_many is not None:
            return too_many
        items: list[JsonValue] = []
        unsure: list[Outcome] = []
        for place, goal in enumerate(goals[:length]):
            outcome = self._solver.solve(goal)
            match outcome:
                case Empty(reason=reason):
                    return Empty(reason=f"the item {place}: {reason}")
                case Unsure():
                    unsure.append(outcome)
                case Found(value=value):
                    items.append(value)
        if unsure:
            return unsure[0]
        if length > MAX_BUILT:
            return Unsure(reason="the array would be too long")
        items += [items[-1]] * (length - len(items)) if items else []
        return self._unless_excluded(items, goals)

    def _few_found(self, goals: list[frozenset[Wants]]) -> Empty | None:
        """Keep items off a `maxContains` where they can be; if too many cannot, there is no such array."""
        for term, most in self._found_most.items():
            found, off = Wants(term=term, positive=True), Wants(term=term, positive=False)
            num_forced = 0
            for place, goal in enumerate(goals):
                if found in goal:
                    num_forced += 1
                    continue
                outcome = self._solver.solve(goal | {off})
                if isinstance(outcome, Found):
                    goals[place] = goal | {off}
                elif isinstance(self._solver.solve(self._without_found(goal) | {off}), Empty):
                    num_forced += 1
            if num_forced > most:
                return Empty(reason=f"more than {most} items would be found")
        return None

    def _without_found(self, goal: frozenset[Wants]) -> frozenset[Wants]:
        """The goal without what was added only to keep items off."""
        return frozenset(wanted for wanted in goal if wanted.positive or wanted.term not in self._found_most)

    def _different(self, length: int, goals: list[frozenset[Wants]]) -> Outcome:
        if length > MAX_DIFFERENT:
            return Unsure(reason="too many items would have to differ")
        goals += goals[-1:] * (length - len(goals))
        is_uniform = len(set(goals[:length])) <= 1
        items: list[JsonValue] = []
        for place, goal in enumerate(goals[:length]):
            outcome = self._solver.solve(goal | {self._solver.unlike(item) for item in items})
            match outcome:
                case Found(value=value):
                    items.append(value)
                case Empty() if is_uniform or isinstance(self._solver.solve(goal), Empty):
                    return Empty(reason=f"only {place} different items are possible" if items else outcome.reason)
                case _:
                    return self._left_over(goals[:length]) or Unsure(reason="different items were not found")
        return self._unless_excluded(items, goals)

    def _left_over(self, goals: list[frozenset[Wants]]) -> Empty | None:
        """Each place that has one value left takes it from all others; where none is left, there is no such array."""
        settled: set[int] = set()
        num_settled = -1
        while len(settled) > num_settled:
            num_settled = len(settled)
            for place in (at for at in range(len(goals)) if at not in settled):
                outcome = self._solver.solve(goals[place])
                if isinstance(outcome, Empty):
                    return Empty(reason=f"the item {place} would have to equal another")
                if not isinstance(outcome, Found):
                    continue
                other = self._solver.unlike(outcome.value)
                if isinstance(self._solver.solve(goals[place] | {other}), Empty):
                    settled.add(place)
                    goals = [goal if at == place else goal | {other} for at, goal in enumerate(goals)]
        return None

    def _unless_excluded(self, items: list[JsonValue], goals: list[frozenset[Wants]]) -> Outcome:
        if not self._excluded or value_text(items) not in self._excluded:
            return Found(value=items)
        for place, item in enumerate(items[: len(goals)]):
            outcome = self._solver.solve(goals[place] | {self._solver.unlike(item)})
            if isinstance(outcome, Found):
                changed = [*items[:place], outcome.value, *items[place + 1 :]]
                if value_text(changed) not in self._excluded:
                    return Found(value=changed)
        while len(items) < min(self._most, len(goals) + len(self._excluded)):
            outcome = self._solver.solve(self._demand(len(items)))
            if not isinstance(outcome, Found):
                break
            items = [*items, outcome.value]
            if value_text(items) not in self._excluded:
                return Found(value=items)
        return Unsure(reason="an array that is not excluded was not found")
