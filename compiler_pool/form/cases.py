"""The disjuncts of a flat formula: what a machine for one case at a time has to be told."""

from collections.abc import Iterable

from compiler_pool.form.flattening import every
from compiler_pool.form.spending import ExpansionSpending, ExpansionSpentError
from registry.algebra.formulas import FALSE, All, Any, Formula, OneOf, negated

Case = tuple[Formula, ...]
"""Atoms that hold together."""


def cases_of(flat: Formula, spending: ExpansionSpending) -> list[Case]:
    """All disjuncts; those that contradict themselves and those that another one contains are left out.

    Raises `ExpansionSpentError` when there are more than `max_disjuncts` on the way.
    """
    limit = spending.budget.max_disjuncts
    found: list[frozenset[Formula]] = []
    order: dict[Formula, int] = {}
    for case in _distributed(flat, spending, limit):
        if any(known <= case for known in found):
            continue
        found = [known for known in found if not case <= known]
        found.append(case)
        for atom in case:
            order.setdefault(atom, len(order))
    return [tuple(sorted(case, key=order.__getitem__)) for case in found]


def _distributed(flat: Formula, spending: ExpansionSpending, limit: int) -> list[frozenset[Formula]]:
    match flat:
        case Any(parts=parts):
            cases = [case for part in parts for case in _distributed(part, spending, limit)]
            _hold(len(cases), limit)
            return cases
        case All(parts=parts):
            # All atoms at once: one after the other, a thousand of them would be looked at half a million times.
            atoms = frozenset(part for part in parts if not isinstance(part, All | Any))
            cases = [] if is_contradiction(atoms) else [atoms]
            choices = [part for part in parts if isinstance(part, All | Any)]
            # The fewest branches first: what they contradict is gone before the others multiply it.
            for part in sorted(choices, key=lambda part: len(part.parts) if isinstance(part, Any) else 0):
                branches = _distributed(part, spending, limit)
                spending.step(len(cases) * len(branches))
                products = (case | branch for case in cases for branch in branches)
                cases = list(dict.fromkeys(case for case in products if not is_contradiction(case)))
                _hold(len(cases), limit)
            return cases
        case _:
            return [frozenset({flat})]


def is_contradiction(atoms: Iterable[Formula]) -> bool:
    """Whether two atoms are plainly at odds."""
    held = set(atoms)
    if any(negated(atom) in held for atom in held):
        return True
    listed = [set(atom.texts) for atom in held if isinstance(atom, OneOf) and atom.positive]
    return len(listed) > 1 and not set.intersection(*listed)


def listed_values(flat: Formula, spending: ExpansionSpending) -> tuple[tuple[str, ...], Formula]:
    """The texts of the only values that some cases can have, and the formula of the other cases."""
    return _listed_values(flat, spending, {})


def _listed_values(
    flat: Formula, spending: ExpansionSpending, known: dict[int, tuple[bool, Formula]]
) -> tuple[tuple[str, ...], Formula]:
    if not _has_listed(flat, known):
        return (), flat
    match flat:
        case OneOf():
            return flat.texts, FALSE
        case All(parts=parts):
            for part in parts:
                if isinstance(part, OneOf) and part.positive:
                    return part.texts, FALSE
            at, choice = next((at, part) for at, part in enumerate(parts) if _has_listed(part, known))
            others = (*parts[:at], *parts[at + 1 :])
            branches = choice.parts if isinstance(choice, Any) else (choice,)
            return _united([every((branch, *others)) for branch in branches], spending, known)
        case Any(parts=parts):
            return _united(parts, spending, known)
        case _:
            return (), flat


def _united(
    branches: Iterable[Formula], spending: ExpansionSpending, known: dict[int, tuple[bool, Formula]]
) -> tuple[tuple[str, ...], Formula]:
    texts: dict[str, None] = {}
    rests: list[Formula] = []
    for branch in branches:
        spending.step()
        own, rest = _listed_values(branch, spending, known)
        texts.update(dict.fromkeys(own))
        if rest != FALSE:
            rests.append(rest)
    return tuple(texts), rests[0] if len(rests) == 1 else Any(parts=tuple(rests))


def _has_listed(flat: Formula, known: dict[int, tuple[bool, Formula]]) -> bool:
    """Each formula is looked at once; `known` keeps it alive, so that no other can have its identity."""
    if not isinstance(flat, All | Any):
        return isinstance(flat, OneOf) and flat.positive
    if id(flat) not in known:
        known[id(flat)] = any(_has_listed(part, known) for part in flat.parts), flat
    return known[id(flat)][0]


def _hold(count: int, limit: int) -> None:
    if count > limit:
        raise ExpansionSpentError("max_disjuncts", limit)
