"""Arrays as states: the place, as far as places differ, and what each concern remembers of the items so far."""

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from compiler_pool.form.array_cases import ArrayCase
from compiler_pool.form.item_burden import MAX_STATES, is_borne
from compiler_pool.form.item_trackers import CountTracker, ItemTracker
from compiler_pool.form.making import Goal, Making
from compiler_pool.form.nodes import ItemMachine, ItemMove, ItemState, NodeId
from registry.algebra.formulas import Wants
from registry.algebra.truth import all_of
from registry.contract import JsonValue
from registry.parsing import parse_json

FEW_PLACES: Final = 16
"""A length up to this is counted by states; a longer one is left to the machine's own bounds."""
MANY_PLACES: Final = 100
"""Unless that is more than they bear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _At:
    place: int
    memories: tuple[Hashable, ...]


def item_machine(case: ArrayCase, trackers: Sequence[ItemTracker], making: Making) -> ItemMachine | None:
    """The arrays of the case in which all trackers may end.

    None if such a machine, in whatever way it counts, is more than an engine bears.
    Raises `ExpansionSpentError`.
    """
    tried, num_places = list(trackers), FEW_PLACES
    while True:
        machine = _Building(case, tried, making, num_places).machine()
        is_ambiguous = any(tracker.is_ambiguous for tracker in tried)
        if machine is None or is_borne(machine, is_ambiguous=is_ambiguous):
            return machine
        if any(isinstance(one, CountTracker) and one.is_ambiguous for one in tried):
            tried = [replace(one, max_guesses=0) if isinstance(one, CountTracker) else one for one in tried]
        elif num_places < MANY_PLACES and (machine.at_least > 0 or machine.at_most is not None):
            num_places = MANY_PLACES
        else:
            return None


class _Building:
    def __init__(self, case: ArrayCase, trackers: Sequence[ItemTracker], making: Making, num_places: int) -> None:
        self._case = case
        self._trackers = trackers
        self._making = making
        self._items: dict[tuple[Goal, str | None], NodeId | None] = {}
        self._values: dict[str, JsonValue] = {}
        at_least, at_most = case.at_least, case.at_most
        self._last = case.num_special
        """The places from this one on are one."""
        if at_most is not None and at_most <= max(self._last, num_places):
            self._last = at_most
        elif at_least <= num_places:
            self._last = max(self._last, at_least)
        self._at_least = at_least if at_least > self._last else 0
        self._at_most = at_most if at_most is not None and at_most > self._last else None

    def machine(self) -> ItemMachine | None:
        """None if it has too many states."""
        beginning = _At(place=0, memories=tuple(tracker.beginning for tracker in self._trackers))
        numbers = {beginning: 0}
        states: list[ItemState] = []
        pending = deque([beginning])
        while pending:
            at = pending.popleft()
            if len(numbers) > MAX_STATES:
                return None
            self._making.spending.states(1)
            moves: dict[ItemMove, None] = {}
            for item, target in self._moves(at):
                if target not in numbers:
                    numbers[target] = len(numbers)
                    pending.append(target)
                moves[ItemMove(item=item, target=numbers[target])] = None
            states.append(ItemState(is_final=self._may_end(at), moves=tuple(moves)))
        return ItemMachine(states=tuple(states), at_least=self._at_least, at_most=self._at_most)

    def _may_end(self, at: _At) -> bool:
        # A longer minimum than places are told apart is the machine's own bound.
        is_long_enough = at.place >= min(self._case.at_least, self._last)
        return is_long_enough and all(
            tracker.may_end(memory, at.place) for tracker, memory in zip(self._trackers, at.memories, strict=True)
        )

    def _moves(self, at: _At) -> Iterator[tuple[NodeId, _At]]:
        if self._case.at_most is not None and at.place >= self._case.at_most:
            return
        demand = self._case.demand(at.place)
        choices = (
            tracker.choices(memory, at.place) for tracker, memory in zip(self._trackers, at.memories, strict=True)
        )
        by_target: dict[tuple[Hashable, ...], dict[tuple[Goal, str | None], None]] = {}
        for combined in product(*map(tuple, choices)):
            self._making.spending.step(1 + len(combined) // 4)
            constants = {choice.constant for choice in combined if choice.constant is not None}
            if len(constants) > 1:
                continue  # one item cannot be two values
            goal = demand.union(*(choice.wanted for choice in combined))
            memories = tuple(choice.memory for choice in combined)
            by_target.setdefault(memories, {})[goal, next(iter(constants), None)] = None
        place = min(at.place + 1, self._last)
        for memories, kinds in by_target.items():
            for kind in _widest(kinds):
                item = self._item(*kind)
                if item is not None:
                    yield item, _At(place=place, memories=memories)

    def _item(self, goal: Goal, constant: str | None) -> NodeId | None:
        """The node of an item, or None if there is no such item."""
        key = (goal, constant)
        if key not in self._items:
            self._items[key] = self._made(goal, constant)
        return self._items[key]

    def _made(self, goal: Goal, constant: str | None) -> NodeId | None:
        making = self._making
        if constant is None:
            return None if making.is_empty(goal) else making.node(goal)
        value = self._value(constant)
        own = Wants(term=making.solver.terms.constant([value]), positive=True)
        making.spending.step(1 + len(goal))
        held = all_of(making.solver.truth.wanted(want, value) for want in goal)
        if held is False:
            return None
        # Where only the judge could tell, the node's own maker has to say so.
        return making.node({own} if held else {own, *goal})

    def _value(self, text: str) -> JsonValue:
        if text not in self._values:
            self._values[text] = parse_json(text, max_bytes=1 << 26, max_nesting=512)
        return self._values[text]


def _widest(kinds: dict[tuple[Goal, str | None], None]) -> Iterator[tuple[Goal, str | None]]:
    """Those kinds of items that no other one of them contains."""
    for kind in kinds:
        goal, constant = kind
        if not any(other[0] <= goal and (other[1] is None or other[1] == constant) for other in kinds if other != kind):
            yield kind
