"""Members that a contract does not name, where a policy has none of them generated.

The bound is for objects that declare some members and say nothing of the rest. What is said anywhere in place, be it
`additionalProperties: true`, is the author's word and stands.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from compiler_pool.form.making import Making
from compiler_pool.form.member_scopes import atoms_of, declared_names
from compiler_pool.form.places import IN_PLACE
from registry.algebra.formulas import All, EachMember, Formula, Named, OneOf, Others, Unsettled, Wants
from registry.algebra.terms import Term

_SAYING: Final = frozenset(
    {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "minProperties"}
)
"""Keywords that speak of undeclared members, or that may need some: where one of them is, nothing is bounded."""


def without_undeclared(goal: Iterable[Wants], flat: Formula, making: Making) -> Formula | None:
    """The flat formula of a goal's objects with no undeclared member; None where the bound is not for them.

    Whoever satisfies the formula satisfies it still when its undeclared members are taken away, because no atom that
    is left speaks of them: so the bound leaves no goal without a text that had one.
    """
    if any(_SAYING & term.keywords for term in _in_place(goal, making)):
        return None
    atoms = list(atoms_of(flat))
    if any(isinstance(atom, OneOf | Unsettled) or _is_of_others(atom) for atom in atoms):
        return None
    if not any(isinstance(atom, EachMember) and isinstance(atom.scope, Named) for atom in atoms):
        return None
    scope = Others(names=frozenset(declared_names(flat)), patterns=frozenset())
    nothing = making.solver.terms.add(Term(allows_nothing=True, assertions={}, children={}))
    return All(parts=(flat, EachMember(scope=scope, wanted=Wants(term=nothing, positive=True))))


def _in_place(goal: Iterable[Wants], making: Making) -> Iterator[Term]:
    """The goal's terms and whatever applies to the same value."""
    pending = sorted({want.term for want in goal})
    seen = set(pending)
    while pending:
        making.spending.step()
        term = making.solver.terms[pending.pop()]
        yield term
        for applicator in IN_PLACE:
            for target in term.of(applicator).values():
                if target not in seen:
                    seen.add(target)
                    pending.append(target)


def _is_of_others(atom: Formula) -> bool:
    scope = getattr(atom, "scope", None)
    return scope is not None and not isinstance(scope, Named)
