"""What a solver has found of goals so far, and what each proof of emptiness rests on.

"Empty but for D" says: whatever solves the goal holds, within it, something that solves a goal of D. That stays true
wherever it was found. A goal that is empty but for itself is empty, since values end; and a goal of D that turns out
empty hands on what it rests on itself.
"""

from typing import TypeAlias

from registry.algebra.formulas import Wants
from registry.algebra.outcomes import Empty, Outcome

Goal: TypeAlias = frozenset[Wants]


class Findings:
    """Outcomes by goal. Those that rest on goals still under way are kept until these are decided."""

    def __init__(self) -> None:
        self._settled: dict[Goal, Outcome] = {}
        self._resting: dict[Goal, tuple[Empty, set[Goal]]] = {}
        self._users: dict[Goal, set[Goal]] = {}
        """By goal under way, what rests on it."""

    def get(self, goal: Goal) -> tuple[Outcome, frozenset[Goal]] | None:
        """The outcome and what it rests on, if the goal was met before."""
        if goal in self._settled:
            return self._settled[goal], frozenset()
        if goal in self._resting:
            outcome, grounds = self._resting[goal]
            return outcome, frozenset(grounds)
        return None

    def put(self, goal: Goal, outcome: Outcome, grounds: frozenset[Goal]) -> None:
        """Keep what a goal came to. `grounds` are the goals under way that a proof of emptiness rests on."""
        users = self._users.pop(goal, set())
        if not isinstance(outcome, Empty):
            self._settled[goal] = outcome
            for user in users:
                self._forget(user)
            return
        self._rest(goal, outcome, set(grounds))
        for user in users:
            if user in self._resting:
                kept, own = self._resting[user]
                self._rest(user, kept, (own - {goal}) | grounds)

    def _rest(self, goal: Goal, outcome: Empty, grounds: set[Goal]) -> None:
        if grounds:
            self._resting[goal] = (outcome, grounds)
            for ground in grounds:
                self._users.setdefault(ground, set()).add(goal)
        else:
            self._resting.pop(goal, None)
            self._settled[goal] = outcome

    def _forget(self, goal: Goal) -> None:
        found = self._resting.pop(goal, None)
        if found is not None:
            for ground in found[1]:
                self._users.get(ground, set()).discard(goal)
