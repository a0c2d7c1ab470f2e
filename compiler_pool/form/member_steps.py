"""What becomes of the atoms of objects when one more member is read, is known to be missing, or is the last."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from compiler_pool.form.claims import Claims
from compiler_pool.form.member_rules import MemberRules, class_is_as, class_is_in
from compiler_pool.form.member_scopes import speaks_of
from compiler_pool.form.name_classes import NameClass
from compiler_pool.form.residuals import ALWAYS, NEVER, Claim, Residual, Residuals
from registry.algebra.formulas import (
    EachMember,
    EachName,
    Has,
    MembersAtLeast,
    MembersAtMost,
    Named,
    Scope,
    SomeMember,
    SomeName,
    Wants,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How many members may still come after a point, and how many must. `None`: any number."""

    must: int
    may: int | None


class MemberSteps:
    """Steps of residuals along the declared names, and then among undeclared ones."""

    def __init__(
        self,
        names: Sequence[str],
        classes: Sequence[NameClass],
        *,
        reaches: Sequence[Reach],
        residuals: Residuals,
        claims: Claims,
        rules: MemberRules,
    ) -> None:
        """`reaches` are those before each declared name, and at last the one after all of them."""
        self._names = names
        self._classes = classes
        self._reaches = reaches
        self._residuals = residuals
        self._claims = claims
        self._rules = rules
        self._own: dict[str, set[Residual]] = {name: set() for name in names}
        """The literals that speak of one declared name alone."""
        self._shared: dict[Residual, int | None] = {}
        """The others, and the last place among the names that they speak of; `None` if undeclared names follow."""
        self._absent: dict[int, dict[Residual, Residual]] = {}
        self._present: dict[int, dict[Residual, Residual]] = {}
        self._seen: set[Residual] = set()

    def begun(self, residual: Residual) -> Residual:
        """The residual before any member, without what no member can change."""
        settled: dict[Residual, Residual] = {}
        for literal in self._touched(residual, None):
            bounded = self._bounded(literal, self._reaches[0])
            if self._shared[literal] == -1:
                bounded = self._ended(literal)
            if bounded != literal:
                settled[literal] = bounded
        return self._residuals.replaced(residual, settled)

    def absent(self, residual: Residual, place: int) -> Residual:
        """The residual when the declared member at the place is not there."""
        known = self._absent.setdefault(place, {})
        touched = self._touched(residual, place)
        for literal in touched:
            if literal not in known:
                known[literal] = self._without(literal, place)
        return self._residuals.replaced(residual, {literal: known[literal] for literal in touched})

    def present(self, residual: Residual, place: int) -> Residual:
        """The residual, with claims on the member's value, when the declared member at the place is there."""
        known = self._present.setdefault(place, {})
        touched = self._touched(residual, place)
        for literal in touched:
            if literal not in known:
                known[literal] = self._with(literal, place)
        return self._residuals.replaced(residual, {literal: known[literal] for literal in touched})

    def further(self, residual: Residual, names: NameClass) -> Residual:
        """The residual, with claims, after one more undeclared member of a kind."""
        settled: dict[Residual, Residual] = {}
        for literal in self._touched(residual, None):
            settled[literal] = self._bounded(
                self._read(
                    literal,
                    is_in=lambda scope: class_is_in(names, scope),
                    is_as=lambda wanted: class_is_as(names, wanted),
                    ends=False,
                ),
                self._reaches[-1],
            )
        return self._residuals.replaced(residual, settled)

    def ended(self, residual: Residual) -> bool:
        """Whether the residual holds if no more members come. All declared ones have had their turn."""
        literals = self._residuals.literals(residual)
        return self._residuals.replaced(residual, {one: self._ended(one) for one in literals}) == ALWAYS

    def _touched(self, residual: Residual, place: int | None) -> AbstractSet[Residual]:
        literals = self._residuals.literals(residual)
        for literal in literals - self._seen:
            self._meet(literal)
        shared = literals & self._shared.keys()
        return shared if place is None else shared | (literals & self._own[self._names[place]])

    def _meet(self, literal: Residual) -> None:
        """File a literal under the names it speaks of."""
        self._seen.add(literal)
        match self._residuals.shape(literal):
            case Has(name=name) | EachMember(scope=Named(name=name)) | SomeMember(scope=Named(name=name)):
                self._own[name].add(literal)
            case EachMember(scope=scope) | SomeMember(scope=scope):
                is_endless = any(class_is_in(names, scope) for names in self._classes)
                places = (at for at in range(len(self._names) - 1, -1, -1) if self._speaks_of(scope, at))
                self._shared[literal] = None if is_endless else next(places, -1)
            case _:
                self._shared[literal] = None if self._classes else len(self._names) - 1

    def _speaks_of(self, scope: Scope, place: int) -> bool:
        return speaks_of(scope, self._names[place], self._rules.making.solver.truth)

    def _without(self, literal: Residual, place: int) -> Residual:
        match self._residuals.shape(literal):
            case Has(positive=positive):
                return NEVER if positive else ALWAYS
            case EachMember(scope=Named()):
                return ALWAYS
            case SomeMember(scope=Named()):
                return NEVER
            case _:
                if self._shared[literal] == place:
                    return self._ended(literal)
                return self._bounded(literal, self._reaches[place + 1])

    def _with(self, literal: Residual, place: int) -> Residual:
        name = self._names[place]
        shape = self._residuals.shape(literal)
        if isinstance(shape, Has):
            return ALWAYS if shape.positive else NEVER
        read = self._read(
            literal,
            is_in=lambda scope: self._speaks_of(scope, place),
            is_as=lambda wanted: self._rules.is_name_as(wanted, name),
            ends=literal not in self._shared or self._shared[literal] == place,
        )
        return self._bounded(read, self._reaches[place + 1])

    def _read(
        self,
        literal: Residual,
        *,
        is_in: Callable[[Scope], bool],
        is_as: Callable[[Wants], bool],
        ends: bool,
    ) -> Residual:
        """The literal after a member, whose value it may make claims on; `ends` if it speaks of no later one."""
        residuals = self._residuals
        after = self._ended(literal) if ends else literal
        match residuals.shape(literal):
            case EachMember(scope=scope, wanted=wanted):
                return residuals.all_of((self._claims.claim(wanted), after)) if is_in(scope) else after
            case SomeMember(scope=scope, wanted=wanted):
                return residuals.any_of((self._claims.claim(wanted), after)) if is_in(scope) else after
            case EachName(wanted=wanted):
                return after if is_as(wanted) else NEVER
            case SomeName(wanted=wanted):
                return ALWAYS if is_as(wanted) else after
            case MembersAtLeast(count=count):
                return ALWAYS if count <= 1 else residuals.literal(MembersAtLeast(count=count - 1))
            case MembersAtMost(count=count):
                return NEVER if count < 1 else residuals.literal(MembersAtMost(count=count - 1))
            case _:
                return literal

    def _bounded(self, literal: Residual, reach: Reach) -> Residual:
        """The literal, or what it comes to by the numbers of members that can still come."""
        if literal in (ALWAYS, NEVER) or self._residuals.literals(literal) != {literal}:
            return literal
        match self._residuals.shape(literal):
            case MembersAtLeast(count=count):
                if count <= reach.must:
                    return ALWAYS
                return NEVER if reach.may is not None and count > reach.may else literal
            case MembersAtMost(count=count):
                if count < reach.must:
                    return NEVER
                return ALWAYS if reach.may is not None and count >= reach.may else literal
            case _:
                return literal

    def _ended(self, literal: Residual) -> Residual:
        match self._residuals.shape(literal):
            case EachMember() | EachName():
                return ALWAYS
            case SomeMember() | SomeName():
                return NEVER
            case MembersAtLeast(count=count):
                return ALWAYS if count < 1 else NEVER
            case MembersAtMost(count=count):
                return ALWAYS if count >= 0 else NEVER
            case Claim() as claim:
                raise AssertionError(claim)
            case _:
                return literal
