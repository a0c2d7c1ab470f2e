"""What is known of one member in all objects of a conjunction, and what that decides of the choices beside it.

Alternatives are mostly told apart by a constant member: once it is known, what is said of the other alternatives is
decided, and need not be carried along by a machine, nor be split.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler_pool.form.making import Making
from compiler_pool.form.residuals import ALWAYS, NEVER, Residual, Residuals
from registry.algebra.formulas import FALSE, TRUE, EachMember, Formula, Has, Named, SomeMember, Wants, refused
from registry.algebra.terms import Term
from registry.algebra.truth import Ternary
from registry.contract import JsonValue


@dataclass(slots=True, kw_only=True)
class MemberFacts:
    """What is known of one member."""

    is_there: bool = False
    is_missing: bool = False
    wanted: set[Wants] = field(default_factory=set)


def with_domains(residual: Residual, residuals: Residuals, making: Making) -> Residual:
    """The residual, in which choices are decided as far as conjuncts on the same members decide them."""
    while residual not in (ALWAYS, NEVER):
        conjuncts = residuals.conjuncts(residual)
        choices = [one for one in conjuncts if residuals.literals(one) != {one}]
        facts = [one for one in conjuncts if residuals.literals(one) == {one}]
        settled = _settled(facts, choices, residuals, making)
        replaced = residuals.all_of((*facts, *map(residuals.replacing(settled), choices)))
        if replaced == residual:
            break
        residual = replaced
    return residual


def _settled(
    facts: Iterable[Residual], choices: Iterable[Residual], residuals: Residuals, making: Making
) -> dict[Residual, Residual]:
    """What the literals of the choices come to."""
    known: dict[str, MemberFacts] = {}
    for fact in facts:
        _learn(residuals.shape(fact), known)
    lists: dict[str, list[JsonValue] | None] = {}
    settled: dict[Residual, Residual] = {}
    for literal in frozenset[Residual]().union(*map(residuals.literals, choices)):
        match residuals.shape(literal):
            case Has(name=name, positive=positive) if name in known:
                if known[name].is_there or known[name].is_missing:
                    settled[literal] = ALWAYS if known[name].is_there == positive else NEVER
            case EachMember(scope=Named(name=name)) | SomeMember(scope=Named(name=name)) as atom if name in known:
                if name not in lists:
                    lists[name] = values_of(known[name].wanted, making)
                decided = _decided(atom, known[name], _holds(atom.wanted, known[name], lists[name], making))
                if decided is not None:
                    settled[literal] = residuals.of(decided)
            case _:
                pass
    return settled


def facts_of(residual: Residual, residuals: Residuals) -> dict[str, MemberFacts]:
    """What the conjuncts of a residual say of each member outright."""
    known: dict[str, MemberFacts] = {}
    for conjunct in residuals.conjuncts(residual):
        if residuals.literals(conjunct) == {conjunct}:
            _learn(residuals.shape(conjunct), known)
    return known


def _decided(atom: EachMember | SomeMember, known: MemberFacts, holds: Ternary) -> Formula | None:
    """What is left of an atom on a member, if it is known whether its value is as the atom wants it."""
    is_each = isinstance(atom, EachMember)
    if known.is_missing:
        return TRUE if is_each else FALSE
    if holds is None:
        return None
    if known.is_there:
        return TRUE if holds else FALSE
    if holds == is_each:
        return TRUE if is_each else FALSE
    assert isinstance(atom.scope, Named)
    return Has(name=atom.scope.name, positive=not is_each)


def _learn(fact: object, known: dict[str, MemberFacts]) -> None:
    match fact:
        case Has(name=name, positive=positive):
            one = known.setdefault(name, MemberFacts())
            one.is_there |= positive
            one.is_missing |= not positive
        case EachMember(scope=Named(name=name), wanted=wanted):
            known.setdefault(name, MemberFacts()).wanted.add(wanted)
        case SomeMember(scope=Named(name=name), wanted=wanted):
            one = known.setdefault(name, MemberFacts())
            one.is_there = True
            one.wanted.add(wanted)
        case _:
            pass


def _holds(wanted: Wants, known: MemberFacts, values: list[JsonValue] | None, making: Making) -> Ternary:
    """Whether the member's value is as it is wanted wherever the member is there; `None`: that is open."""
    if wanted in known.wanted:
        return True
    if refused(wanted) in known.wanted:
        return False
    if values is None:
        return None
    making.spending.step(1 + len(values) // 4)
    truths = {making.solver.truth.wanted(wanted, value) for value in values}
    return truths.pop() if len(truths) == 1 else None


def values_of(wanted: Iterable[Wants], making: Making) -> list[JsonValue] | None:
    """All values that are as all of it wants them, where a list says which can be; `None` otherwise."""
    """The values that are as all of it wants them, where a list says which there are."""
    wishes = list(wanted)
    values = listed_values(wishes, making)
    if values is None:
        return None
    truth = making.solver.truth
    making.spending.step(1 + len(values) * len(wishes) // 4)
    return [value for value in values if all(truth.wanted(wish, value) is not False for wish in wishes)]


def listed_values(goal: Iterable[Wants], making: Making) -> list[JsonValue] | None:
    """The values that an `enum` or `const` of the goal allows, the shortest list; `None` if there is no such list."""
    terms = making.solver.terms
    lists = [_listed(terms[wanted.term]) for wanted in goal if wanted.positive]
    return min((values for values in lists if values is not None), key=len, default=None)


def _listed(term: Term) -> list[JsonValue] | None:
    if "const" in term.assertions:
        return [term.assertions["const"]]
    values = term.assertions.get("enum")
    return values if isinstance(values, list) else None
