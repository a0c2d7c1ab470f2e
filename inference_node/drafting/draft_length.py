"""How many tokens to draft next, from how the last ones fared and what a row costs.

With a chance `a` that a draft is taken once those before it were, `n` drafts give `1 + a + … + a^n` tokens for
`1 + n c` of a plain step's time, where `c` is what one more row (and the making of its draft) costs beside the time
that one token takes without drafts (Leviathan, Kalman and Matias, 2023, section 3.4). The length that makes the most
of this is drafted; where even one draft does not pay, none is.
"""

from typing import Final

_KEPT: Final = 0.8
"""How much of the older evidence counts beside a new proposal: the last five or so decide."""

_PRIOR_TAKEN: Final = 2.0
_PRIOR_TRIED: Final = 3.0
"""A new sequence begins at two in three: four drafts or so where a row costs a tenth, and two failures are enough to
stop."""

_MAX_PAUSE: Final = 64
"""Proposals between two trials of one that keeps failing: its drafts cost under a sixtieth of a row each step."""


def best_length(chance: float, *, cost: float, most: int) -> int:
    """The number of drafts up to `most` that gives the most tokens for the time, the fewest of several."""
    taken, tokens, seconds = 1.0, 1.0, 1.0
    for length in range(most):
        taken *= chance
        # One more pays while it brings tokens at a better rate than all so far; that rate only falls.
        if taken * seconds <= cost * tokens:
            return length
        tokens += taken
        seconds += cost
    return most


def cost_beside(row_cost: float, num_sequences: int) -> float:
    """`c` where a step has one row of each of several sequences.

    `row_cost` is what a second row adds to a step of one, as a share of that step (0: free, 1: as much again), and
    steps grow evenly. The more sequences share a step, the less of it each waits for, and the dearer is a row beside.
    """
    return num_sequences * row_cost / (1.0 - row_cost + num_sequences * row_cost)


class DraftLength:
    """Of one kind of draft of one sequence."""

    __slots__ = ("_pause", "_skips", "_taken", "_tried")

    def __init__(self) -> None:
        self._taken = _PRIOR_TAKEN
        self._tried = _PRIOR_TRIED
        self._pause = 0
        self._skips = 0

    @property
    def chance(self) -> float:
        """That a draft is taken once those before it were."""
        return self._taken / self._tried

    def next(self, *, cost: float, most: int) -> int:
        """How many to propose now. While paused: none, and one every so often, to see."""
        if most <= 0 or cost >= 1.0:
            return 0
        length = best_length(self.chance, cost=cost, most=most)
        if length:
            return length
        if self._skips:
            self._skips -= 1
            return 0
        return 1

    def observe(self, *, proposed: int, accepted: int) -> None:
        """How the last proposal fared, what the grammar cut off counted as not taken."""
        is_whole = accepted >= proposed
        self._taken = _KEPT * self._taken + accepted
        self._tried = _KEPT * self._tried + accepted + (not is_whole)
        self._pause = 0 if is_whole else min(_MAX_PAUSE, max(1, 2 * self._pause))
        self._skips = self._pause
