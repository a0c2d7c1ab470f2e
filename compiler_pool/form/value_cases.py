"""Several choices that hang on the listed values of one member, taken case by case: by values, not by alternatives.

Ten `if`s on one constant each have a thousand combinations of alternatives, and eleven cases of values.
"""

from collections.abc import Iterable, Sequence

from compiler_pool.form.making import Making
from compiler_pool.form.member_domains import facts_of, listed_values, values_of
from compiler_pool.form.residuals import ALWAYS, NEVER, Residual, Residuals
from registry.algebra.formulas import EachMember, Has, Named, SomeMember, Wants
from registry.contract import JsonValue
from registry.text import value_text


def value_cases(
    residual: Residual, choices: Iterable[Residual], names: Sequence[str], residuals: Residuals, making: Making
) -> list[Residual] | None:
    """The cases of the member on whose listed values most of the choices hang; `None` if no two hang on one."""
    hanging: dict[str, int] = {}
    for choice in choices:
        atoms = (_on_list(residuals.shape(literal), making) for literal in residuals.literals(choice))
        for name in {name for name in atoms if name is not None}:
            hanging[name] = hanging.get(name, 0) + 1
    most = max((name for name in names if name in hanging), key=hanging.__getitem__, default=None)
    if most is None or hanging[most] < 2:
        return None
    return _Cases(most, residual, residuals, making).all_of_them()


def _on_list(atom: object, making: Making) -> str | None:
    """The member of whose value an atom says whether it is in a list."""
    match atom:
        case EachMember(scope=Named(name=name), wanted=wanted) | SomeMember(scope=Named(name=name), wanted=wanted):
            allowed = Wants(term=wanted.term, positive=True)
            return name if listed_values([allowed], making) is not None else None
        case _:
            return None


class _Cases:
    def __init__(self, name: str, residual: Residual, residuals: Residuals, making: Making) -> None:
        self._name = name
        self._residual = residual
        self._residuals = residuals
        self._making = making
        self._facts = facts_of(residual, residuals).get(name)
        self._present: dict[Residual, Residual] = {}
        self._atoms: dict[Residual, Wants] = {}
        for literal in residuals.literals(residual):
            match residuals.shape(literal):
                case Has(name=other, positive=positive) if other == name:
                    self._present[literal] = ALWAYS if positive else NEVER
                case EachMember(scope=Named(name=other), wanted=wanted) if other == name:
                    self._atoms[literal] = wanted
                case SomeMember(scope=Named(name=other), wanted=wanted) if other == name:
                    self._atoms[literal] = wanted
                case _:
                    pass

    def all_of_them(self) -> list[Residual] | None:
        """A residual for each group of values that leave the same to do, for other values, and for none."""
        wanted = () if self._facts is None else self._facts.wanted
        domain = values_of(wanted, self._making)
        lists = {literal: self._listed(wish) for literal, wish in self._atoms.items()}
        values = domain
        if values is None:
            named = (value for listed in lists.values() if listed is not None for value in listed)
            values = list({value_text(value): value for value in named}.values())
        groups = self._groups(values)
        if groups is None:
            return None
        constant = self._making.solver.terms.constant
        cases = [self._with(left, Wants(term=constant(held), positive=True)) for left, held in groups.items()]
        if domain is None:
            # No value but those that are listed is in a list.
            others = {
                literal: NEVER if self._atoms[literal].positive else ALWAYS
                for literal, listed in lists.items()
                if listed is not None
            }
            left = self._residuals.replaced(self._residual, self._present | others)
            cases.append(self._with(left, Wants(term=constant(values), positive=False)))
        missing = self._residuals.literal(Has(name=self._name, positive=False))
        if self._facts is None or not self._facts.is_there:
            cases.append(self._residuals.all_of((missing, self._residual)))
        return cases

    def _groups(self, values: list[JsonValue]) -> dict[Residual, list[JsonValue]] | None:
        """Values by what they leave to do; `None` if only the validator could tell."""
        groups: dict[Residual, list[JsonValue]] = {}
        truth = self._making.solver.truth
        for value in values:
            self._making.spending.step(1 + len(self._atoms) // 4)
            truths = {literal: truth.wanted(wanted, value) for literal, wanted in self._atoms.items()}
            if None in truths.values():
                return None
            settled = {literal: ALWAYS if holds else NEVER for literal, holds in truths.items()}
            left = self._residuals.replaced(self._residual, self._present | settled)
            if left != NEVER:
                groups.setdefault(left, []).append(value)
        return groups

    def _listed(self, wanted: Wants) -> list[JsonValue] | None:
        return listed_values([Wants(term=wanted.term, positive=True)], self._making)

    def _with(self, left: Residual, wanted: Wants) -> Residual:
        return self._residuals.all_of(
            (self._residuals.literal(SomeMember(scope=Named(name=self._name), wanted=wanted)), left)
        )
