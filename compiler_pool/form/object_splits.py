"""When one machine for all objects of a formula would be a thicket: an alternative each gets its own.

Choices on presence, and choices on one member, are cheap within a machine: at most a state for each way to make them.
A choice that speaks of the values of several members makes it remember, after each of them, which alternatives are
still open; alternatives by themselves are small. Several such choices are tried together within an allowance first,
since apart they multiply.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from compiler_pool.form.making import Making
from compiler_pool.form.member_domains import with_domains
from compiler_pool.form.member_machines import member_machine
from compiler_pool.form.member_rules import is_plain
from compiler_pool.form.member_scopes import declared_names, name_of
from compiler_pool.form.name_orders import gathered
from compiler_pool.form.nodes import MemberMachine
from compiler_pool.form.residuals import NEVER, Residual, Residuals
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from compiler_pool.form.value_cases import value_cases
from registry.algebra.formulas import All, Any, EachMember, Formula, Scope, SomeMember

MAX_TRIED_WAYS: Final = 16
"""Ways of one member in one state of a machine that is tried before its choices are split."""
MAX_TRIED_STATES_PER_NAME: Final = 8
TRIED_SHARE: Final = 4
"""One in so many steps of the contract's budget may go into machines that are tried."""
MAX_TRIED_BRANCHES: Final = 4
"""A single choice with more alternatives is split without a try: they seldom have anything in common."""


def object_machines(flat: Formula, making: Making) -> list[MemberMachine]:
    """Machines that together read the objects of a formula. Raises `ExpansionSpentError`."""
    atoms = flat.parts if isinstance(flat, All) else (flat,)
    if not any(isinstance(atom, Any) for atom in atoms):
        machine = member_machine(flat, declared_names(flat), making, making.spending)
        return [] if machine is None else [machine]
    return _Splitting(flat, making).machines()


class _Splitting:
    def __init__(self, flat: Formula, making: Making) -> None:
        self._making = making
        self._flat = flat
        self._names = declared_names(flat)
        self._residuals = Residuals(making.spending)
        self._num_steps_left = making.spending.budget.max_steps // TRIED_SHARE
        """Steps that tries may still take."""
        self._found: list[MemberMachine] = []

    def machines(self) -> list[MemberMachine]:
        """All that are needed, in the order of the alternatives."""
        limit = self._making.spending.budget.max_disjuncts
        pending = [self._residuals.of(self._flat)]
        seen: set[Residual] = set()
        while pending:
            residual = with_domains(pending.pop(), self._residuals, self._making)
            if residual == NEVER or residual in seen:
                continue
            seen.add(residual)
            choices = [one for one in self._residuals.conjuncts(residual) if self._is_entangled(one)]
            if not choices:
                self._add_whole(residual)
            elif not self._is_worth_a_try(choices) or not self._try(residual):
                pending.extend(reversed(self._parts(residual, choices)))
                if len(pending) + len(self._found) > limit:
                    raise ExpansionSpentError("max_disjuncts", limit)
        return self._found

    def _parts(self, residual: Residual, choices: list[Residual]) -> list[Residual]:
        """The residual in parts: by the values of a member, or by the alternatives of the smallest choice."""
        cases = value_cases(residual, choices, self._names, self._residuals, self._making)
        if cases is not None:
            return cases
        chosen = min(choices, key=lambda one: len(self._residuals.disjuncts(one)))
        others = [one for one in self._residuals.conjuncts(residual) if one != chosen]
        return [self._residuals.all_of((branch, *others)) for branch in self._residuals.disjuncts(chosen)]

    def _add(self, machine: MemberMachine | None) -> None:
        if machine is not None:
            self._found.append(machine)

    def _add_whole(self, residual: Residual) -> None:
        """One machine, its members in the order of their schemas if that takes few states."""
        near = gathered(self._names, self._connected(residual))
        if near == self._names or not self._try(residual):
            self._add(self._machine(residual, near, self._making.spending))

    def _connected(self, residual: Residual) -> Iterator[list[str]]:
        """For each choice the names that it speaks of."""
        for conjunct in self._residuals.conjuncts(residual):
            if self._residuals.literals(conjunct) != {conjunct}:
                spoken_of = set(map(name_of, map(self._residuals.shape, self._residuals.literals(conjunct))))
                yield [name for name in self._names if name in spoken_of]

    def _is_worth_a_try(self, choices: list[Residual]) -> bool:
        return len(choices) > 1 or len(self._residuals.disjuncts(choices[0])) <= MAX_TRIED_BRANCHES

    def _try(self, residual: Residual) -> bool:
        """Whether one machine does, members in the order of their schemas, within what a try may cost."""
        if self._num_steps_left <= 0:
            return False
        budget = replace(
            self._making.spending.budget,
            max_disjuncts=MAX_TRIED_WAYS,
            max_states=MAX_TRIED_STATES_PER_NAME * (len(self._names) + 1),
            max_steps=self._num_steps_left,
        )
        trying = ExpansionSpending(budget)
        try:
            machine = self._machine(residual, self._names, trying)
        except ExpansionSpentError:
            return False
        finally:
            self._num_steps_left -= trying.num_steps
            self._making.spending.step(trying.num_steps)
        if machine is not None:
            self._making.spending.states(len(machine.states))
        self._add(machine)
        return True

    def _machine(self, residual: Residual, names: Sequence[str], spending: ExpansionSpending) -> MemberMachine | None:
        formula = self._residuals.formula(residual)
        mentioned = set(declared_names(formula))
        return member_machine(formula, [name for name in names if name in mentioned], self._making, spending)

    def _is_entangled(self, residual: Residual) -> bool:
        """Whether it is a choice that speaks of the values of several members.

        Wishes that no value satisfies only say which members there may be.
        """
        if self._residuals.literals(residual) == {residual}:
            return False
        spoken_of: set[Scope] = set()
        for literal in self._residuals.literals(residual):
            match self._residuals.shape(literal):
                case EachMember(scope=scope, wanted=wanted) | SomeMember(scope=scope, wanted=wanted):
                    if not is_plain(wanted, self._making.solver.terms):
                        spoken_of.add(scope)
                case _:
                    pass
        return len(spoken_of) > 1
