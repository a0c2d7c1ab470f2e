"""A machine of members from a formula: states are places in the order of names, and what is left to hold there.

Declared names come one after the other, each there or not; then undeclared ones, as many as there may be. What is
decided is gone from the residual, so states are told apart only by what still matters. No state is kept from which
the object could not end, as far as that can be seen without the values of members.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from compiler_pool.form.claims import Claims, Way
from compiler_pool.form.flattening import every
from compiler_pool.form.languages import Among, Language
from compiler_pool.form.making import Goal, Making
from compiler_pool.form.member_chains import member_chain
from compiler_pool.form.member_rules import MemberRule, MemberRules
from compiler_pool.form.member_scopes import name_patterns, name_wishes
from compiler_pool.form.member_steps import MemberSteps, Reach
from compiler_pool.form.name_classes import NameClass, name_classes
from compiler_pool.form.name_unions import NameUnions
from compiler_pool.form.nodes import MemberMachine, MemberMove, MemberState
from compiler_pool.form.residuals import NEVER, Residual, Residuals
from compiler_pool.form.spending import ExpansionSpending
from registry.algebra.formulas import Formula

MAX_LISTED_NAMES: Final = 128
"""Names of one kind that are taken one by one, each at most once. Each costs an engine two items of a row, so a kind
that has more is as good as endless."""


@dataclass(slots=True, kw_only=True)
class _State:
    is_final: bool = False
    moves: list[tuple[str | Language, Goal, int]] = field(default_factory=list)
    skips: list[int] = field(default_factory=list)


def member_machine(
    flat: Formula, names: Iterable[str], making: Making, spending: ExpansionSpending
) -> MemberMachine | None:
    """The machine of the objects that satisfy a flat formula; `None` if it is seen that there is none.

    States, ways of a member and steps along them are held to `spending`'s budget. Raises `ExpansionSpentError`.
    """
    rules = MemberRules(making=making)
    rules.take(flat)
    declared = list(names)
    listed, classes, outside = _undeclared(flat, declared, rules, making)
    unions = NameUnions(classes, outside, declared, making)
    named = [(name, rules.of(name)) for name in (*declared, *listed)]
    others = [(one, rules.of_class(one)) for one in classes]
    if not rules.rest:
        return member_chain(named, others, unions, making, spending)
    return _Building(rules, named, others, making, spending, unions=unions).machine()


def _undeclared(
    flat: Formula, declared: list[str], rules: MemberRules, making: Making
) -> tuple[list[str], list[NameClass], list[NameClass]]:
    """Undeclared names that can be listed, in order; the kinds of all others; and kinds that are neither."""
    outside: list[NameClass] = []

    def is_allowed(one: NameClass) -> bool:
        if rules.of_class(one).is_allowed:
            return True
        outside.append(one)
        return False

    classes = name_classes(
        name_patterns(flat), name_wishes(flat), declared=declared, making=making, is_allowed=is_allowed
    )
    listed: list[str] = []
    endless: list[NameClass] = []
    for one in classes:
        if isinstance(one.language, Among) and len(one.language.texts) <= MAX_LISTED_NAMES:
            listed += one.language.texts
            outside.append(one)
        else:
            endless.append(one)
    return listed, endless, outside


class _Building:
    def __init__(
        self,
        rules: MemberRules,
        named: list[tuple[str, MemberRule]],
        others: list[tuple[NameClass, MemberRule]],
        making: Making,
        spending: ExpansionSpending,
        *,
        unions: NameUnions,
    ) -> None:
        self._making = making
        self._spending = spending
        self._unions = unions
        self._residuals = Residuals(spending)
        self._claims = Claims(self._residuals, making, spending)
        self._names = [name for name, _ in named]
        self._rules = [rule for _, rule in named]
        self._classes = [one for one, _ in others]
        self._class_rules = [rule for _, rule in others]
        self._steps = MemberSteps(
            self._names,
            self._classes,
            reaches=self._reaches(),
            residuals=self._residuals,
            claims=self._claims,
            rules=rules,
        )
        self._start = self._residuals.of(every(rules.rest))
        self._states: list[_State] = []
        self._numbers: dict[tuple[int, Residual], int | None] = {}
        self._pending: deque[tuple[int, int, Residual, list[Way], Residual]] = deque()

    def machine(self) -> MemberMachine | None:
        """The machine, if any object is seen to be possible."""
        if any(rule.is_required and not rule.is_allowed for rule in self._rules):
            return None
        start = self._state(0, self._steps.begun(self._start))
        if start is None:
            return None
        while self._pending:
            self._fill(*self._pending.popleft())
        return self._written(start)

    def _reaches(self) -> list[Reach]:
        must, may = 0, 0
        reaches = [Reach(must=0, may=None if self._classes else 0)]
        for rule in reversed(self._rules):
            must += rule.is_required
            may += rule.is_allowed
            reaches.append(Reach(must=must, may=None if self._classes else may))
        return reaches[::-1]

    def _state(self, place: int, residual: Residual) -> int | None:
        """The number of a state; `None` if it is seen that no object can end from there.

        A place where the member cannot be there is no state of its own: it is the next one.
        """
        passed: list[tuple[int, Residual]] = []
        number: int | None = None
        while residual != NEVER:
            if (place, residual) in self._numbers:
                number = self._numbers[place, residual]
                break
            passed.append((place, residual))
            if place == len(self._names):
                number = self._add(place, residual, [], residual)
                break
            rule = self._rules[place]
            ways = self._ways(self._steps.present(residual, place), rule) if rule.is_allowed else []
            without = NEVER if rule.is_required else self._steps.absent(residual, place)
            if ways:
                number = self._add(place, residual, ways, without)
                break
            place, residual = place + 1, without
        self._numbers.update(dict.fromkeys(passed, number))
        return number

    def _ways(self, residual: Residual, rule: MemberRule) -> list[Way]:
        if residual == NEVER:
            return []
        return self._claims.ways(residual, rule.goal)

    def _add(self, place: int, residual: Residual, ways: list[Way], without: Residual) -> int:
        self._spending.states(1)
        self._states.append(_State())
        self._pending.append((len(self._states) - 1, place, residual, ways, without))
        return len(self._states) - 1

    def _fill(self, number: int, place: int, residual: Residual, ways: list[Way], without: Residual) -> None:
        state = self._states[number]
        if place < len(self._names):
            state.moves += ((self._names[place], *outcome) for outcome in self._outcomes(ways, place + 1))
            target = self._state(place + 1, without)
            if target is not None:
                state.skips.append(target)
            return
        state.is_final = self._steps.ended(residual)
        outcomes = [
            (names, outcome)
            for names, rule in zip(self._classes, self._class_rules, strict=True)
            for outcome in self._outcomes(self._ways(self._steps.further(residual, names), rule), place)
        ]
        state.moves += ((names, *outcome) for names, outcome in self._unions.by_outcome(outcomes))

    def _outcomes(self, ways: list[Way], place: int) -> Iterator[tuple[Goal, int]]:
        """What the value is to be, and the state after it."""
        for way in ways:
            target = self._state(place, way.left)
            if target is not None:
                yield way.goal, target

    def _written(self, start: int) -> MemberMachine | None:
        """The states from which an end is in sight, the start first. Only what they hold gets a node."""
        ending = self._ending()
        if start not in ending:
            return None
        order = {start: 0}
        pending = deque([start])
        while pending:
            state = self._states[pending.popleft()]
            for target in (*(target for _, _, target in state.moves), *state.skips):
                if target in ending and target not in order:
                    order[target] = len(order)
                    pending.append(target)
        return MemberMachine(states=tuple(self._written_state(number, order) for number in order))

    def _written_state(self, number: int, order: dict[int, int]) -> MemberState:
        state = self._states[number]
        moves = (
            MemberMove(names=names, value=self._making.node(goal), target=order[target])
            for names, goal, target in state.moves
            if target in order
        )
        skips = (order[target] for target in state.skips if target in order)
        return MemberState(is_final=state.is_final, moves=tuple(moves), skips=tuple(skips))

    def _ending(self) -> set[int]:
        before: dict[int, list[int]] = {}
        for at, state in enumerate(self._states):
            for target in (*(target for _, _, target in state.moves), *state.skips):
                before.setdefault(target, []).append(at)
        ending = {at for at, state in enumerate(self._states) if state.is_final}
        pending = list(ending)
        while pending:
            fresh = set(before.get(pending.pop(), ())) - ending
            ending |= fresh
            pending.extend(fresh)
        return ending
